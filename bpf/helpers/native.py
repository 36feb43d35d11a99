"""Helpers as native functions: what compiled programs call without Python in the way.

A row names the kernel function, as in the other files of this folder, and how it is called.  The body of a row must do what
the Python body does, to the byte; where it cannot it declines, before it has changed anything, and Python's is called.
Where all helpers of a program have rows it is closed: nothing that it calls leads to a run of another program.  So a row is only
for a helper whose Python body neither fires events, nor wakes tasks, nor frees anything; one without a function is left to
Python.

    ("bpf_ktime_get_ns", Native(ktime_get_ns))         called with the block alone
    ("bpf_get_current_comm", Native(get_comm, 2, TASK))   with the words of TASK, R1 and R2
    ("bpf_map_delete_elem", MapOperation("delete", 1))    what the map in R1 has for it, with its words and R2
"""

from __future__ import annotations

import ctypes
from functools import cache

from arch.abi.limits import PAGE_SIZE, TASK_COMM_LEN, U32_MAX
from arch.abi.time import INITIAL_JIFFIES, TICK_NSEC
from arch.native.block import Word
from arch.native.library import Library
from arch.native.state import current_task, time_now
from arch.native.subset import (
    NativeFunction,
    Words,
    copy,
    decline,
    load8,
    load32,
    load64,
    native,
    shared,
    store8,
    zero,
)
from arch.native.walk import in_direct_map, user_readable
from arch.records import dataclass
from bpf.board import Bpf
from bpf.helpers.probe import COPIED_AT_ONCE
from bpf.helpers.task import pads_comm
from bpf.maps import ring
from bpf.run.native_call import Constant, NativeCall

# Words about tasks: where the members of struct task_struct and struct cred are, and how wide pointers are, whether names are padded.
PID, TGID, COMM, CRED, UID, GID, POINTER, PADS = range(8)
MEMBERS = (
    "task_struct.pid",
    "task_struct.tgid",
    "task_struct.comm",
    "task_struct.cred",
    "cred.uid.val",
    "cred.gid.val",
)


@native
def ktime_get_ns() -> int:
    return time_now()


@native
def jiffies64() -> int:
    return INITIAL_JIFFIES + time_now() // TICK_NSEC


@native
def get_smp_processor_id() -> int:
    return shared[Word.CPU]


@native
def get_current_task() -> int:
    return current_task()


@native
def get_current_pid_tgid(t: Words) -> int:
    task = current_task()
    return load32(task + t[TGID]) << 32 | load32(task + t[PID])


@native
def get_current_uid_gid(t: Words) -> int:
    at = current_task() + t[CRED]
    cred = load64(at) if t[POINTER] == 8 else load32(at)
    return load32(cred + t[GID]) << 32 | load32(cred + t[UID])


@native
def get_current_comm(t: Words, buf: int, size: int) -> int:
    """strscpy_pad(), or strscpy(), which writes whole words."""
    size &= U32_MAX
    at = current_task() + t[COMM]
    length = 0
    while length < size and length < TASK_COMM_LEN and load8(at + length) != 0:
        length += 1
    end = (length + t[POINTER]) & (0 - t[POINTER])
    if length < TASK_COMM_LEN and end <= size:
        if t[PADS] != 0:
            zero(buf, size)
        copy(buf, at, end)
    elif size:
        if length == size:
            length -= 1
        if t[PADS] != 0:
            zero(buf, size)
        copy(buf, at, length)
        store8(buf + length, 0)
    return 0


@native
def probe_read_kernel(dst: int, size: int, src: int) -> int:
    """Of the direct map, where kernel objects are."""
    size &= U32_MAX
    if not in_direct_map(src, size):
        decline()
    copy(dst, src, size)
    return 0


@native
def in_page(address: int, left: int) -> int:
    """How many of the bytes that are left lie in the page of an address."""
    room = PAGE_SIZE - (address & (PAGE_SIZE - 1))
    return left if left < room else room


@native
def copy_user(dst: int, size: int, src: int) -> int:
    """Copy memory of the program that is there; declines before anything is copied."""
    done = 0
    while done < size:
        if not user_readable(src + done):
            decline()
        done += in_page(src + done, size - done)
    done = 0
    while done < size:
        step = in_page(src + done, size - done)
        copy(dst + done, user_readable(src + done), step)
        done += step
    return 0


@native
def probe_read_user(dst: int, size: int, src: int) -> int:
    """Of pages that are there."""
    size &= U32_MAX
    if size > shared[Word.USER_END] or src > shared[Word.USER_END] - size:
        decline()
    return copy_user(dst, size, src)


@native
def user_text(src: int, room: int) -> int:
    """How long a text is with its NUL; room + 1 if it is longer."""
    length = 0
    while length < room:
        place = user_readable(src + length)
        if not place:
            decline()
        left = in_page(src + length, room - length)
        while left:
            length += 1
            if not load8(place):
                return length
            place += 1
            left -= 1
    return room + 1


@native
def probe_read_user_str(dst: int, size: int, src: int) -> int:
    """Words are copied, as far as they go, with zeros behind the NUL.  What an empty text gives depends on the version."""
    size &= U32_MAX
    if size == 0:
        return 0
    if src > shared[Word.USER_END] or shared[Word.USER_END] - src < size:
        decline()
    length = user_text(src, size)
    if length > size:
        copy_user(dst, size - 1, src)
        store8(dst + size - 1, 0)
        return size
    if length == 1:
        decline()
    end = ((length - 1) & (0 - COPIED_AT_ONCE)) + COPIED_AT_ONCE
    behind = end <= size and (end == length or user_readable(src + end - 1))
    copy_user(dst, length, src)
    if behind:
        zero(dst + length, end - length)
    return length


@native
def get_attach_cookie() -> int:
    return shared[Word.COOKIE]


@native
def get_func_ip() -> int:
    """Where its probe told it."""
    if not shared[Word.ENTRY_IP]:
        decline()
    return shared[Word.ENTRY_IP]


@dataclass(frozen=True)
class Native:
    """A row: the function, how many of R1 to R5 it gets, and whether it gets the words about tasks before them."""

    function: NativeFunction | None = None  # None: Python does it
    registers: int = 0
    about_tasks: bool = False
    elsewhere: bool = False  # it reads what the program names of the kernel's memory


@dataclass(frozen=True)
class MapOperation:
    """A row: an operation of the map in R1, and how many registers behind that it gets."""

    operation: str
    registers: int


FORMATS_SINCE = "5.13"  # what the native form of bpf_trace_printk() takes
GIVES_MEMORY = ("lookup", "element", "reserve")
WAKE = ("output",)  # operations that, left to Python, may wake tasks
GUARDED = ("output", "reserve")  # what comes of it may
WAKE_FLAGS = 4  # register of the former, and of what ends a reservation
SUBMIT_FLAGS = 2


@dataclass(frozen=True)
class RingOperation:
    """A row: what is done with a record in R1, whose ring native code looks for; with R2."""

    function: str


@dataclass(frozen=True)
class EventOutput:
    """A row: how a record comes into the events of the map in R2; the context in R1 tells where the CPU was."""

    operation: str


@dataclass(frozen=True)
class StackNumber:
    """A row: the number of the kernel's stack, in the map in R2, where R1 has the registers.

    Programs whose context is no struct pt_regs have Python look at where the CPU is, so they have no row.
    """


@dataclass(frozen=True)
class Printing:
    """A row: a line for the trace, whose floor has the function (Bpf.printk)."""


ROWS: dict[str, Native | MapOperation | RingOperation | EventOutput | StackNumber | Printing | None] = {
    "bpf_get_stackid": StackNumber(),
    "bpf_get_stackid_tp": None,
    "bpf_get_stackid_pe": None,
    "bpf_get_stackid_raw_tp": None,
    "bpf_trace_printk": Printing(),
    "bpf_perf_event_output": EventOutput("events_of_regs"),
    "bpf_perf_event_output_tp": EventOutput("events_of_tracepoint"),
    "bpf_perf_event_output_raw_tp": EventOutput("events_of_kernel"),
    "bpf_event_output_data": None,
    "bpf_skb_event_output": None,
    "bpf_xdp_event_output": None,
    "bpf_map_lookup_elem": MapOperation("lookup", 1),
    "__htab_map_lookup_elem": MapOperation("element", 1),
    "bpf_map_update_elem": MapOperation("update", 3),
    "bpf_map_delete_elem": MapOperation("delete", 1),
    "bpf_ringbuf_reserve": MapOperation("reserve", 2),
    "bpf_ringbuf_output": MapOperation("output", 3),
    "bpf_ringbuf_query": MapOperation("query", 1),
    "bpf_ringbuf_submit": RingOperation("ring_submit"),
    "bpf_ringbuf_discard": RingOperation("ring_discard"),
    "bpf_ktime_get_ns": Native(ktime_get_ns),
    "bpf_ktime_get_boot_ns": Native(ktime_get_ns),
    "bpf_jiffies64": Native(jiffies64),
    "bpf_get_smp_processor_id": Native(get_smp_processor_id),
    "bpf_get_raw_cpu_id": Native(get_smp_processor_id),
    "bpf_get_current_task": Native(get_current_task),
    "bpf_get_current_task_btf": Native(get_current_task),
    "bpf_get_current_pid_tgid": Native(get_current_pid_tgid, 0, True),
    "bpf_get_current_uid_gid": Native(get_current_uid_gid, 0, True),
    "bpf_get_current_comm": Native(get_current_comm, 2, True),
    "bpf_get_attach_cookie": Native(get_attach_cookie),
    "bpf_get_attach_cookie_trace": Native(get_attach_cookie),
    "bpf_get_attach_cookie_pe": Native(get_attach_cookie),
    "bpf_get_attach_cookie_tracing": Native(get_attach_cookie),
    "bpf_get_attach_cookie_kprobe_multi": Native(get_attach_cookie),
    "bpf_get_func_ip_kprobe": Native(get_func_ip),
    "bpf_get_func_ip_kprobe_multi": Native(get_func_ip),
    "bpf_get_func_ip_tracing": Native(get_func_ip),
    "bpf_probe_read": Native(probe_read_kernel, 3, elsewhere=True),
    "bpf_probe_read_compat": Native(probe_read_kernel, 3, elsewhere=True),
    "bpf_probe_read_kernel": Native(probe_read_kernel, 3, elsewhere=True),
    "bpf_probe_read_user": Native(probe_read_user, 3),
    "bpf_probe_read_str": Native(elsewhere=True),
    "bpf_probe_read_compat_str": Native(elsewhere=True),
    "bpf_probe_read_kernel_str": Native(elsewhere=True),
    "bpf_probe_read_user_str": Native(probe_read_user_str, 3),
    "bpf_user_rnd_u32": Native(),
    "bpf_get_prandom_u32": Native(),
    "bpf_get_numa_node_id": Native(),
    "bpf_strncmp": Native(),
}


@cache
def library(big_endian: bool) -> Library:
    """Compiled when the first program is."""
    functions = {row.function for row in ROWS.values() if isinstance(row, Native) and row.function is not None}
    return Library(sorted(functions, key=lambda function: function.name), big_endian)


def _about_tasks(bpf: Bpf) -> int:
    """Host address of the words about tasks of this machine; 0 where its tasks have no such members."""
    if bpf.task_words is None:
        structs = bpf.host.structs
        if not all(structs.has(member) for member in MEMBERS):
            return 0
        offsets = (structs.offset(member) for member in MEMBERS)
        bpf.task_words = (ctypes.c_uint64 * 8)(*offsets, structs.word, int(pads_comm(bpf.version)))
    return ctypes.addressof(bpf.task_words)


def native_call(bpf: Bpf, names: list[str], constant: Constant) -> NativeCall | None:
    """The native form of a call of a helper, and what registers are expected to be.  None: there is no row."""
    row = next((ROWS[name] for name in names if name in ROWS), None)
    match row:
        case MapOperation(operation, registers):
            map_address = constant(1)
            found = bpf.map_at.get(map_address)
            if found is None:
                return None
            address = found.native_operation(operation)
            if address:
                wakes = operation in WAKE
                return NativeCall(
                    address, found.native_words, 2, registers, map_address, operation in GIVES_MEMORY, closed=not wakes,
                    guard=found.native_operation("guard") if operation in GUARDED else 0, wake_flags=WAKE_FLAGS if wakes else 0,
                )  # fmt: skip
            return None
        case EventOutput(operation):
            map_address = constant(2)
            found = bpf.map_at.get(map_address)
            address = 0 if found is None else found.native_operation(operation)
            if found is None or not address:
                return None
            guard = found.native_operation("events_guard")
            return NativeCall(
                address, found.native_words, 1, 5, map_address, map_register=2, context=True, closed=False, guard=guard
            )
        case StackNumber():
            map_address = constant(2)
            found = bpf.map_at.get(map_address)
            address = 0 if found is None else found.native_operation("stack")
            if found is None or not address:
                return None
            return NativeCall(address, found.native_words, 1, 3, map_address, map_register=2)
        case RingOperation(function):
            address = ring.library(bpf.mem.byteorder == "big").address[function]
            return NativeCall(address, ctypes.addressof(bpf.rings.words), 1, 2, closed=False, wake_flags=SUBMIT_FLAGS)
        case Printing():
            printing = bpf.printk()
            if printing is None or bpf.version.before(FORMATS_SINCE):
                return None
            address, words, guard = printing
            return NativeCall(address, words, 1, 5, closed=False, guard=guard)
        case Native(None):
            return NativeCall(0, elsewhere=row.elsewhere)
        case Native(NativeFunction() as function, registers, about_tasks):
            words = _about_tasks(bpf) if about_tasks else 0
            if about_tasks and not words:
                return NativeCall(0)
            address = library(bpf.mem.byteorder == "big").address[function.name]
            return NativeCall(address, words, 1, registers, elsewhere=row.elsewhere)
    return None
