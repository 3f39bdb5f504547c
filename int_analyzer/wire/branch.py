"""Which way a branch goes nearly always: machine code keeps that way straight and its values in registers (llvm.expect).

Without this a compiler takes every `if` for a coin toss, and what stands behind twenty checks that never fail for rare.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from int_analyzer._jit import reader


def _expected(value: bool) -> Callable[[], Any]:
    def build() -> Any:
        from int_analyzer import _load as load

        return load.expected(value)

    return build


@reader(_expected(True))
def likely(condition: bool) -> bool:
    """The condition, which nearly always holds."""
    return condition


@reader(_expected(False))
def unlikely(condition: bool) -> bool:
    """The condition, which nearly never holds."""
    return condition
