"""tshark through pyshark: one capture in, its dissections out, one at a time. The only import of pyshark.

XML is the output of pyshark in which two IP headers of a packet stay two layers (its JSON and EK forms merge layers of one name).
"""

from __future__ import annotations

import asyncio
import functools
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pyshark

from int_analyzer.crosscheck import quirk
from int_analyzer.crosscheck.dissection import Dissection
from int_analyzer.errors import IntAnalyzerError
from int_analyzer.profile import Profile

_INSTALL = "install it (package tshark on Debian and Ubuntu, wireshark-cli on Fedora, wireshark on macOS)"
_LINUX_VXLAN_PORT = 8472


class Tshark:
    """tshark as it is installed here, with the ports of a profile and, if one is given, a Lua dissector.

    version: as it says itself; complaint: its last words about the last file, if it did not end well. Raises IntAnalyzerError, one line
    that says what to install, if it cannot be run.
    """

    def __init__(self, profile: Profile | None = None, lua: Path | None = None) -> None:
        path = shutil.which("tshark")
        if path is None:
            raise IntAnalyzerError(f"crosscheck needs tshark, which is not found: {_INSTALL}")
        if lua is not None and not lua.is_file():
            raise IntAnalyzerError(f"{lua}: no such file")
        self.complaint = ""
        self.version = _say(path, "--version").partition("\n")[0].partition(" (Git")[0].strip(" .")
        rows = [line.split("\t") for line in _say(path, "-G", "heuristic-decodes").splitlines()]
        guesses = {row[1] for row in rows if row[0] in quirk.HEURISTICS} - quirk.NOT_HEURISTIC
        self._parameters = [part for name in sorted(guesses) for part in ("--disable-protocol", name)]
        if lua is not None:
            self._parameters += ["-X", f"lua_script:{lua}"]
        self._decode_as = {f"udp.port=={_LINUX_VXLAN_PORT}": "vxlan"}
        if profile is not None:
            detect = profile.detect
            for ports, name in (
                (detect.vxlan_ports, "vxlan"),
                (detect.vxlan_gpe_ports, "vxlan_gpe"),
                (detect.geneve_ports, "geneve"),
                (detect.roce_ports, "infiniband"),
            ):
                self._decode_as |= {f"udp.port=={port}": name for port in ports}

    def dissections(self, path: str, limit: int) -> Iterator[Dissection]:
        """Dissections of the first `limit` packets (0: of all) of a file that is not compressed."""
        # A loop of our own: pyshark would take the thread's, and a child watcher that Python 3.14 no longer has, and leave both open.
        with closing(asyncio.new_event_loop()) as loop:
            capture = _Capture(
                path,
                keep_packets=False,
                custom_parameters=[*self._parameters, *(["-c", str(limit)] if limit else [])],
                override_prefs=quirk.PREFERENCES,
                decode_as=self._decode_as,
                eventloop=loop,
            )
            try:
                yield from map(Dissection, capture)
            finally:
                capture.close()
                self.complaint = capture.complaint


class _Capture(pyshark.FileCapture):  # type: ignore[misc]
    """pyshark's capture of a file that ends its tshark in peace.

    pyshark kills a process that may have ended, which takes its exit code from the event loop, and leaves its pipes to the garbage
    collector, which complains on stderr once the loop is closed.
    """

    complaint = ""

    async def _cleanup_subprocess(self, process: Any) -> None:
        if process.returncode is None and not process.stdout.at_eof():
            process.kill()
        await process.stdout.read()
        code = await process.wait()
        await asyncio.gather(*self._stderr_handling_tasks)
        # the transport closes itself, some steps of the loop after all of its pipes
        for _ in range(10):
            await asyncio.sleep(0)
        if code > 0:
            self.complaint = self._last_error_line or f"exit code {code}"


@functools.cache
def _say(path: str, *arguments: str) -> str:
    try:
        return subprocess.run([path, *arguments], capture_output=True, text=True, check=True, errors="replace").stdout
    except (OSError, subprocess.CalledProcessError) as error:
        raise IntAnalyzerError(f"tshark does not run ({error}): {_INSTALL}") from error
