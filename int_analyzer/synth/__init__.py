"""Fabrics that do not exist: a packet-level simulation gives captures whose right answer is known."""
