"""The modes in which the tests run, and what a mode leaves out because it makes no difference there, with the reason.

* Machine code: nothing.
* Plain Python (NUMBA_DISABLE_JIT): `once`, as what runs is not in this process or is no code of the package; and `simulated`, together
  with what else needs a capture that is simulated at length (simulated_capture.py).
* Checked (NUMBA_BOUNDSCHECK): `once`, and `unchecked`, which asks for no machine code, so that no index is checked.

A mark is not taken on trust. Where there is machine code, a test that is marked as one without it (`unchecked`, the twin or files alone)
and asks for it all the same fails. A run of all tests with checked indices fails if it did not ask for every kernel that the package calls
as machine code: then too much was left out. What the plain mode leaves out too much of is missing in its coverage, which has a gate.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from pathlib import Path

import pytest

from int_analyzer import _jit, installation

TOO_LARGE = "plain Python takes minutes for such a simulation"
LEFT_OUT = ("once",) if _jit.DISABLED else ("once", "unchecked") if _jit.BOUNDSCHECK else ()
"""Markers of the tests that this mode leaves out."""

other_programs = pytest.mark.once("other programs are what it runs")
twin_alone = pytest.mark.once("runs the naive twin and no code of the package")
files_alone = pytest.mark.once("looks at files and runs no kernel")
speed = pytest.mark.once("measures machine code")
simulated = pytest.mark.skipif(_jit.DISABLED, reason=TOO_LARGE)
unchecked = pytest.mark.unchecked("asks for no machine code")


WITHOUT_MACHINE_CODE = {marker.args[0] for marker in (twin_alone.mark, files_alone.mark, unchecked.mark)}
"""Reasons of marks that say so."""

_PACKAGE = Path(_jit.__file__).parent


def called_kernels() -> set[str]:
    """Names of the kernels that the package asks for as machine code, by its source: `compiled(kernel)`, `run(kernel, …)`."""
    kernels, called = set(), set()
    for path in _PACKAGE.rglob("*.py"):
        tree = ast.parse(path.read_text())
        functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
        imported = {alias.asname or alias.name for node in tree.body if isinstance(node, ast.ImportFrom) for alias in node.names}
        kernels |= {function.name for function in functions if {"kernel", "inlined"} & _names(function.decorator_list)}
        # what a decorator compiles is a part of other kernels' machine code, and not asked for where that is in the cache
        parts = {id(node) for function in functions for mark in function.decorator_list for node in ast.walk(mark)}
        nodes = (node for node in ast.walk(tree) if isinstance(node, ast.Call) and id(node) not in parts)
        calls = (node for node in nodes if {"compiled", "run"} & _names([node.func]))
        # a variable may be named as a kernel elsewhere is
        known = imported | {function.name for function in functions}
        called |= {name for call in calls for name in _names(call.args[:1]) if name in known or isinstance(call.args[0], ast.Attribute)}
    return (kernels & called) | set(installation.KERNELS)


def _names(nodes: Iterable[ast.expr]) -> set[str]:
    found = (node.id if isinstance(node, ast.Name) else node.attr for node in nodes if isinstance(node, ast.Name | ast.Attribute))
    return set(found)


class Asked(dict):  # type: ignore[type-arg]
    """The table of compiled kernels, which knows which were asked for: `names`."""

    names: set[str]

    def __init__(self) -> None:
        super().__init__()
        self.names = set()

    def __contains__(self, kernel: object) -> bool:
        self.names.add(getattr(kernel, "__name__", ""))
        return super().__contains__(kernel)


class NoMachineCode(dict):  # type: ignore[type-arg]
    """The table of compiled kernels, while a test runs that asks for none."""

    def __contains__(self, kernel: object) -> bool:
        pytest.fail(f"marked as one without machine code, and asks for the machine code of {getattr(kernel, '__name__', kernel)}")
