"""Our decode held against tshark, packet by packet, through pyshark: two readings that share no line of code.

What tshark does not read, or reads in another way on purpose, is not compared and is counted by name (quirk.py); everything else
must be equal, field by field (field.py). The only import of pyshark is in tshark.py.
"""

from int_analyzer.crosscheck.comparison import Difference, Outcome
from int_analyzer.crosscheck.pairing import Run
from int_analyzer.crosscheck.summary import document, lines

__all__ = ["Difference", "Outcome", "Run", "document", "lines"]
