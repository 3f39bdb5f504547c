"""Telemetry and transport formats, one file each. A format reads one kind of header into rows; decode.py calls them."""
