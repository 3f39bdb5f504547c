"""The sidecar: beside a mirror port for months, one loop from packets to findings that start, change and end."""
