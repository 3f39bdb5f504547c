"""The clocks of nodes: lower envelopes of link times → offsets and drifts with their errors → latency of links."""
