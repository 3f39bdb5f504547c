"""An even sample of what comes one after another, in bounded room: every 2^k-th, the same for the same input."""

from __future__ import annotations

from typing import Any

import numpy as np

LIMIT = 256


class Sample:
    """At most LIMIT of the numbers given, evenly spread over all that came."""

    def __init__(self) -> None:
        self.numbers: list[int] = []
        self.seen = 0
        self._step = 1

    def add(self, numbers: Any) -> None:
        """Go on with these (an array or list)."""
        ordinals = self.seen + np.arange(len(numbers))
        self.seen += len(numbers)
        self.numbers += np.asarray(numbers)[ordinals % self._step == 0].tolist()
        while len(self.numbers) > LIMIT:
            self.numbers = self.numbers[::2]
            self._step *= 2
