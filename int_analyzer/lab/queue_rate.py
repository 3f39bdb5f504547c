"""Rate and length of BMv2's output queues: the one thing that P4Runtime cannot say, asked for over Thrift.

A call in Thrift's strict binary protocol (thrift-binary-protocol.md): version and type, name, sequence number, fields, stop.
"""

from __future__ import annotations

import socket
import struct

from int_analyzer.errors import LabError

THRIFT_PORT = 9090
_VERSION_CALL, _REPLY, _EXCEPTION = 0x8001_0001, 2, 3
_STOP, _I32, _I64 = 0, 8, 10
_SERVICE = "simple_switch"  # the server multiplexes its services by the prefix of the name
_TIMEOUT_S = 5.0


class QueueRate:
    """A connection to one switch. Make it while its node is entered."""

    def __init__(self) -> None:
        self._socket = socket.create_connection(("127.0.0.1", THRIFT_PORT), _TIMEOUT_S)

    def close(self) -> None:
        self._socket.close()

    def set_rate(self, port: int, packets_per_second: int) -> None:
        """How many packets a second leave a port."""
        self._call("set_egress_queue_rate", struct.pack(">bhi", _I32, 1, port) + struct.pack(">bhq", _I64, 2, packets_per_second))

    def set_depth(self, port: int, packets: int) -> None:
        """How many packets wait at a port before more are dropped."""
        self._call("set_egress_queue_depth", struct.pack(">bhi", _I32, 1, port) + struct.pack(">bhi", _I32, 2, packets))

    def _call(self, method: str, fields: bytes) -> None:
        name = f"{_SERVICE}:{method}".encode()
        try:
            self._socket.sendall(struct.pack(f">Ii{len(name)}si", _VERSION_CALL, len(name), name, 0) + fields + bytes((_STOP,)))
            head, length = struct.unpack(">Ii", self._read(8))
            self._read(length + 4)
        except OSError as error:
            raise LabError(f"the switch does not answer {method}: {error}") from error
        if head & 0xFF != _REPLY:
            raise LabError(f"the switch refuses {method}")
        # the result is field 0, an i32: 0 is success
        kind, _number, value = struct.unpack(">bhi", self._read(7))
        self._read(1)
        if kind != _I32 or value != 0:
            raise LabError(f"the switch answers {method} with {value}")

    def _read(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            more = self._socket.recv(size - len(data))
            if not more:
                raise LabError("the switch has closed its Thrift connection")
            data += more
        return data
