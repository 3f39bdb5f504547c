"""The control plane of one switch: brings its program, tables and clone session to what they must be, by P4Runtime.

Idempotent: what is already right is left alone, what is wrong is changed, what is not wanted is deleted.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import grpc
from p4runtime_sh import shell
from p4runtime_sh.p4runtime import P4RuntimeException, P4RuntimeWriteException
from p4runtime_sh.utils import UserError

from int_analyzer.errors import LabError
from int_analyzer.lab.constant import REPORT_SESSION
from int_analyzer.lab.entry import KEYED_TABLES, MONITOR_PORT, Entry

DEVICE = 1
_ELECTION = (1, 0)
_PATIENCE_S = 20.0
_RETRY_S = 0.05


_Key = tuple[int, frozenset[tuple[int, int, Any]]]


class Change(NamedTuple):
    """What was done to a switch, in entries; a default action and the clone session are one each."""

    inserted: int
    modified: int
    deleted: int


def install_program(address: str, name: str, p4info: Path, program: Path) -> None:
    """Give a switch its program, as soon as it listens. Tables are empty afterwards."""
    with _session(address, name, config=shell.FwdPipeConfig(str(p4info), str(program))):
        pass


def apply_entries(address: str, name: str, entries: Iterable[Entry], copies: Sequence[int]) -> Change:
    """Make the tables hold exactly these entries, and the clone session lead to the monitor, with a replica for each format of a copy."""
    with _session(address, name):
        wanted: dict[str, dict[_Key, Any]] = {table: {} for table in KEYED_TABLES}
        changes = []
        for entry in entries:
            made = _table_entry(name, entry)
            if made.is_default:
                changes.append(_bring_default(made))
            else:
                wanted[entry.table][_key(made)] = made
        changes += [_bring(shell.TableEntry(table).read(), expected) for table, expected in wanted.items()]
        changes.append(_bring_session(copies))
        return Change(*(sum(counts) for counts in zip(*changes, strict=True)))


def read_counter(address: str, name: str, counter: str) -> list[int]:
    """The packets that each cell of a counter has counted."""
    with _session(address, name):
        return [cell.packet_count for cell in sorted(shell.CounterEntry(counter).read(), key=lambda cell: cell.index)]


def _bring_default(entry: Any) -> Change:
    """Bring the default action of a table to what is expected of it."""
    asked = shell.TableEntry(entry.name)
    asked.is_default = True
    if [_action(found) for found in asked.read()] == [_action(entry)]:
        return Change(0, 0, 0)
    entry.modify()
    return Change(0, 1, 0)


def _bring_session(copies: Sequence[int]) -> Change:
    """Bring the clone session to a replica for each format of a copy."""
    session = shell.CloneSessionEntry(REPORT_SESSION)
    for code in copies:
        session.add(MONITOR_PORT, code)
    present = [found for found in shell.CloneSessionEntry().read() if found.session_id == REPORT_SESSION]
    if not present:
        session.insert()
        return Change(1, 0, 0)
    if sorted((one.egress_port, one.instance) for one in present[0].replicas) == [(MONITOR_PORT, code) for code in copies]:
        return Change(0, 0, 0)
    session.modify()
    return Change(0, 1, 0)


def _bring(present: Iterable[Any], expected: dict[_Key, Any]) -> Change:
    """Bring one table from what it holds to what is expected of it."""
    inserted = modified = deleted = 0
    left = dict(expected)
    for found in list(present):
        entry = left.pop(_key(found), None)
        if entry is None:
            found.delete()
            deleted += 1
        elif _action(entry) != _action(found):
            entry.modify()
            modified += 1
    for entry in left.values():
        entry.insert()
        inserted += 1
    return Change(inserted, modified, deleted)


@contextmanager
def _session(address: str, name: str, config: Any = None) -> Iterator[None]:
    """The shell, connected to a switch as its master; what it complains of is raised as one line with the name of the switch."""
    try:
        with _held_back() as interrupts:
            _wait_until_ready(address, name, interrupts)
            shell.setup(device_id=DEVICE, grpc_addr=address, election_id=_ELECTION, config=config, verbose=False)
            try:
                yield
            finally:
                shell.teardown()
    except (P4RuntimeException, P4RuntimeWriteException, UserError, grpc.RpcError) as error:
        raise LabError(f"{name}: {' '.join(str(error).split())}") from error
    except SystemExit as error:  # how the shell says that a program or a connection was refused
        raise LabError(f"{name}: the switch refuses its program, or another controller is its master") from error


@contextmanager
def _held_back() -> Iterator[list[int]]:
    """Let Ctrl-C wait for the end, and give a list that has it meanwhile: interrupted inside gRPC, a channel may keep a lock that its own
    end waits for. A second Ctrl-C ends the process as it stands."""
    interrupts: list[int] = []

    def note(number: int, _frame: FrameType | None) -> None:
        interrupts.append(number)
        signal.signal(number, signal.SIG_DFL)

    before = signal.signal(signal.SIGINT, note)
    try:
        yield interrupts
    finally:
        signal.signal(signal.SIGINT, before)
        if interrupts:
            raise KeyboardInterrupt


def _wait_until_ready(address: str, name: str, interrupts: list[int]) -> None:
    deadline = time.monotonic() + _PATIENCE_S
    with grpc.insecure_channel(address) as channel:
        ready = grpc.channel_ready_future(channel)
        while not ready.done() and not interrupts and time.monotonic() < deadline:
            time.sleep(_RETRY_S)
        if not ready.done():
            ready.cancel()
            raise LabError(f"{name}: no P4Runtime server at {address} within {_PATIENCE_S:.0f} s")


def _table_entry(name: str, entry: Entry) -> Any:
    try:
        wanted = shell.TableEntry(entry.table)(action=entry.action)
        for key, value in entry.keys.items():
            wanted.match[key] = value
        for parameter, value in entry.parameters.items():
            wanted.action[parameter] = value
    except UserError as error:
        raise LabError(f"{name}: table {entry.table}: {error}") from error
    wanted.is_default = entry.table not in KEYED_TABLES
    wanted.priority = entry.priority
    return wanted


def _key(entry: Any) -> _Key:
    """What makes an entry the same entry: its priority and its keys."""
    message = entry.msg()
    fields = []
    for match in message.match:
        field = getattr(match, match.WhichOneof("field_match_type"))
        fields += [(match.field_id, one.number, _plain(value)) for one, value in field.ListFields()]
    return message.priority, frozenset(fields)


def _action(entry: Any) -> tuple[int, frozenset[tuple[int, Any]]]:
    message = entry.action.msg()
    return message.action_id, frozenset((parameter.param_id, _plain(parameter.value)) for parameter in message.params)


def _plain(value: Any) -> Any:
    """Bytes without leading zeros (P4Runtime §8.4): switches give values back so, and the shell does not always send them so."""
    return value.lstrip(b"\0") if isinstance(value, bytes) else value
