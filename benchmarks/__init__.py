"""Ratios of this decoder against C, against reading every byte, and against other tools, all in one run."""
