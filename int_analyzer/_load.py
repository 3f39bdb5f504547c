"""Machine-level loads and stores for compiled kernels: what `wire.read` and `wire.write` become. Imported only once numba is."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic


def unaligned(width: int, little: bool) -> Any:
    """(buffer, offset) -> int64: an unaligned load of `width` bytes and, for network order, a byte swap."""
    load_bytes = {1: 1, 2: 2, 3: 4, 4: 4, 6: 8, 7: 8, 8: 8}[width]
    if width in (3, 6, 7):
        return _composed(width)

    @intrinsic
    def load(typingctx: Any, buffer: Any, offset: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            array = cgutils.create_struct_proxy(signature.args[0])(context, builder, arguments[0])
            word = ir.IntType(8 * load_bytes)
            pointer = builder.bitcast(builder.gep(array.data, [arguments[1]]), word.as_pointer())
            value = builder.load(pointer, align=1)
            if load_bytes > 1 and not little:
                value = builder.bswap(value)
            return value if load_bytes == 8 else builder.zext(value, ir.IntType(64))

        return types.int64(buffer, types.int64), codegen

    return load


def _composed(width: int) -> Any:
    """Widths that are no machine word: never touches a byte outside the field."""
    high = {3: 1, 6: 2, 7: 1}[width]
    if width == 3:
        first, second, shift = unaligned(1, False), unaligned(2, False), 16
    elif width == 6:
        first, second, shift = unaligned(2, False), unaligned(4, False), 32
    else:
        first, second, shift = unaligned(3, False), unaligned(4, False), 32
        high = 3

    @numba.njit(nogil=True, inline="never")
    def load(buffer: Any, offset: Any) -> Any:
        return (first(buffer, offset) << shift) | second(buffer, offset + high)

    return load


def checked(width: int, little: bool) -> Any:
    """The same value byte by byte, each index checked by numba."""

    @numba.njit(nogil=True, boundscheck=True)
    def load(buffer: Any, offset: Any) -> Any:
        if offset < 0:
            raise IndexError("negative offset")
        value = np.int64(0)
        for i in range(width):
            at = width - 1 - i if little else i
            value = (value << np.int64(8)) | np.int64(buffer[offset + at])
        return value

    return load


def unaligned_store(width: int, little: bool) -> Any:
    """(buffer, offset, value): an unaligned store of the lowest `width` bytes and, for network order, a byte swap."""
    if width in (3, 6, 7):
        return _composed_store(width)

    @intrinsic
    def store(typingctx: Any, buffer: Any, offset: Any, value: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            array = cgutils.create_struct_proxy(signature.args[0])(context, builder, arguments[0])
            word = ir.IntType(8 * width)
            pointer = builder.bitcast(builder.gep(array.data, [arguments[1]]), word.as_pointer())
            given = arguments[2] if width == 8 else builder.trunc(arguments[2], word)
            builder.store(builder.bswap(given) if width > 1 and not little else given, pointer, align=1)
            return context.get_dummy_value()

        return types.none(buffer, types.int64, types.int64), codegen

    return store


def _composed_store(width: int) -> Any:
    """Widths that are no machine word: never touches a byte outside the field."""
    high = {3: 1, 6: 2, 7: 3}[width]
    first, second = unaligned_store(high, False), unaligned_store(width - high, False)
    shift = 8 * (width - high)

    @numba.njit(nogil=True, inline="never")
    def store(buffer: Any, offset: Any, value: Any) -> None:
        first(buffer, offset, value >> shift)
        second(buffer, offset + high, value)

    return store


def checked_store(width: int, little: bool) -> Any:
    """The same byte by byte, each index checked by numba."""

    @numba.njit(nogil=True, boundscheck=True)
    def store(buffer: Any, offset: Any, value: Any) -> None:
        if offset < 0:
            raise IndexError("negative offset")
        for i in range(width):
            at = i if little else width - 1 - i
            buffer[offset + at] = (value >> np.int64(8 * i)) & np.int64(0xFF)

    return store


def prefetch() -> Any:
    """(buffer, offset): llvm.prefetch for reading, to all cache levels."""

    @intrinsic
    def ask(typingctx: Any, buffer: Any, offset: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            array = cgutils.create_struct_proxy(signature.args[0])(context, builder, arguments[0])
            # One declaration for arrays of all types.
            pointer = builder.bitcast(builder.gep(array.data, [arguments[1]]), ir.IntType(8).as_pointer())
            i32 = ir.IntType(32)
            function_type = ir.FunctionType(ir.VoidType(), [pointer.type, i32, i32, i32])
            name = "llvm.prefetch.p0i8" if not getattr(pointer.type, "is_opaque", False) else "llvm.prefetch.p0"
            function = cgutils.get_or_insert_function(builder.module, function_type, name)
            builder.call(function, [pointer, i32(0), i32(3), i32(1)])
            return context.get_dummy_value()

        return types.none(buffer, types.int64), codegen

    return ask


def _place(column: Any) -> Any:
    from int_analyzer.columns import PLACES

    if not isinstance(column, types.StringLiteral):
        raise numba.errors.RequireLiteralValue("the column must be named by a literal")
    return PLACES[column.literal_value]


def _address(context: Any, builder: Any, signature: Any, arguments: Any, place: Any, word: Any) -> Any:
    array = cgutils.create_struct_proxy(signature.args[0])(context, builder, arguments[0])
    row = builder.zext(arguments[2], ir.IntType(64)) if arguments[2].type.width < 64 else arguments[2]
    offset = builder.add(builder.mul(row, ir.Constant(ir.IntType(64), word.width // 8)), ir.Constant(ir.IntType(64), place.offset))
    return builder.bitcast(builder.gep(array.data, [offset]), word.as_pointer())


def _require_row(context: Any, builder: Any, row: Any, rows: int) -> None:
    """Under bounds checking a row outside its column raises instead of reaching into the next one."""
    outside = builder.icmp_unsigned(">=", row, ir.Constant(row.type, rows))
    with builder.if_then(outside, likely=False):
        context.call_conv.return_user_exc(builder, IndexError, ("row outside its column",))


def column_put() -> Any:
    """(arena, "table.column", row, value): one narrowing store."""
    from int_analyzer._jit import BOUNDSCHECK

    @intrinsic(prefer_literal=True)
    def put(typingctx: Any, arena: Any, column: Any, row: Any, value: Any) -> Any:
        place = _place(column)
        word = ir.IntType(8 * np.dtype(place.dtype).itemsize)

        def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            if BOUNDSCHECK:
                _require_row(context, builder, arguments[2], place.rows)
            given = arguments[3]
            if given.type.width > word.width:
                given = builder.trunc(given, word)
            elif given.type.width < word.width:
                given = builder.zext(given, word)
            builder.store(given, _address(context, builder, signature, arguments, place, word))
            return context.get_dummy_value()

        return types.none(arena, column, types.int64, types.int64), codegen

    return put


def column_get() -> Any:
    """(arena, "table.column", row) -> int64: one widening load."""
    from int_analyzer._jit import BOUNDSCHECK

    @intrinsic(prefer_literal=True)
    def get(typingctx: Any, arena: Any, column: Any, row: Any) -> Any:
        place = _place(column)
        dtype = np.dtype(place.dtype)
        word = ir.IntType(8 * dtype.itemsize)

        def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            if BOUNDSCHECK:
                _require_row(context, builder, arguments[2], place.rows)
            value = builder.load(_address(context, builder, signature, arguments, place, word))
            if word.width == 64:
                return value
            return builder.sext(value, ir.IntType(64)) if dtype.kind == "i" else builder.zext(value, ir.IntType(64))

        return types.int64(arena, column, types.int64), codegen

    return get


def expected(value: bool) -> Any:
    """(condition) -> the same: llvm.expect, which tells the compiler how a branch goes nearly always."""

    @intrinsic
    def expect(typingctx: Any, condition: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            bit = ir.IntType(1)
            function_type = ir.FunctionType(bit, [bit, bit])
            function = cgutils.get_or_insert_function(builder.module, function_type, "llvm.expect.i1")
            return builder.call(function, [arguments[0], bit(int(value))])

        return types.boolean(types.boolean), codegen

    return expect
