"""kprobes and kretprobes.  kernel/kprobes.c, kernel/trace/rethook.c.

A probed address is a *site*.  Whenever the set of enabled probes at a site changes, one closure is built that does all
that a hit needs, and the host is told to run it at that address; nothing is looked up at the hit.

A hit while another probe is being handled on the same CPU runs no handler and counts in `nmissed`, as on Linux.

Return probes replace the return address at the function's first instruction by the trampoline's and keep the real one
in an instance, per task, newest first.  When a CPU arrives at the trampoline, the instances of that frame run and the
real address is given back.
"""

from __future__ import annotations

import ctypes
from bisect import bisect_right
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import replace

from arch.abi.errno import EINVAL, ENOENT
from arch.abi.kern_levels import KERN_INFO
from arch.errors import KernelError
from arch.native.handler import NativeHandler
from tracing.board import Board
from tracing.face import ProbeHandler
from tracing.probes import returns
from tracing.probes.neighbours import Neighbours, indifferent
from tracing.probes.returns import Instances
from tracing.probes.together import AT_MOST, together

KRETPROBE_MAXACTIVE_MAX = 4096
# Kprobe.kind
KPROBE, KRETPROBE = "k", "r"
TRAMPOLINE = "f"  # stands for fentry, fexit and their like
FPROBE = "m"  # stands for the many functions of a program


def seeing(entry: NativeHandler, end: NativeHandler | None) -> NativeHandler:
    """A return probe's entry handler, of which is known what the end's looks at."""
    if end is None:
        return replace(entry, at_return=None)
    return replace(
        entry, at_return=end.sight, elsewhere=end.elsewhere, guards=end.guards, shows_caller=end.shows_caller
    )


class Kprobe:
    """struct kprobe.  Give `symbol` (and `offset`) or `addr`; `pre_handler(regs)` runs at each hit."""

    __slots__ = (
        "addr", "disabled", "given_addr", "kind", "native", "neighbours_changed", "nmissed", "offset", "pre_handler",
        "registered", "stays", "symbol", "users", "words",
    )  # fmt: skip

    def __init__(
        self,
        pre_handler: Callable[[int], object],
        symbol: str | None = None,
        offset: int = 0,
        addr: int = 0,
        disabled: bool = False,
    ) -> None:
        self.pre_handler = pre_handler
        self.symbol = symbol
        self.offset = offset
        self.given_addr = addr
        self.addr = 0
        self.disabled = disabled
        self.nmissed = 0
        self.registered = False
        self.kind = KPROBE
        self.users: Callable[[], Sequence[str]] | None = (
            None  # a tracer's: functions of the struct ftrace_ops that it stands for
        )
        self.stays = False  # ftrace calls its struct ftrace_ops while it is disabled, too
        self.neighbours_changed: Callable[[], None] = indifferent  # who else is at its place is another
        self.native: NativeHandler | None = None  # the compiled form of pre_handler; see Kprobes.set_native()
        self.words: ctypes.Array[ctypes.c_uint64] | None = None  # of the return probe that this belongs to: returns.py

    @property
    def alone(self) -> bool:
        """While it is handled others on that CPU are missed, and it while others are; what stands for a use of ftrace is no kprobe."""
        return self.users is None and self.kind in (KPROBE, KRETPROBE)


class KretprobeInstance:
    """struct kretprobe_instance: one call under way."""

    __slots__ = ("data", "ret_addr", "rp")

    def __init__(self, rp: Kretprobe, ret_addr: int) -> None:
        self.rp = rp
        self.ret_addr = ret_addr
        self.data: object = None


class Kretprobe:
    """struct kretprobe.  `handler(instance, regs)` runs when the function returns.

    `entry_handler(instance, regs)`, if given, runs at entry; a true answer means this call is not of interest.
    `instances`: those that it shares with other functions of a struct fprobe; without them it gets `maxactive` of its own.
    """

    def __init__(
        self,
        handler: Callable[[KretprobeInstance, int], object],
        symbol: str | None = None,
        addr: int = 0,
        maxactive: int = 0,
        entry_handler: Callable[[KretprobeInstance, int], object] | None = None,
        disabled: bool = False,
        instances: Instances | None = None,
    ) -> None:
        self.handler = handler
        self.entry_handler = entry_handler
        self.maxactive = maxactive
        self.noted = 0  # arguments that the entry handler leaves in `data`, and that have room beside the row
        self.words = (ctypes.c_uint64 * returns.RP_WORDS)()
        self.shares = instances is not None
        self.use(instances or Instances(0))
        self.native: NativeHandler | None = None  # the compiled form of `handler`; see Kprobes.set_native_return()
        self.after: Callable[[int, int], object] = _nothing  # (pt_regs, return address): what that leaves to Python
        self.kp = Kprobe(lambda regs: None, symbol, 0, addr, disabled)
        self.kp.kind = KRETPROBE
        self.kp.words = self.words

    def use(self, instances: Instances) -> None:
        """The calls that it catches are these."""
        self.instances = instances
        self.words[returns.RP_INSTANCES] = instances.address

    @property
    def nmissed(self) -> int:
        """Calls not caught because all instances were in use."""
        return self.instances.missed


def _nothing(regs: int, ret_addr: int) -> None:
    """Of a return probe that has no compiled handler."""


class Kprobes:
    """All kernel probes of a machine."""

    def __init__(self, board: Board) -> None:
        self.board = board
        self.host = board.host
        self.layout = board.layout
        self.ip_field = self.host.arch.instruction_pointer
        self.sites: dict[int, list[Kprobe]] = {}
        self.armed: dict[int, ProbeHandler] = {}
        self.together: dict[int, list[Kprobe]] = {}  # the enabled probes of armed sites with several
        self.neighbours = Neighbours()
        self.running: list[Kprobe | None] = [None] * self.host.nr_cpus
        self.return_probes: dict[int, Kretprobe] = {}  # by the address of their words, while calls may be under way
        self.all_armed = True  # debugfs kprobes/enabled
        self.refused: Callable[[str], bool] = lambda name: False  # a function that is not for the probes of events
        self.traced: Callable[[str], bool] = lambda name: False  # the real kernel lists it for tracers
        self.black: Callable[[], Mapping[str, int]] = (
            dict  # name -> how often it is on the blacklist of the real kernel
        )
        # CONFIG_PREEMPTION decided, once
        self.many_instances = board.features.ten_kretprobe_instances or self.host.arch.traces.counts_preemption(
            self.host.version
        )
        self.ip_in_return_handlers = board.features.rethook or board.features.dynamic_events
        host = self.host
        self.returns = returns.Returns(
            host.arch, self.layout, host.block, host.return_trampoline, self.ip_in_return_handlers
        )
        self._return_handler_set = False
        self._starts: list[int] = []
        self._blacklist: list[tuple[int, int, str]] | None = None

    # Registration

    def resolve(self, kp: Kprobe) -> int:
        """_kprobe_addr(): a symbol or an address, not both, not neither."""
        if bool(kp.symbol) == bool(kp.given_addr):
            raise KernelError(EINVAL, "give a symbol or an address")
        if kp.symbol:
            addr = self.host.symbols.address(kp.symbol)
            if addr is None:
                raise KernelError(ENOENT, f"no symbol {kp.symbol}")
            return addr + kp.offset
        if self.board.features.rethook and self.host.symbols.lookup(kp.given_addr) is None:
            raise KernelError(ENOENT, f"no symbol covers {kp.given_addr:#x}")
        return kp.given_addr + kp.offset

    def blacklist(self) -> list[tuple[int, int, str]]:
        """(start, end, name), ascending."""
        if self._blacklist is None:
            self._blacklist = sorted(self.host.probe_blacklist())
            self._starts = [row[0] for row in self._blacklist]
        return self._blacklist

    def blacklisted(self, addr: int) -> str | None:
        """Name of the blacklisted function that covers `addr`."""
        rows = self.blacklist()
        index = bisect_right(self._starts, addr) - 1
        if index >= 0 and addr < rows[index][1]:
            return rows[index][2]
        found = self.host.symbols.lookup(addr)
        return found[0] if found is not None and found[0] in self.black() else None

    def check_address(self, addr: int) -> None:
        """check_kprobe_address_safe() and arch_prepare_kprobe()."""
        if not self.host.is_kernel_text(addr):
            raise KernelError(EINVAL, f"{addr:#x} is not kernel text")
        name = self.blacklisted(addr)
        if name is not None:
            raise KernelError(EINVAL, f"{name} is on the kprobe blacklist")
        found = self.host.symbols.lookup(addr)
        if found is not None and found[1]:
            facts = self.host.arch.traces
            if addr not in self.host.boundaries(found[0]):
                raise KernelError(facts.inside_instruction, f"{addr:#x} is inside an instruction")
            if found[1] == facts.ftrace_site:
                raise KernelError(EINVAL, f"{addr:#x} is ftrace's, which serves no kprobes here")

    def register(self, kp: Kprobe) -> None:
        """register_kprobe().  EINVAL, ENOENT, EILSEQ."""
        if kp.registered:
            raise KernelError(EINVAL, "already registered")
        addr = self.resolve(kp)
        self.check_address(addr)
        kp.addr = addr
        kp.nmissed = 0
        kp.registered = True
        if kp.words is not None:
            kp.words[returns.RP_REGISTERED] = True
        self.sites.setdefault(addr, []).insert(0, kp)  # add_new_kprobe(): the newest runs first
        self.neighbours.come(kp)
        several = self.together.get(addr)
        if kp.disabled:
            pass
        elif several is None:
            self._rearm(addr)
        else:
            several.insert(0, kp)
            self.host.aim(addr, self.armed[addr], self._native(several))
        self.neighbours.tell(kp, self.sites.get(kp.addr, ()))

    def unregister(self, kp: Kprobe) -> None:
        """unregister_kprobe(); one that is not registered is nothing."""
        if not kp.registered:
            return
        probes = self.sites[kp.addr]
        probes.remove(kp)
        kp.registered = False
        if kp.words is not None:
            kp.words[returns.RP_REGISTERED] = False
            address = ctypes.addressof(kp.words)
            instances = self.return_probes[address].instances
            instances.leaving.append(address)
            self._forget(instances)
        self.neighbours.go(kp, not probes)
        several = self.together.get(kp.addr, [])
        if len(several) > 2 and not kp.disabled:
            several.remove(kp)
            self.host.aim(kp.addr, self.armed[kp.addr], self._native(several))
        else:
            self._rearm(kp.addr)
        if not probes:
            del self.sites[kp.addr]
        self.neighbours.tell(kp, self.sites.get(kp.addr, ()))

    def enable(self, kp: Kprobe) -> None:
        """enable_kprobe(): while all are disarmed the probe stays disabled, also when they are armed again."""
        if not kp.registered:
            raise KernelError(EINVAL, "not registered")
        if kp.disabled and self.all_armed:
            kp.disabled = False
            self._rearm(kp.addr)
            self.neighbours.tell(kp, self.sites.get(kp.addr, ()))

    def disable(self, kp: Kprobe) -> None:
        """disable_kprobe()."""
        if not kp.registered:
            raise KernelError(EINVAL, "not registered")
        if not kp.disabled:
            kp.disabled = True
            self._rearm(kp.addr)
            self.neighbours.tell(kp, self.sites.get(kp.addr, ()))

    def listed(self, addr: int) -> bool:
        """Several struct ftrace_ops are at a function."""
        return self.neighbours.listed(addr, self.sites.get(addr, ()))

    def register_kretprobe(self, rp: Kretprobe) -> None:
        """register_kretprobe(): the address must be a function's entry."""
        addr = self.resolve(rp.kp)
        found = self.host.symbols.lookup(addr)
        if found is None or found[1]:
            raise KernelError(EINVAL, "a return probe needs a function's entry")
        if rp.maxactive <= 0:
            rp.maxactive = max(10, 2 * self.host.nr_cpus) if self.many_instances else self.host.nr_cpus
        if not self._return_handler_set:
            native = self.returns.return_handler(self._after_return) if self.returns.is_native else None
            self.host.set_return_handler(self.return_handler, native)
            self._return_handler_set = True
        if not rp.shares:
            rp.use(Instances(rp.maxactive))
        rp.kp.pre_handler = self._entry_closure(rp)
        if self.returns.is_native and rp.entry_handler is None:
            rp.kp.native = self._entry_handler(rp, 0)
        self.return_probes[ctypes.addressof(rp.words)] = rp
        self.register(rp.kp)

    def unregister_kretprobe(self, rp: Kretprobe) -> None:
        """Calls under way still return properly: their instances stay, without a handler to run."""
        self.unregister(rp.kp)

    def _forget(self, instances: Instances) -> None:
        """Return probes that are gone and have no calls under way need not be found any more."""
        if instances.leaving and instances.free == instances.size:
            for address in instances.leaving:
                if not self.return_probes[address].kp.registered:
                    del self.return_probes[address]
            instances.leaving.clear()

    # Hits

    def _rearm(self, addr: int) -> None:
        """Build the closure for the enabled probes of a site and (dis)arm it."""
        old = self.armed.pop(addr, None)
        if old is not None:
            self.host.disarm(addr, old)
        self.together.pop(addr, None)
        probes = [kp for kp in self.sites.get(addr, ()) if not kp.disabled]
        if probes and self.all_armed:
            handler = self._single(probes[0]) if len(probes) == 1 else self._aggregate(probes)
            self.armed[addr] = handler
            if len(probes) > 1:
                self.together[addr] = probes
            self.host.arm(addr, handler, self._native(probes))

    def _native(self, probes: list[Kprobe]) -> NativeHandler | None:
        """The compiled form of a site's closure.

        It needs no guard against hits inside of hits: it runs between two instructions of the CPU, when no other probe is
        being handled, and calls nothing that could hit one.
        """
        if len(probes) == 1:
            return probes[0].native
        if len(probes) > AT_MOST:
            return None
        probes = list(probes)  # of now

        def run(index: int, regs: int) -> object:
            kp = probes[index]
            return self.guarded(kp, kp.pre_handler)(regs)

        return together([kp.native for kp in probes], self.host.block, self.host.mem.byteorder == "big", run)

    def guarded(self, kp: Kprobe, handler: Callable[[int], object]) -> ProbeHandler:
        """What a compiled handler leaves to Python, run as a handler of this probe."""
        running, cpu_id = self.running, self.host.cpu_id
        if not kp.alone:
            return handler

        def rest(regs: int) -> object:
            cpu = cpu_id()
            running[cpu] = kp
            try:
                return handler(regs)
            finally:
                running[cpu] = None

        return rest

    def set_native(self, kp: Kprobe, native: NativeHandler | None) -> None:
        """A probe's handler has another compiled form from now on, or none."""
        if kp.native is native:
            return
        kp.native = native
        handler = self.armed.get(kp.addr) if kp.registered and not kp.disabled else None
        if handler is not None:
            self.host.aim(kp.addr, handler, self._native(self.together.get(kp.addr, [kp])))

    def _single(self, kp: Kprobe) -> ProbeHandler:
        running, cpu_id, pre_handler = self.running, self.host.cpu_id, kp.pre_handler
        if not kp.alone:
            return pre_handler

        def hit(regs: int) -> object:
            cpu = cpu_id()
            if running[cpu] is not None:
                kp.nmissed += 1
                return None
            running[cpu] = kp
            try:
                return pre_handler(regs)
            finally:
                running[cpu] = None

        return hit

    def _aggregate(self, probes: list[Kprobe]) -> ProbeHandler:
        running, cpu_id = self.running, self.host.cpu_id

        def hit(regs: int) -> object:
            cpu = cpu_id()
            if running[cpu] is not None:
                for kp in probes:
                    kp.nmissed += 1
                return None
            changed: object = None
            try:
                for kp in tuple(probes):  # those of now: a handler may register another
                    running[cpu] = kp if kp.alone else None
                    changed = kp.pre_handler(regs) or changed
            finally:
                running[cpu] = None
            return changed

        return hit

    def hit_within(self, kp: Kprobe, regs: int) -> None:
        """A hit while others may be handled on this CPU: then it is missed, unless it stands for a use of ftrace."""
        running, cpu = self.running, self.host.cpu_id()
        before = running[cpu]
        if before is not None and kp.alone:
            kp.nmissed += 1
            return
        running[cpu] = kp if kp.alone else None
        try:
            kp.pre_handler(regs)
        finally:
            running[cpu] = before

    # Return probes

    def _entry_closure(self, rp: Kretprobe) -> Callable[[int], object]:
        """pre_handler_kretprobe() with everything bound."""
        arch, mem, layout = self.host.arch, self.host.mem, self.layout
        trampoline, host, rows = self.host.return_trampoline, self.host, self.returns
        entry_handler, words = rp.entry_handler, ctypes.addressof(rp.words)
        task_number, current_task = host.task_number, host.current_task

        def entry(regs: int) -> object:
            if not rp.instances.take(not rows.full):
                return None
            instance = KretprobeInstance(rp, arch.return_address(mem, regs, layout))
            if entry_handler is not None and entry_handler(instance, regs):
                rp.instances.give()
                return None
            arch.set_return_address(mem, regs, trampoline, layout)
            if rp.noted and isinstance(instance.data, tuple):
                rows.push(task_number(current_task()), words, instance.ret_addr, None, instance.data)
            else:
                rows.push(task_number(current_task()), words, instance.ret_addr, instance.data)
            return True

        return entry

    def return_handler(self, regs: int) -> int:
        """A function returned through the trampoline; give the real return address.

        6.1 shows handlers the real address in pt_regs, 4.1 the trampoline's.
        """
        frame = self._returning_frame()
        if not frame:
            raise RuntimeError("the return trampoline was reached without an instance")
        real = frame[-1][1].ret_addr
        if self.ip_in_return_handlers:
            self.layout.set(self.host.mem, regs, self.ip_field, real)
        cpu = self.host.cpu_id()
        before = self.running[cpu]
        try:
            for _, instance in frame:
                rp = instance.rp
                if not self.board.features.rethook:  # since then, each sees what it had replaced
                    instance.ret_addr = real
                self.running[cpu] = rp.kp if rp.kp.alone else before
                if rp.kp.registered:  # even if disabled since: the call was caught
                    rp.handler(instance, regs)
        finally:
            self.running[cpu] = before
            for serial, instance in frame:
                self.returns.forget(serial)
                instance.rp.instances.give()
                self._forget(instance.rp.instances)
        return real

    def _returning_frame(self) -> list[tuple[int, KretprobeInstance]]:
        """The instances of the function that returns, newest first, with their serial numbers.

        They stay on the stack while handlers run, which may look at it.
        """
        trampoline = self.host.return_trampoline
        frame: list[tuple[int, KretprobeInstance]] = []
        for row in self.returns.of(self.host.task_number(self.host.current_task())):
            serial, address, ret_addr, data = self.returns.read(row)
            rp = self.return_probes[address]
            instance = KretprobeInstance(rp, ret_addr)
            instance.data = self.returns.arguments(row, rp.noted) if rp.noted else data
            frame.append((serial, instance))
            if ret_addr != trampoline:
                break
        return frame

    def _after_return(self, regs: int) -> None:
        """What the compiled form of return_handler() leaves to Python."""
        words = self.returns.words
        rp, real = self.return_probes[words[returns.LAST_RP]], words[returns.LAST_RET]
        self.guarded(rp.kp, lambda regs: rp.after(regs, real))(regs)
        self.layout.set(self.host.mem, regs, self.ip_field, real)

    def set_native_return(
        self, rp: Kretprobe, native: NativeHandler | None, after: Callable[[int, int], object]
    ) -> None:
        """A return probe's handler has another compiled form from now on, or none."""
        rp.words[returns.RP_FUNCTION] = 0
        rp.native, rp.after = native, after
        if native is not None:
            rp.words[returns.RP_DATA] = native.data
            rp.words[returns.RP_FUNCTION] = native.function
        if rp.kp.native is not None:
            self.set_native(rp.kp, seeing(rp.kp.native, native))

    def note_natively(self, rp: Kretprobe, natively: bool) -> None:
        """A return probe whose entry handler does nothing but note the arguments: from now on compiled, or not."""
        self.set_native(rp.kp, self._entry_handler(rp, rp.noted) if natively else None)

    def _entry_handler(self, rp: Kretprobe, noted: int) -> NativeHandler:
        """The compiled form of a return probe's entry."""
        made = self.returns.entry_handler(rp.words, noted)
        return seeing(made, rp.native)

    def return_value(self, regs: int) -> int:
        """What a function that returned with these registers answered."""
        return self.layout.get(self.host.mem, regs, self.host.arch.return_value)

    def real_return_address(self, task: Hashable, depth: int = 0) -> int | None:
        """For stack walks: what the trampoline's address in a frame stands for, `depth` frames with it from the top."""
        words, trampoline = self.returns.words, self.host.return_trampoline
        found = [words[row + returns.RET] for row in self.returns.of(self.host.task_number(task))]
        reals = [address for address in found if address != trampoline]
        return reals[depth] if depth < len(reals) else None

    def task_exit(self, task: Hashable) -> None:
        """kprobe_flush_task(): a task is gone with calls still under way."""
        for row in self.returns.of(self.host.task_number(task)):
            serial, address, _, _ = self.returns.read(row)
            self.returns.forget(serial)
            rp = self.return_probes[address]
            rp.instances.give()
            self._forget(rp.instances)

    # debugfs kprobes/

    def set_all_armed(self, on: bool) -> None:
        """kprobes/enabled."""
        if on != self.all_armed:
            self.all_armed = on
            self.host.pr(KERN_INFO, f"kprobes: Kprobes globally {'enabled' if on else 'disabled'}")
            for addr in list(self.sites):
                self._rearm(addr)

    def on_ftrace(self, kp: Kprobe) -> bool:
        """The probe sits on the function's ftrace site."""
        found = self.host.symbols.lookup(kp.addr)
        return found is not None and self.host.arch.kprobe_by_ftrace(found[1], self.host.version)

    def list_lines(self) -> Iterator[str]:
        """debugfs kprobes/list; kprobes.c:report_probe()."""
        for probes in self.sites.values():
            for kp in probes:
                if not kp.alone:
                    continue
                found = self.host.symbols.lookup(kp.addr)
                name, offset = (found[0], found[1]) if found else (f"{kp.addr:#x}", 0)
                line = f"{kp.addr:0{2 * self.board.word}x}  {kp.kind}  {name}+0x{offset:x}    "
                line += "[DISABLED]" if kp.disabled else ""
                line += "[FTRACE]" if self.on_ftrace(kp) else ""
                yield line + "\n"

    def blacklist_lines(self) -> Iterator[str]:
        """debugfs kprobes/blacklist."""
        symbols, rows = self.host.symbols, list(self.blacklist())
        times = self.black()
        rows += [row for row in rows for _ in range(times.get(row[2], 1) - 1)]
        for name in times.keys() - {row[2] for row in rows}:
            start = symbols.address(name)
            if start is not None:
                found = symbols.lookup(start)
                rows += [(start, start + (found[2] if found else 0), name)] * times[name]
        for start, end, name in sorted(rows):
            yield f"0x{start:0{2 * self.board.word}x}-0x{end:0{2 * self.board.word}x}\t{name}\n"
