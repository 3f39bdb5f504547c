"""The progress bar of a long read: on stderr, and only where somebody looks at it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

LONG = 64 * 1024 * 1024
"""Bytes from which reading takes long enough to be watched."""

Progress = Callable[[int, int | None], None]
"""Called with the bytes done and, where known, all bytes."""


@contextmanager
def progress_bar(wanted: bool = True) -> Iterator[Progress | None]:
    """A progress callback, or None where stderr is not a terminal."""
    if not (wanted and sys.stderr.isatty()):
        yield None
        return
    bar: list[Any] = []

    def advance(done: int, total: int | None) -> None:
        if total is not None and total < LONG:
            return
        if not bar:
            bar.append(_start(total))
        bar[0].update(bar[0].task_ids[0], completed=done)

    try:
        yield advance
    finally:
        if bar:
            bar[0].stop()


@contextmanager
def counting_bar(what: str, wanted: bool = True) -> Iterator[Progress | None]:
    """A callback for a count of known size, shown as a bar; where nothing calls it, something that moves. None without a terminal."""
    if not (wanted and sys.stderr.isatty()):
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = TextColumn(what), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def announce_compilation(captures: list[str]) -> None:
    """Say that kernels will be compiled, where somebody would wait for it and wonder."""
    from int_analyzer._jit import DISABLED, cache_fault, cache_folder
    from int_analyzer.capture import expand
    from int_analyzer.reading import is_large

    if not sys.stderr.isatty() or DISABLED or not is_large(expand(captures)):
        return
    if cache_fault(cache_folder()):
        print("compiling the kernels, which cannot be kept (int-analyzer doctor says why) …", file=sys.stderr)
    elif not any(cache_folder().rglob("*.nbi")):
        print("compiling the kernels, once for this version (int-analyzer warmup does it beforehand) …", file=sys.stderr)


def _start(total: int | None) -> Any:
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

    bar = Progress(
        TextColumn("reading"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    bar.add_task("reading", total=total)
    bar.start()
    return bar
