"""Network namespaces that belong to this process alone: nodes, the links between them, and the programs inside.

A namespace lives as long as a descriptor or a process in it. None of these has a name in the file system, so all of them vanish with
this process, however it ends: there is nothing to clean up, and nothing that could be left behind. While a Network is open this
process itself is in an empty namespace: what is run by mistake outside a node cannot reach the host's interfaces either.
"""

from __future__ import annotations

import ctypes
import errno
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from types import TracebackType

from int_analyzer.errors import LabError

_CLONE_NEWNET = 0x4000_0000  # unshare(2)
_PR_SET_PDEATHSIG = 1  # prctl(2)
_OWN_NAMESPACE = "/proc/thread-self/ns/net"
_PATIENCE_S = 3.0
"""How long a program may take to end when asked, before it is killed."""

_libc = ctypes.CDLL(None, use_errno=True)


class Node:
    """A namespace with a name."""

    def __init__(self, name: str, descriptor: int, home: int) -> None:
        self.name = name
        self.descriptor = descriptor
        self._home = home

    @contextmanager
    def entered(self) -> Iterator[None]:
        """Sockets made and programs started meanwhile belong to this node."""
        _enter(self.descriptor)
        try:
            yield
        finally:
            _enter(self._home)

    def run(self, command: Sequence[str], lines: Sequence[str] = ()) -> None:
        """Run a program inside to its end, with lines as its input; what it complains of is raised."""
        with self.entered():
            done = subprocess.run(command, input="".join(f"{line}\n" for line in lines), capture_output=True, text=True, check=False)
        if done.returncode != 0:
            reason = " ".join((done.stderr or done.stdout).split()) or f"exit code {done.returncode}"
            raise LabError(f"{self.name}: {' '.join(command)}: {reason}")

    def configure(self, keys: dict[str, object]) -> None:
        """Set kernel parameters below net, by their names with slashes."""
        with self.entered():
            for key, value in keys.items():
                path = Path("/proc/sys/net", key)
                try:
                    path.write_text(str(value))
                except OSError as error:
                    raise LabError(f"{self.name}: {path}: {error.strerror}") from error


class Network:
    """All nodes and links of a lab, as a context."""

    def __init__(self) -> None:
        self.nodes: dict[str, Node] = {}
        self._programs: list[subprocess.Popen[bytes]] = []
        self._exit = ExitStack()

    def __enter__(self) -> Network:
        host = self._opened()
        _leave()
        self._exit.callback(_return, host)
        self._home = self._opened()
        self._exit.callback(self._end_programs)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._exit.close()

    def add_node(self, name: str) -> Node:
        """A new, empty namespace whose loopback is up."""
        _leave()
        try:
            node = Node(name, self._opened(), self._home)
        finally:
            _enter(self._home)
        self.nodes[name] = node
        node.run(["ip", "link", "set", "lo", "up"])
        return node

    def add_link(self, a: Node, port_a: str, mac_a: str, b: Node, port_b: str, mac_b: str) -> None:
        """A pair of virtual interfaces, one end in each node. Neither speaks by itself."""
        there = f"/proc/{os.getpid()}/fd/{b.descriptor}"
        a.run(
            ["ip", "link", "add", port_a, "address", mac_a, "type", "veth", "peer", "name", port_b, "address", mac_b, "netns", there],
        )
        for node, port in ((a, port_a), (b, port_b)):
            node.run(["ip", "link", "set", port, "addrgenmode", "none"])
            node.run(["ip", "link", "set", port, "up"])

    def start(
        self,
        node: Node | None,
        command: Sequence[str],
        *,
        descriptors: Sequence[int] = (),
        log: Path | None = None,
        at_once: bool = False,
    ) -> subprocess.Popen[bytes]:
        """Start a program, inside a node or outside all of them. It ends with the network, or with this process.

        With `log` all that it says goes to that file, else its output is piped. `at_once`: what else this machine does shall not make it
        wait, as far as this user may ask for that.
        """
        with ExitStack() as inside:
            if node is not None:
                inside.enter_context(node.entered())
            output = subprocess.PIPE if log is None else inside.enter_context(log.open("wb"))
            program = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=None if log is None else subprocess.STDOUT,
                pass_fds=descriptors,
                start_new_session=True,  # Ctrl-C is for us: we end them in order
                preexec_fn=_end_with_parent_and_run_at_once if at_once else _end_with_parent,
            )
        self._programs.append(program)
        return program

    def start_module(self, module: str, *arguments: str, descriptors: Sequence[int] = (), at_once: bool = False) -> subprocess.Popen[bytes]:
        """Start a module of this package with our own Python; the sockets that it gets decide which nodes it speaks for."""
        return self.start(None, [sys.executable, "-m", module, *arguments], descriptors=descriptors, at_once=at_once)

    def _end_programs(self) -> None:
        for program in self._programs:
            if program.poll() is None:
                program.send_signal(signal.SIGTERM)
        for program in self._programs:
            try:
                program.wait(_PATIENCE_S)
            except subprocess.TimeoutExpired:
                program.kill()
                program.wait()
            for stream in (program.stdin, program.stdout):
                if stream is not None:
                    stream.close()

    def _opened(self) -> int:
        descriptor = os.open(_OWN_NAMESPACE, os.O_RDONLY)
        self._exit.callback(os.close, descriptor)
        return descriptor


def waited_ns(program: subprocess.Popen[bytes]) -> dict[str, int]:
    """How long each thread of a program that runs has waited for a processor so far, by its id (Linux: proc(5), schedstat)."""
    waited = {}
    for task in Path(f"/proc/{program.pid}/task").glob("*/schedstat"):
        with suppress(FileNotFoundError, ProcessLookupError):  # the thread has ended meanwhile
            waited[task.parent.name] = int(task.read_text().split()[1])
    return waited


def _leave() -> None:
    """Put this thread into a new namespace with nothing in it."""
    if _libc.unshare(_CLONE_NEWNET) != 0:
        reason = os.strerror(ctypes.get_errno())
        raise LabError(f"no network namespace can be made: {reason}; be root, or run it below `unshare --user --map-root-user`")


def _enter(descriptor: int) -> None:
    if _libc.setns(descriptor, _CLONE_NEWNET) != 0:
        raise LabError(f"a network namespace cannot be entered: {os.strerror(ctypes.get_errno())}")


def _return(descriptor: int) -> None:
    """Go back to where the process came from. Below a user namespace that is forbidden, and the empty namespace will do: what comes after
    a lab needs no network."""
    if _libc.setns(descriptor, _CLONE_NEWNET) != 0 and ctypes.get_errno() != errno.EPERM:
        raise LabError(f"the network cannot be entered again: {os.strerror(ctypes.get_errno())}")


def _end_with_parent() -> None:
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _end_with_parent_and_run_at_once() -> None:
    _end_with_parent()
    # root of a user namespace may not; niceness would not do, it counts within a session only (sched(7), autogroups)
    with suppress(PermissionError):
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(os.sched_get_priority_min(os.SCHED_RR)))
