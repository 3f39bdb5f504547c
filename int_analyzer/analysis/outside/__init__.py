"""Counters from outside the capture, beside its findings: what speaks for them and what against."""
