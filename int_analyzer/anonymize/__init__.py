"""Captures without addresses and payload that analyse as the original does.

Only what the decode reads as a header or as telemetry is kept (plan.py); addresses in it are replaced by a keyed permutation that keeps
common prefixes (prefix.py), and checksums that were right are right again (checksum.py). Everything else is zeroed or cut off.
"""

from int_analyzer.anonymize.copy import Outcome, copy
from int_analyzer.anonymize.key import KEY_BYTES, read_key, seeded_key
from int_analyzer.anonymize.rewrite import Rewriter

__all__ = ["KEY_BYTES", "Outcome", "Rewriter", "copy", "read_key", "seeded_key"]
