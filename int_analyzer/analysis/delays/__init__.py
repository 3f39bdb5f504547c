"""Where the time of slow messages went."""
