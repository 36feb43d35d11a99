"""The records of a perf buffer: samples, and those about tasks.  kernel/events/core.c:perf_output_sample()."""

from __future__ import annotations

import struct
from collections.abc import Callable, Hashable, Sequence
from typing import NamedTuple

from arch.abi.limits import PAGE_SIZE
from arch.abi.perf_event import (
    PERF_CONTEXT_KERNEL,
    PERF_CONTEXT_USER,
    PERF_COUNT_SW_CONTEXT_SWITCHES,
    PERF_RECORD_LOST,
    PERF_RECORD_MISC_KERNEL,
    PERF_RECORD_MISC_USER,
    PERF_RECORD_SAMPLE,
    PERF_SAMPLE_ADDR,
    PERF_SAMPLE_AUX,
    PERF_SAMPLE_BRANCH_STACK,
    PERF_SAMPLE_CALLCHAIN,
    PERF_SAMPLE_CGROUP,
    PERF_SAMPLE_CODE_PAGE_SIZE,
    PERF_SAMPLE_CPU,
    PERF_SAMPLE_DATA_PAGE_SIZE,
    PERF_SAMPLE_DATA_SRC,
    PERF_SAMPLE_ID,
    PERF_SAMPLE_IDENTIFIER,
    PERF_SAMPLE_IP,
    PERF_SAMPLE_PERIOD,
    PERF_SAMPLE_PHYS_ADDR,
    PERF_SAMPLE_RAW,
    PERF_SAMPLE_READ,
    PERF_SAMPLE_REGS_INTR,
    PERF_SAMPLE_REGS_USER,
    PERF_SAMPLE_STACK_USER,
    PERF_SAMPLE_STREAM_ID,
    PERF_SAMPLE_TID,
    PERF_SAMPLE_TIME,
    PERF_SAMPLE_TRANSACTION,
    PERF_SAMPLE_WEIGHT,
    PERF_SAMPLE_WEIGHT_STRUCT,
    PERF_TYPE_SOFTWARE,
)
from arch.errors import Fault
from arch.records import dataclass
from tracing.board import Board
from tracing.face import Mapping
from tracing.perf.attr import MAX_STACK, PerfAttr

MEM_NA = 0x5080021  # PERF_MEM_NA


def user_mode(board: Board, ip: int) -> bool:
    """By address: kernel text is known, or lies in the upper half; no address at all is the kernel's."""
    return ip != 0 and not ip >> (8 * board.word - 1) and not board.host.is_kernel_text(ip)


class Switched(NamedTuple):
    """A task that leaves a CPU, or comes to it."""

    task: Hashable
    tgid: int
    pid: int


@dataclass(slots=True)
class Sample:
    """What is known where an event overflows."""

    regs: int  # kernel address of a struct pt_regs, or 0
    raw: bytes  # a trace event's record
    addr: int
    ip: int  # 0: from regs
    period: int
    id: int  # PERF_SAMPLE_ID: of the event, or of its leader for inherited ones
    read: Callable[[], bytes]  # PERF_SAMPLE_READ
    point: str = ""  # the tracepoint that fired
    inner: Sequence[str] = ()  # functions where it fires that are not on this machine's stack


class Format:
    """How the records of one event look."""

    def __init__(self, board: Board, attr: PerfAttr, event_id: int) -> None:
        self.board = board
        self.attr = attr
        self.id = event_id
        # __schedule() counts switches in code of its own: the registers are those of who called it
        self.inlined = (attr.type, attr.config) == (PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES)

    def lost_record(self, lost: int) -> bytes:
        """PERF_RECORD_LOST: `lost` records found no room."""
        trailer = self.sample_id()
        head = struct.pack(self.board.order + "IHHQQ", PERF_RECORD_LOST, 0, 24 + len(trailer), self.id, lost)
        return head + trailer

    def sample_id(self, whose: Switched | None = None) -> bytes:
        """The trailer of records that are no samples (sample_id_all); of the running task unless said."""
        attr = self.attr
        if not attr.flag("sample_id_all"):
            return b""
        host, order, kind = self.board.host, self.board.order, attr.sample_type
        out = b""
        if kind & PERF_SAMPLE_TID:
            tgid, pid = (host.current_tgid(), host.current_pid()) if whose is None else (whose.tgid, whose.pid)
            out += struct.pack(order + "II", tgid, pid)
        if kind & PERF_SAMPLE_TIME:
            out += struct.pack(order + "Q", host.now_ns())
        if kind & PERF_SAMPLE_ID:
            out += struct.pack(order + "Q", self.id)
        if kind & PERF_SAMPLE_STREAM_ID:
            out += struct.pack(order + "Q", self.id)
        if kind & PERF_SAMPLE_CPU:
            out += struct.pack(order + "II", host.cpu_id(), 0)
        if kind & PERF_SAMPLE_IDENTIFIER:
            out += struct.pack(order + "Q", self.id)
        return out

    def sample(self, what: Sample) -> bytes:
        """A PERF_RECORD_SAMPLE; perf_output_sample()."""
        kind, order, host = self.attr.sample_type, self.board.order, self.board.host
        regs = what.regs
        ip = what.ip or (self.board.instruction_pointer(regs) if regs else 0)
        if self.inlined and regs:
            ip = (host.callchains(regs, 2)[0] or [ip])[-1]
        out = b""
        if kind & PERF_SAMPLE_IDENTIFIER:
            out += struct.pack(order + "Q", self.id)
        if kind & PERF_SAMPLE_IP:
            out += struct.pack(order + "Q", ip)
        if kind & PERF_SAMPLE_TID:
            out += struct.pack(order + "II", host.current_tgid(), host.current_pid())
        if kind & PERF_SAMPLE_TIME:
            out += struct.pack(order + "Q", host.now_ns())
        if kind & PERF_SAMPLE_ADDR:
            out += struct.pack(order + "Q", what.addr)
        if kind & PERF_SAMPLE_ID:
            out += struct.pack(order + "Q", what.id)
        if kind & PERF_SAMPLE_STREAM_ID:
            out += struct.pack(order + "Q", self.id)
        if kind & PERF_SAMPLE_CPU:
            out += struct.pack(order + "II", host.cpu_id(), 0)
        if kind & PERF_SAMPLE_PERIOD:
            out += struct.pack(order + "Q", what.period)
        if kind & PERF_SAMPLE_READ:
            out += what.read()
        if kind & PERF_SAMPLE_CALLCHAIN:
            out += self.callchain(regs, what.point, what.inner)
        if kind & PERF_SAMPLE_RAW:
            out += self.raw_field(what.raw)
        out += self.sample_tail(regs, len(out))
        misc = PERF_RECORD_MISC_USER if user_mode(self.board, ip) else PERF_RECORD_MISC_KERNEL
        return struct.pack(order + "IHH", PERF_RECORD_SAMPLE, misc, 8 + len(out)) + out

    def sample_tail(self, regs: int, before: int) -> bytes:
        """What follows the raw data; there are no branches, what is not known is zero.  `before` is the size so far."""
        kind, order = self.attr.sample_type, self.board.order
        out = b""
        if kind & PERF_SAMPLE_BRANCH_STACK:
            out += struct.pack(order + "Q", 0)
        if kind & (PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER):
            where = self.board.host.user_regs(regs)
            if kind & PERF_SAMPLE_REGS_USER:
                out += self.registers(where, self.attr.sample_regs_user)
            if kind & PERF_SAMPLE_STACK_USER:
                out += self.user_stack(where, before + len(out))
        if kind & (PERF_SAMPLE_WEIGHT | PERF_SAMPLE_WEIGHT_STRUCT):
            out += struct.pack(order + "Q", 0)
        if kind & PERF_SAMPLE_DATA_SRC:
            out += struct.pack(order + "Q", MEM_NA)
        if kind & PERF_SAMPLE_TRANSACTION:
            out += struct.pack(order + "Q", 0)
        if kind & PERF_SAMPLE_REGS_INTR:
            out += self.registers(regs, self.attr.sample_regs_intr)
        for bit in (PERF_SAMPLE_PHYS_ADDR, PERF_SAMPLE_CGROUP, PERF_SAMPLE_DATA_PAGE_SIZE, PERF_SAMPLE_CODE_PAGE_SIZE):
            if kind & bit:
                out += struct.pack(order + "Q", self.board.host.perf_cgroup_id() if bit == PERF_SAMPLE_CGROUP else 0)
        if kind & PERF_SAMPLE_AUX:
            out += struct.pack(order + "Q", 0)
        return out

    def registers(self, regs: int, mask: int) -> bytes:
        """PERF_SAMPLE_REGS_ABI_* and the values that the mask names; ABI none where there are no registers."""
        board, order = self.board, self.board.order
        if not regs:
            return struct.pack(order + "Q", 0)
        names = [name for bit, name in enumerate(board.host.arch.perf_regs) if mask >> bit & 1]
        values = [board.layout.get(board.host.mem, regs, name) if name else 0 for name in names]
        return struct.pack(f"{order}{1 + len(values)}Q", 1 if board.word == 4 else 2, *values)

    def user_stack(self, regs: int, before: int) -> bytes:
        """perf_output_sample_ustack(): size, so much of the stack from its pointer on, and how much of it is there."""
        host, order = self.board.host, self.board.order
        memory = host.user_mem()
        if not regs or memory is None:
            return struct.pack(order + "Q", 0)
        sp = self.board.layout.get(host.mem, regs, host.arch.stack_pointer)
        size = min(self.attr.sample_stack_user, max(host.arch.user_stack_top - sp, 0))
        room = 0xFFFF - 8 - before - 16
        size = min(size, room) // 8 * 8
        if not size:
            return struct.pack(order + "Q", 0)
        data = b""
        while len(data) < size:
            step = min(size - len(data), PAGE_SIZE - (sp + len(data)) % PAGE_SIZE)
            try:
                data += memory.read(sp + len(data), step)
            except Fault:
                break
        return struct.pack(order + "Q", size) + data.ljust(size, b"\0") + struct.pack(order + "Q", len(data))

    def raw_field(self, raw: bytes) -> bytes:
        """u32 size and data, padded so that both together are a multiple of eight."""
        size = -(-(len(raw) + 4) // 8) * 8 - 4
        return struct.pack(self.board.order + "I", size) + raw + bytes(size - len(raw))

    def callchain(self, regs: int, point: str, inner: Sequence[str]) -> bytes:
        """u64 nr and the addresses, each part behind its PERF_CONTEXT_* mark."""
        limit = self.attr.sample_max_stack or MAX_STACK
        kernel, user = self.board.host.callchains(regs, limit + self.inlined, point)
        kernel = [*map(self.board.host.frame, inner if kernel else ()), *kernel[self.inlined :]]
        ips: list[int] = []
        if kernel and not self.attr.flag("exclude_callchain_kernel"):
            ips += [PERF_CONTEXT_KERNEL, *kernel[:limit]]
        if user and not self.attr.flag("exclude_callchain_user"):
            ips += [PERF_CONTEXT_USER, *user[:limit]]
        return struct.pack(f"{self.board.order}{1 + len(ips)}Q", len(ips), *ips)

    def about_task(self, kind: int, body: bytes, misc: int = 0, whose: Switched | None = None) -> bytes:
        """A record that is no sample: header, body, and the trailer of sample_id_all."""
        trailer = self.sample_id(whose)
        return struct.pack(self.board.order + "IHH", kind, misc, 8 + len(body) + len(trailer)) + body + trailer


def comm_body(order: str, tgid: int, pid: int, comm: str) -> bytes:
    """PERF_RECORD_COMM."""
    data = comm.encode("latin-1") + b"\0"
    return struct.pack(order + "II", tgid, pid) + data + bytes(-len(data) % 8)


def mmap_bodies(order: str, tgid: int, pid: int, area: Mapping) -> tuple[bytes, bytes]:
    """PERF_RECORD_MMAP and PERF_RECORD_MMAP2 of one mapping."""
    where = struct.pack(order + "IIQQQ", tgid, pid, area.start, area.length, area.offset)
    more = struct.pack(order + "IIQQII", area.major, area.minor, area.ino, 0, area.prot, area.flags)
    name = area.path.encode("latin-1", "replace") + b"\0"
    name += bytes(-len(name) % 8)
    return where + name, where + more + name
