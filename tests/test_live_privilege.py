"""What the process may do once its sockets are open, thread by thread."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from traffic import ROOT

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root to have something to give up")


def said(program: str, **environment: str) -> str:
    """What a program prints that runs in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, env={**os.environ, **environment}, capture_output=True, text=True, timeout=60, check=True
    )
    return done.stdout.strip()


def test_threads_that_began_before_and_keep_their_rights_are_counted() -> None:
    program = """
import threading
from int_analyzer.live.privilege import drop_privileges
let = threading.Event()
for number in range(3):
    threading.Thread(target=let.wait).start()
print(drop_privileges())
let.set()
"""
    assert said(program) == "3"


@pytest.mark.parametrize("verb", ["sidecar", "top"])
def test_the_command_lets_no_library_begin_threads_before(verb: str) -> None:
    program = f"""
import os
import sys
import types
from int_analyzer.cli import main

def run(options):
    import numpy
    from int_analyzer.live.privilege import drop_privileges
    print(len(os.listdir("/proc/self/task")), drop_privileges())

assert "numpy" not in sys.modules
# instead of opening sockets
sys.modules["int_analyzer.sidecar.assembly"] = types.SimpleNamespace(run=run, Options=lambda **options: options)
import int_analyzer.sidecar
int_analyzer.sidecar.assembly = sys.modules["int_analyzer.sidecar.assembly"]
main(["{verb}", "--interface", "lo"])
"""
    assert said(program, OPENBLAS_NUM_THREADS="4") == "1 0"
