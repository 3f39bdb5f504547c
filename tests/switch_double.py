"""A stand-in for simple_switch_grpc: P4Runtime and Thrift answer as a switch would, tables are kept, no packet is forwarded.

python switch_double.py … -- --grpc-server-addr ADDRESS      (the options of simple_switch_grpc; all others are ignored)
"""

from __future__ import annotations

import socket
import socketserver
import struct
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent import futures
from typing import Any

import grpc
from google.rpc import code_pb2, status_pb2
from p4.v1 import p4runtime_pb2, p4runtime_pb2_grpc

THRIFT_PORT = 9090


class Switch(p4runtime_pb2_grpc.P4RuntimeServicer):
    """What a controller may do to one switch. `log` has the updates in order, as (type, kind), `counts` the cells of every counter.
    `on_write` is called before each write."""

    def __init__(self) -> None:
        self.pipeline: Any = None
        self.entries: dict[Any, Any] = {}
        self.log: list[tuple[str, str]] = []
        self.refuse_program = False
        self.counts: list[int] = []
        self.on_write: Callable[[], None] = lambda: None

    def StreamChannel(self, requests: Iterator[Any], _context: grpc.ServicerContext) -> Iterator[Any]:
        for request in requests:
            answer = p4runtime_pb2.StreamMessageResponse()
            answer.arbitration.CopyFrom(request.arbitration)
            answer.arbitration.status.CopyFrom(status_pb2.Status(code=code_pb2.OK))
            yield answer

    def SetForwardingPipelineConfig(self, request: Any, context: grpc.ServicerContext) -> Any:
        if self.refuse_program:
            context.abort(grpc.StatusCode.INVALID_ARGUMENT, "not a program")
        self.pipeline = request.config
        self.entries.clear()
        return p4runtime_pb2.SetForwardingPipelineConfigResponse()

    def GetForwardingPipelineConfig(self, _request: Any, _context: grpc.ServicerContext) -> Any:
        return p4runtime_pb2.GetForwardingPipelineConfigResponse(config=self.pipeline)

    def Write(self, request: Any, context: grpc.ServicerContext) -> Any:
        self.on_write()
        for update in request.updates:
            kind = p4runtime_pb2.Update.Type.Name(update.type)
            key = _key(update.entity)
            self.log.append((kind, update.entity.WhichOneof("entity")))
            if (kind == "INSERT") == (key in self.entries) and not update.entity.table_entry.is_default_action:
                context.abort(grpc.StatusCode.ALREADY_EXISTS if kind == "INSERT" else grpc.StatusCode.NOT_FOUND, "as it stands")
            if kind == "DELETE":
                del self.entries[key]
            else:
                self.entries[key] = update.entity
        return p4runtime_pb2.WriteResponse()

    def Read(self, request: Any, _context: grpc.ServicerContext) -> Iterator[Any]:
        (asked,) = request.entities
        kind = asked.WhichOneof("entity")
        answer = p4runtime_pb2.ReadResponse()
        if kind == "counter_entry":
            for index, count in reversed(list(enumerate(self.counts))):
                cell = answer.entities.add().counter_entry
                cell.counter_id, cell.index.index, cell.data.packet_count = asked.counter_entry.counter_id, index, count
        for entity in self.entries.values():
            if entity.WhichOneof("entity") == kind and entity.table_entry.table_id == asked.table_entry.table_id:
                if entity.table_entry.is_default_action == asked.table_entry.is_default_action:
                    answer.entities.add().CopyFrom(entity)
        yield answer


def _key(entity: Any) -> Any:
    if entity.WhichOneof("entity") != "table_entry":
        return "session", entity.packet_replication_engine_entry.clone_session_entry.session_id
    entry = entity.table_entry
    matches = sorted(match.SerializeToString(deterministic=True) for match in entry.match)
    return entry.table_id, entry.priority, entry.is_default_action, *matches


class _Thrift(socketserver.BaseRequestHandler):
    """Says yes to every call."""

    def handle(self) -> None:
        while head := self.request.recv(8, socket.MSG_WAITALL):
            name = self.request.recv(struct.unpack(">i", head[4:])[0], socket.MSG_WAITALL)
            self.request.recv(4 + (19 if name.endswith(b"rate") else 15), socket.MSG_WAITALL)
            self.request.sendall(struct.pack(">Ii", 0x8001_0002, len(name)) + name + struct.pack(">ibhib", 0, 8, 0, 0, 0))


def serve(switch: Switch, address: str) -> grpc.Server:
    """Start to answer at an address."""
    server = grpc.server(futures.ThreadPoolExecutor(8))
    p4runtime_pb2_grpc.add_P4RuntimeServicer_to_server(switch, server)
    server.add_insecure_port(address)
    server.start()
    return server


if __name__ == "__main__":
    thrift = socketserver.ThreadingTCPServer(("127.0.0.1", THRIFT_PORT), _Thrift)
    threading.Thread(target=thrift.serve_forever, daemon=True).start()
    serve(Switch(), sys.argv[sys.argv.index("--grpc-server-addr") + 1]).wait_for_termination()
