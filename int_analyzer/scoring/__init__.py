"""Findings against truth: how often the right port is named, and how much is named besides. Truth is never seen by the analysis."""
