"""Packets as they come: sources that never end, and captures replayed at the pace at which they were taken."""
