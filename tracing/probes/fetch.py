"""Fetching the arguments of a probe event at a hit.  kernel/trace/trace_probe_tmpl.h, trace_probe_kernel.h.

`compile_fetch` turns the fetch instructions of one argument into one Python function of the probe's pt_regs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from arch.cstring import c_string
from arch.errors import Fault
from arch.memory import Memory
from tracing.board import Board
from tracing.probes.args import Op, ProbeArg
from tracing.text.addresses import Addresses

MAX_STRING_SIZE = 4096


class FetchContext:
    """Where a probe's arguments come from at a hit."""

    def __init__(self, board: Board, kernel: bool) -> None:
        host = board.host
        self.board = board
        self.host = host
        self.arch = host.arch
        self.mem: Memory = host.mem
        self.layout = board.layout
        self.kernel = kernel
        self.base = 0  # uprobes: where the file is mapped, for @+OFF
        self.entry: Sequence[int] = ()  # arguments of the call that returns, or of a tracepoint

    def comm_address(self) -> int:
        """Of the running task's name."""
        host = self.host
        return host.task_number(host.current_task()) + host.types.offsetof("struct task_struct", "comm")

    def field(self, name: str) -> int:
        """Of the record of an event that is probed; event probes alone have one."""
        raise NotImplementedError

    def read(self, addr: int, size: int, user: bool) -> bytes:
        """probe_mem_read(): kernel memory, and user memory where asked for or where the address can only be that.

        Where both count from 0 (s390x: no ARCH_HAS_NON_OVERLAPPING_ADDRESS_SPACE), no address can only be that.
        """
        addr &= (1 << 8 * self.board.word) - 1
        if not user and self.kernel:
            try:
                return self.mem.read(addr, size)
            except Fault:
                if self.host.arch.map.text_base < self.host.arch.map.user_end:
                    raise
        memory = self.host.user_mem()
        if memory is None:
            raise Fault(addr)
        return memory.read(addr, size)

    def word(self, addr: int, user: bool = False) -> int:
        """A long at an address.  Fault."""
        return int.from_bytes(self.read(addr, self.board.word, user), self.board.byteorder)

    def string(self, addr: int, user: bool) -> bytes | None:
        """A NUL-terminated string with its NUL; None for a fault."""
        data = bytearray()
        while len(data) < MAX_STRING_SIZE:
            room = 64 - (addr + len(data)) % 64
            try:
                chunk = self.read(addr + len(data), room, user)
            except Fault:
                pieces = self._bytewise(addr + len(data), room, user)
                if pieces is None:
                    return None
                chunk = pieces
            end = chunk.find(0)
            if end >= 0:
                return bytes(data + chunk[: end + 1])
            data += chunk
        return bytes(data[: MAX_STRING_SIZE - 1]) + b"\0"

    def _bytewise(self, addr: int, room: int, user: bool) -> bytes | None:
        out = b""
        try:
            for index in range(room):
                out += self.read(addr + index, 1, user)
                if out.endswith(b"\0"):
                    break
        except Fault:
            return None
        return out


Value = int | bytes | None  # a number, a string with its NUL, a string that could not be read
Fetch = Callable[[int], int]


def compile_base(op: Op, ctx: FetchContext) -> Fetch:
    """The first stage: a value from registers, stack, a constant."""
    mem, layout, arch = ctx.mem, ctx.layout, ctx.arch
    kind, param = op.op, op.param
    if kind in ("reg", "retval"):
        row = layout.fields[op.name if kind == "reg" else arch.return_value]
        return lambda regs: mem.read_uint(regs + row.offset, row.size)
    sp = layout.fields[arch.stack_pointer]
    if kind == "stackp":
        return lambda regs: mem.read_uint(regs + sp.offset, sp.size)
    if kind == "stack":
        return lambda regs: ctx.word(mem.read_uint(regs + sp.offset, sp.size) + param * arch.word)
    if kind == "arg":
        return lambda regs: arch.argument(mem, regs, param, layout)
    if kind == "edata":
        return lambda regs: ctx.entry[param] if param < len(ctx.entry) else 0  # a tracepoint may have fewer
    if kind == "imm":
        return lambda regs: param
    if kind == "field":
        return lambda regs: ctx.field(op.name)
    assert kind == "foffs", kind
    return lambda regs: ctx.base + param


def compile_fetch(arg: ProbeArg, ctx: FetchContext) -> Callable[[int], tuple[Value, ...]]:
    """The function (pt_regs) -> values of the argument, one or `count`; strings as bytes with NUL, None for a fault."""
    ops = [op for op in arg.ops if op.op != "sym"]
    if ops[0].op == "comm":
        if not arg.type.is_string:  # an event probe's, as long as nobody says that it is a string
            return lambda regs: (ctx.comm_address(),)
        return lambda regs: (ctx.host.current_comm().encode("latin-1")[:15] + b"\0",)
    if ops[0].op == "data":
        data = ops[0].data + b"\0" if ctx.kernel else None  # a user probe reads it from its task's memory
        return lambda regs: (data,)
    base = compile_base(ops[0], ctx)
    derefs = [(op.offset, op.user) for op in ops[1:]]
    if arg.type.is_string:
        return _compile_string(arg, base, derefs, ctx)
    size, count, offset, user = arg.type.size, arg.count or 1, arg.store_offset, arg.store_user
    bits, order = arg.bits, ctx.board.byteorder
    mask = (1 << 8 * size) - 1

    def window(value: int) -> int:
        value &= mask
        return value if bits is None else (value << bits[0] & mask) >> bits[1]

    if arg.store == "raw":

        def raw(regs: int) -> tuple[Value, ...]:
            try:
                value = base(regs)
                for step, from_user in derefs:
                    value = ctx.word(value + step, from_user)
            except Fault:
                return (0,)
            return (window(value),)

        return raw

    def memory(regs: int) -> tuple[Value, ...]:
        try:
            value = base(regs)
            for step, from_user in derefs:
                value = ctx.word(value + step, from_user)
        except Fault:
            return (0,) * count
        out = []
        for index in range(count):
            try:
                data = ctx.read(value + offset + index * size, size, user)
            except Fault:
                data = bytes(size)
            out.append(window(int.from_bytes(data, order)))
        return tuple(out)

    return memory


def _compile_string(
    arg: ProbeArg, base: Fetch, derefs: list[tuple[int, bool]], ctx: FetchContext
) -> Callable[[int], tuple[Value, ...]]:
    word = ctx.board.word

    def finish(value: int) -> bytes | None:
        if arg.store == "symstr":
            return ctx.board.addresses.symbol_offset(value).encode("utf-8", "surrogateescape") + b"\0"
        return ctx.string(value + arg.store_offset, arg.store_user)

    def fetch(regs: int) -> tuple[Value, ...]:
        value = base(regs)
        try:
            for step, from_user in derefs[: -1 if arg.count else None]:
                value = ctx.word(value + step, from_user)
            if not arg.count:
                return (finish(value),)
            step, from_user = derefs[-1]
            return tuple(finish(ctx.word(value + step + index * word, from_user)) for index in range(arg.count))
        except Fault:
            return (None,) * (arg.count or 1)

    return fetch


def print_values(arg: ProbeArg, values: Sequence[Value], addresses: Addresses) -> str:
    """print_probe_args() for one argument."""
    texts = []
    for value in values:
        if not isinstance(value, int):
            texts.append("(fault)" if value is None else f'"{c_string(value)}"')
        elif arg.type.print == "symbol":
            texts.append(addresses.symbol_offset(value))
        else:
            bits = 8 * arg.type.size
            signed = value - (1 << bits) if arg.type.signed and value >> (bits - 1) else value
            texts.append(arg.type.print % signed)
    return "{" + ",".join(texts) + "}" if arg.count else texts[0]
