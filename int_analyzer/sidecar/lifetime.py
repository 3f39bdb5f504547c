"""Totals since the beginning, over restarts: what counters are made of. They only grow."""

from __future__ import annotations

from typing import Any

import numpy as np

from int_analyzer.fold.quality import Quality
from int_analyzer.fold.sequences import Sequences
from int_analyzer.fold.state import State
from int_analyzer.fold.table import Table
from int_analyzer.fold.view import SequenceView

MAXIMUM_PORTS = 4096
"""Ports that are counted one by one; packets of further ones are counted together."""

# Words of a row of `ports`. Rows are found by `Table.match`, which needs no hash.
NODE, PORT, PACKETS, BYTES, HASH = 0, 1, 2, 3, 4
WIDTH, KEY_WORDS = 5, 2


class Lifetime:
    """quality and sequences: of all packets; ports: packets and bytes by node id and egress port (−1 where absent)."""

    def __init__(self) -> None:
        self.quality = Quality()
        self.sequences = Sequences()
        self.ports = Table(WIDTH, KEY_WORDS, MAXIMUM_PORTS)
        self.other_packets = 0
        self.other_bytes = 0

    def add(self, piece: State) -> None:
        """Count what a piece of the traffic holds; pieces come in the order of time, but for late ones."""
        self.quality.merge(piece.quality)
        self.sequences.merge(piece.sequences)
        queues, _ = piece.queues.view()
        keys, queue_port = np.unique(np.stack([queues.node_id, queues.port], axis=1), axis=0, return_inverse=True)
        rows = np.zeros((len(keys), WIDTH), dtype=np.int64)
        rows[:, [NODE, PORT]] = keys
        for word, values in ((PACKETS, queues.packets), (BYTES, queues.bytes)):
            np.add.at(rows[:, word], queue_port.ravel(), values)
        at, new = self.ports.match(rows)
        known, left = (at >= 0) & ~new, at < 0
        self.ports.data[at[known], PACKETS : BYTES + 1] += rows[known, PACKETS : BYTES + 1]
        self.other_packets += int(rows[left, PACKETS].sum())
        self.other_bytes += int(rows[left, BYTES].sum())

    def counts(self) -> dict[str, dict[Any, int]]:
        """What was read: the dictionaries of `View` that count packets."""
        return self.quality.view()

    def streams(self) -> SequenceView:
        """Loss of every report and mirror stream."""
        return self.sequences.view()[0]
