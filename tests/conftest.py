"""What tests share: the switch of those that need one; hypothesis tries the same examples every time in CI, on a developer's machine
always new ones."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from bmv2_bench import Bench

settings.register_profile("ci", derandomize=True)
if os.environ.get("CI"):
    settings.load_profile("ci")


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    """A BMv2 switch on a bench, for a file of tests: while it is there, this process is in a network of its own."""
    from bmv2_bench import Bench

    made = Bench(tmp_path_factory.mktemp("bench"))
    yield made
    made.close()
