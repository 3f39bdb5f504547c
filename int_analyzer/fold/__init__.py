"""Columns → state: what many batches leave in bounded memory, and how two such states merge."""
