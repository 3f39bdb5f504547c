"""The modes in which the tests run, and what a mode leaves out because it makes no difference there, with the reason.

* Machine code: nothing.
* Plain Python (NUMBA_DISABLE_JIT): `once`, as what runs is not in this process or is no code of the package; and `simulated`, together
  with what else needs a capture that is simulated at length (simulated_capture.py).
* Checked (NUMBA_BOUNDSCHECK): `once`, and `unchecked`, which asks for no machine code, so that no index is checked. Where there is machine
  code, a test that is marked so and asks for it all the same fails.
"""

from __future__ import annotations

import pytest

from int_analyzer import _jit

TOO_LARGE = "plain Python takes minutes for such a simulation"
LEFT_OUT = ("once",) if _jit.DISABLED else ("once", "unchecked") if _jit.BOUNDSCHECK else ()
"""Markers of the tests that this mode leaves out."""

other_programs = pytest.mark.once("other programs are what it runs")
twin_alone = pytest.mark.once("runs the naive twin and no code of the package")
files_alone = pytest.mark.once("looks at files and runs no kernel")
speed = pytest.mark.once("measures machine code")
simulated = pytest.mark.skipif(_jit.DISABLED, reason=TOO_LARGE)
unchecked = pytest.mark.unchecked("asks for no machine code")


class NoMachineCode(dict):  # type: ignore[type-arg]
    """The table of compiled kernels, while a test runs that asks for none."""

    def __contains__(self, kernel: object) -> bool:
        pytest.fail(f"marked as unchecked, and asks for the machine code of {getattr(kernel, '__name__', kernel)}")
