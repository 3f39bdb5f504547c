"""One BMv2 switch: its process in a node, its program and tables by P4Runtime, its queues by Thrift."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping, Sequence
from importlib import resources
from pathlib import Path

from int_analyzer.errors import LabError
from int_analyzer.lab import control
from int_analyzer.lab.constant import PASSED_BROKEN, PASSED_CHECKSUM, PASSED_EXTENSION, PASSED_FRAGMENT, PASSED_OPTIONS
from int_analyzer.lab.entry import Entry
from int_analyzer.lab.network import Network, Node, waited_ns
from int_analyzer.lab.queue_rate import QueueRate

_PROGRAM, _P4INFO = "bmv2.json", "bmv2.p4info.txtpb"
_LOG_LINES = 3
_PASSED_BY = "passed_by"
_REASONS = {
    "options": PASSED_OPTIONS,
    "fragment": PASSED_FRAGMENT,
    "extension": PASSED_EXTENSION,
    "checksum": PASSED_CHECKSUM,
    "broken": PASSED_BROKEN,
}


class Bmv2Switch:
    """A simple_switch_grpc process in a node. `ports`: interface by port number; `folder`: for its socket and its log."""

    def __init__(self, network: Network, node: Node, ports: Mapping[int, str], folder: Path) -> None:
        self.name = node.name
        self._node = node
        self._log = folder / f"{node.name}.log"
        # A socket in the file system can be reached from every network namespace.
        self._address = f"unix:{folder / node.name}"
        self._exit = contextlib.ExitStack()
        command = ["simple_switch_grpc", "--no-p4", "--device-id", str(control.DEVICE), "--log-level", "off"]
        for port, interface in ports.items():
            command += ["-i", f"{port}@{interface}"]
        # a switch that waits for the processor is a port that pauses, and the analysis would be right to say so
        self._process = network.start(node, [*command, "--", "--grpc-server-addr", self._address], log=self._log, at_once=True)

    def install(self) -> None:
        """Give it the program that comes with this package, and connect to its queues."""
        programs = resources.files(__package__) / "programs"
        with resources.as_file(programs / _PROGRAM) as program, resources.as_file(programs / _P4INFO) as p4info:
            try:
                control.install_program(self._address, self.name, p4info, program)
            except LabError as error:
                said = self._log.read_text(errors="replace").split("\n")[-_LOG_LINES:]
                raise LabError(f"{error}; simple_switch_grpc said: {' '.join(' '.join(said).split()) or 'nothing'}") from error
        with self._node.entered():
            try:
                self.queues = self._exit.enter_context(contextlib.closing(QueueRate()))
            except OSError as error:
                raise LabError(f"{self.name}: no Thrift server ({error.strerror}): the lab needs a BMv2 built with Thrift") from error

    def apply(self, entries: Iterable[Entry], copies: Sequence[int]) -> control.Change:
        """Make its tables hold exactly these entries, and its monitor get copies in these formats."""
        return control.apply_entries(self._address, self.name, entries, copies)

    def passed_by(self) -> dict[str, int]:
        """How many packets from hosts it has forwarded without looking into them, by the reason."""
        counts = control.read_counter(self._address, self.name, _PASSED_BY)
        return {reason: counts[number] for reason, number in _REASONS.items()}

    def waited_ns(self) -> dict[str, int]:
        """How long each of its threads has waited for a processor so far."""
        return waited_ns(self._process)

    def close(self) -> None:
        """Close what is connected to it; the process ends with its network."""
        self._exit.close()
