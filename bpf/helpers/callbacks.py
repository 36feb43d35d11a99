"""Loops and timers: helpers that call functions of the program.  kernel/bpf/bpf_iter.c, kernel/bpf/helpers.c."""

from __future__ import annotations

from arch.abi.errno import E2BIG, EBUSY, EDEADLK, EINVAL, EOPNOTSUPP, EPERM
from bpf import uapi
from bpf.board import Bpf
from bpf.face import Prog, Registers, Timer
from bpf.helpers import M, Runtime, kernel_name, prototype
from bpf.isa.callees import BPF_MAX_TIMED_LOOPS
from bpf.isa.insn import BPF_REG_AX
from bpf.isa.registers import BUDGET, BUDGET_AT
from bpf.maps.array import ArrayMap
from bpf.maps.base import BpfMap
from bpf.maps.sizes import round_up

CLOCKS = (0, 1, 7)  # CLOCK_REALTIME, CLOCK_MONOTONIC, CLOCK_BOOTTIME
MAX_CLOCKS = 16


@prototype(
    "loop",
    181,
    "5.17",
    args="ANYTHING PTR_TO_FUNC PTR_TO_STACK_OR_NULL ANYTHING",
    given="base_bpf",
    registers=True,
)
def loop(rt: Runtime, r: Registers) -> int:
    """Calls back with (index, context) until it answers 1; how often it did."""
    count, function, context, flags = r[1] & 0xFFFFFFFF, r[2], r[3], r[4]
    if flags:
        return -EINVAL
    if count > uapi.BPF_MAX_LOOPS:
        return -E2BIG
    prog, start = rt.bpf.functions[function]
    call_back = prog.program.call_back
    for i in range(count):
        if call_back(r, start, i, context):
            return i + 1
    return count


_TIME_SLICE_NS = 250_000_000


@kernel_name("arch_bpf_timed_may_goto", registers=True)
def arch_bpf_timed_may_goto(rt: Runtime, r: Registers) -> int:
    """bpf_check_timed_may_goto() of kernel/bpf/core.c: another 65,535 turns, or none after a quarter of a second.

    AX has the offset of the loop's two words from R10 and gets the new count; R0 to R5 stay.  A program's instructions take
    a nanosecond each.
    """
    timestamp = (r[10] + r[BPF_REG_AX] + 8) & M
    now = rt.host.now_ns() + BUDGET - r[BUDGET_AT]
    started = rt.mem.read_uint(timestamp, 8)
    if not started:
        rt.mem.write_uint(timestamp, 8, now)
    r[BPF_REG_AX] = 0 if started and now - started >= _TIME_SLICE_NS else BPF_MAX_TIMED_LOOPS
    return r[0]


class BpfTimer:
    """struct bpf_hrtimer: the value it belongs to, what it calls, and whether it is counting."""

    def __init__(self, bpf: Bpf, owner: BpfMap, value: int) -> None:
        self.bpf = bpf
        self.map = owner
        self.value = value
        self.prog: Prog | None = None
        self.function = 0
        self.pending: Timer | None = None
        self.running = False

    def start(self, delay_ns: int) -> None:
        """hrtimer_start(): also moves one that is counting."""
        if self.pending is not None:
            self.pending.cancel()
        self.pending = self.bpf.host.add_timer(delay_ns, self.fire)

    def stop(self) -> int:
        """hrtimer_cancel(): 1 if it was counting."""
        if self.pending is None:
            return 0
        self.pending.cancel()
        self.pending = None
        return 1

    def cancel(self) -> None:
        """bpf_timer_cancel_and_free()."""
        self.stop()
        self.drop_prog()

    def drop_prog(self) -> None:
        """drop_prog_refcnt()."""
        if self.prog is not None:
            self.prog.put()
        self.prog, self.function = None, 0

    def fire(self) -> None:
        """bpf_timer_cb(): the function gets (map, key, value)."""
        self.pending = None
        if self.prog is None:
            return
        self.running = True
        try:
            with self.bpf.scratch(max(self.map.key_size, 4)) as key:
                if isinstance(self.map, ArrayMap):
                    index = (self.value - self.map.values) // self.map.elem_size
                    self.bpf.mem.write_uint(key, 4, index)
                    at = key
                else:
                    at = self.value - round_up(self.map.key_size, 8)
                self.prog.run_function(self.function, self.map.address, at, self.value)
        finally:
            self.running = False


def _timer(rt: Runtime, address: int) -> BpfTimer | None:
    found = rt.bpf.timers.get(address)
    return found if isinstance(found, BpfTimer) else None


@prototype(
    "timer_init",
    169,
    "5.15",
    args="PTR_TO_TIMER CONST_MAP_PTR ANYTHING",
    flags="gpl_only",
    given="base_bpf",
)
def timer_init(rt: Runtime, timer: int, map_ptr: int, flags: int) -> int:
    if rt.host.in_nmi():
        return -EOPNOTSUPP
    if flags >= MAX_CLOCKS or flags not in CLOCKS:
        return -EINVAL
    if timer in rt.bpf.timers:
        return -EBUSY
    owner = rt.map(map_ptr)
    if not owner.users:
        return -EPERM
    rt.bpf.timers[timer] = BpfTimer(rt.bpf, owner, timer - owner.timer_off)
    rt.mem.write_uint(timer, 8, owner.address)
    return 0


@prototype(
    "timer_set_callback",
    170,
    "5.15",
    args="PTR_TO_TIMER PTR_TO_FUNC",
    flags="gpl_only",
    given="base_bpf",
)
def timer_set_callback(rt: Runtime, timer: int, function: int) -> int:
    if rt.host.in_nmi():
        return -EOPNOTSUPP
    found = _timer(rt, timer)
    if found is None:
        return -EINVAL
    if not found.map.users:
        return -EPERM
    if found.prog is not rt.prog:
        rt.prog.get()
        found.drop_prog()
        found.prog = rt.prog
    found.function = function
    return 0


@prototype(
    "timer_start",
    171,
    "5.15",
    args="PTR_TO_TIMER ANYTHING ANYTHING",
    flags="gpl_only",
    given="base_bpf",
)
def timer_start(rt: Runtime, timer: int, delay_ns: int, flags: int) -> int:
    if rt.host.in_nmi():
        return -EOPNOTSUPP
    found = _timer(rt, timer)
    if flags or found is None or found.prog is None:
        return -EINVAL
    found.start(delay_ns)
    return 0


@prototype(
    "timer_cancel",
    172,
    "5.15",
    args="PTR_TO_TIMER",
    flags="gpl_only",
    given="base_bpf",
)
def timer_cancel(rt: Runtime, timer: int) -> int:
    if rt.host.in_nmi():
        return -EOPNOTSUPP
    found = _timer(rt, timer)
    if found is None:
        return -EINVAL
    if found.running:
        return -EDEADLK
    found.drop_prog()
    return int(found.stop())
