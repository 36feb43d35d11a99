"""The kernel's text: every function of this version, laid out at boot, and how bodies call each other.

Bodies use canonical (declared) names; symbols carry the version's and the architecture's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from types import FunctionType
from typing import NamedTuple

from arch.abi.version import KernelVersion
from arch.architecture import Architecture
from arch.cpu import Cpu
from arch.errors import CorruptMemory
from arch.memory import KernelMemory
from arch.symbols import Symbols
from arch.text import KernelText
from arch.unwind import walk_frames
from simkernel.kernel.body import Call, Inlined
from simkernel.kernel.call_costs import CALL_NS
from simkernel.kernel.engine import CALLS, JUMPS, PLAIN, Engine
from simkernel.kernel.kfunc import KERNEL_FUNCTIONS, KernelFunction, Prototype, Syscall
from simkernel.kernel.syscalls import Syscalls
from simkernel.kernel.task import Task

# The order in which the kernel is linked: Makefile's core-y, libs-y, drivers-y, net-y.
LINKED = (
    "init",
    "arch",
    "kernel",
    "mm",
    "fs",
    "ipc",
    "security",
    "crypto",
    "block",
    "io_uring",
    "lib",
    "drivers",
    "sound",
    "net",
)
_RANKS = {folder: rank for rank, folder in enumerate(LINKED)}


def place_of(source: str) -> tuple[int, str]:
    """Where a source file's functions lie in the text: what is compiled together stays together, and files come folder by folder."""
    return _RANKS.get(source.partition("/")[0], len(LINKED)), source


class Function(NamedTuple):
    """What stands at a symbol of the text."""

    declared: KernelFunction | Syscall
    prototype: Prototype
    wrapped: bool  # a system call's wrapper: takes const struct pt_regs *


# .sched.text: what sleeps for others, which in_sched_functions() passes over
SCHED_TEXT = {
    "schedule", "__schedule", "schedule_timeout", "schedule_timeout_interruptible", "schedule_timeout_uninterruptible",
    "schedule_timeout_killable", "schedule_timeout_idle", "schedule_hrtimeout", "schedule_hrtimeout_range",
    "schedule_hrtimeout_range_clock", "schedule_preempt_disabled", "do_nanosleep", "io_schedule", "wait_for_completion",
    "wait_for_completion_timeout", "wait_for_completion_interruptible", "wait_for_completion_killable", "__wait_for_common",
    "__wait_on_bit", "__wait_on_bit_lock", "bit_wait", "bit_wait_io", "mutex_lock", "mutex_lock_interruptible",
    "mutex_lock_killable", "__mutex_lock_slowpath", "down_read", "down_write", "down_read_killable", "down_write_killable",
    "rwsem_down_read_slowpath", "rwsem_down_write_slowpath", "__down", "yield", "down_read_interruptible", "mutex_trylock",
    "mutex_unlock",
}  # fmt: skip


class Text:
    """`k.text`."""

    def __init__(
        self,
        engine: Engine,
        arch: Architecture,
        version: KernelVersion,
        mem: KernelMemory,
        symbols: Symbols,
        cpu: Cpu,
    ) -> None:
        self.engine, self.arch, self.version, self.mem, self.symbols, self.cpu = (
            engine, arch, version, mem, symbols, cpu,
        )  # fmt: skip
        self.image = KernelText(arch, mem, symbols, version)
        self.functions: dict[str, Function] = {}  # by symbol
        self.symbol_of: dict[str, str] = {}  # canonical name -> symbol
        self.probed: dict[str, int] = {}  # symbol -> how many probes are in the function, where there are any
        self.leaves: dict[str, Callable[..., int]] = {}  # callable without the CPU now, by canonical name
        self.all_leaves: dict[str, Callable[..., int]] = {}
        self.late: set[str] = set()  # symbols of add_late()
        self.when_probed: list[Callable[[], None]] = []  # called when probes come and go, and functions are replaced
        self._replaced: set[str] = set()
        self._by_index: dict[int, str] = {}
        self._canonical: dict[str, str] = {}
        self.jumping: set[str] = set()  # symbols of functions that end in a jump
        self._addresses: dict[str, int] = {}
        self._called: dict[str, int] = {}  # and of those that are really called
        traces = arch.traces
        self._inlined = traces.inlined if traces.recorded(version) else frozenset()  # by canonical name
        self._absent: dict[str, KernelFunction] = {}  # functions that this version has not as such
        self._narrow = arch.word == 4

    # -- at boot -------------------------------------------------------------------------------------------------

    def build(self, entry: Iterable[KernelFunction], syscalls: Syscalls) -> None:
        """Lay out every function of this version; compile how each is entered.  `entry`: the entry code's handlers."""
        functions = self.functions
        for function in entry:
            symbol = self.arch.own_names.get(function.name, function.name)
            functions[symbol] = Function(function, function.prototype, False)
            if symbol != function.name:
                self.symbol_of[function.name] = symbol
        for function in KERNEL_FUNCTIONS:
            if function.exists_in(self.version):
                symbol = self.arch.own_names.get(function.name) or function.name_in(self.version)
                self.symbol_of[function.name] = symbol
                functions.setdefault(symbol, Function(function, function.prototype, False))
        for name, call in syscalls.declared.items():
            symbol, wrapped = syscalls.symbol(name)
            functions[symbol] = Function(call, call.prototype, wrapped)
        names = sorted(functions, key=lambda name: (*place_of(functions[name].declared.source), name))
        if self.image.jumps():
            absent = {f.name for f in KERNEL_FUNCTIONS if not f.exists_in(self.version)} - self.symbol_of.keys()
            self.jumping = {name for name in names if _can_jump(functions[name].declared, absent)}
        indices = self.image.add_functions(names, jumping=self.jumping)
        self.image.add_entry(self.cpu)
        self._compile(names, indices)
        self._canonical = {symbol: canonical for canonical, symbol in self.symbol_of.items()}
        self._make_leaves()
        self._addresses = {canonical: self.image.address(symbol) for canonical, symbol in self.symbol_of.items()}
        for symbol in names:
            self._addresses.setdefault(symbol, self.image.address(symbol))
        for name, symbol in syscalls.symbols.items():
            found = functions[symbol]
            count = None if found.wrapped else self.engine.words_of(found.prototype)
            address = self.image.address(symbol)
            syscalls.table[syscalls.abi.numbers[name]] = (address, count, CALL_NS.get(name, 0))
            for other in syscalls.other_names(name):
                self.symbols.add(other, address, self.symbols[symbol].size)
                self._addresses[other] = address
                self.symbol_of[other] = symbol
        self._inline()

    def _compile(self, names: list[str], indices: list[int]) -> None:
        """Functions are compiled when first entered: most functions of a kernel are never reached in one run."""
        by_index = self._by_index = dict(zip(indices, names))
        engine = self.engine
        for name in names:
            engine.declare(name, self.image.address(name), self.functions[name].prototype.ret)

        def first(index: int, *args: int) -> int | tuple[int, ...]:
            if index not in by_index:
                raise CorruptMemory(f"a hypercall of function {index:#x}, which there is not")
            enter, count = self._compile_one(by_index[index])
            self.cpu.set_enter(index, enter, count)
            result: int | tuple[int, ...] = enter(*args[:count])
            return result

        self.cpu.on_enter = first
        self.cpu.on_resume = engine.make_resume()

    def replace(self, symbol: str, result: int) -> Callable[[], None]:
        """Let a function return at once, with its probes; what comes back undoes it.  For tests of who is attached there."""
        index = next(number for number, name in self._by_index.items() if name == symbol)
        enter, count = self._compile_one(symbol)

        def put(handler: Callable[..., int | tuple[int, ...]], replaced: bool) -> None:
            self.cpu.set_enter(index, handler, count)
            (self._replaced.add if replaced else self._replaced.discard)(symbol)
            self.probes_changed()

        put(lambda *args: result, True)
        return lambda: put(enter, False)

    def _compile_one(self, name: str) -> tuple[Callable[..., int | tuple[int, ...]], int]:
        """(enter, number of arguments it takes in registers)."""
        declared, prototype, wrapped = self.functions[name]
        shape = JUMPS if name in self.jumping else CALLS if declared.is_generator else PLAIN
        if wrapped:
            return self.engine.compile_wrapper(prototype, declared.body, shape, name), 1
        count = min(self.engine.words_of(prototype), self.engine.register_arguments)
        return self.engine.compile(prototype, declared.body, shape, name), count

    def _inline(self) -> None:
        """What this kernel's compiler made part of its callers is never called, whoever probes it."""
        self._called = {name: address for name, address in self._addresses.items() if name not in self._inlined}
        for name in sorted(self._inlined & self.symbol_of.keys()):
            declared = self.functions[self.symbol_of[name]].declared
            assert isinstance(declared, KernelFunction)
            self._absent[name] = declared

    def _make_leaves(self) -> None:
        """Plain functions that a body may call without the CPU, as a compiler inlines them; see set_probed()."""
        for canonical, symbol in self.symbol_of.items():
            declared, prototype, wrapped = self.functions[symbol]
            if not declared.is_generator and not wrapped:
                self.all_leaves[canonical] = partial(self._first_leaf, canonical, prototype, declared.body)
        self.leaves.update(self.all_leaves)

    def _first_leaf(self, canonical: str, prototype: Prototype, body: Callable[..., int], *args: int) -> int:
        """A leaf is compiled when it is first called."""
        leaf = self.all_leaves[canonical] = self.engine.compile_leaf(prototype, body)
        if canonical in self.leaves:
            self.leaves[canonical] = leaf
        return leaf(*args)

    def add_late(self, prototype: Prototype, body: Callable[..., int], size: int = 0) -> int:
        """A function that exists to be found and traced: it gets its place, at least `size` bytes, when it is first asked for; its address."""
        name = prototype.name
        declared = KernelFunction(name, prototype, body, "", is_generator=False)
        self.functions[name] = Function(declared, prototype, False)
        self.late.add(name)
        (index,) = self.image.add_functions([name], {name: size})
        self._by_index[index] = name
        address = self._addresses[name] = self._called[name] = self.image.address(name)
        self.symbol_of[name] = self._canonical[name] = name
        self.engine.declare(name, address, prototype.ret)
        return address

    # -- calling -------------------------------------------------------------------------------------------------

    def call(self, name: str, *args: int) -> Call:
        """A call of a function by its canonical name, to be yielded; a leaf's result is known at once."""
        leaf = self.leaves.get(name)
        if leaf is None:
            address = self._called.get(name)
            if address is None:
                return self._call_absent(name, args)
            if self._narrow:
                args = self.engine.split(self.functions[self.symbol_of.get(name, name)].prototype, args)
            elif self.probed and self.probed.get(symbol := self.symbol_of.get(name, name)):
                args = self.engine.passed(self.functions[symbol].prototype, args)
            return (address, *args)
        try:
            return leaf(*args)
        except TypeError:
            if len(args) == len(self.functions[self.symbol_of[name]].prototype.params):
                raise
            raise TypeError(f"{name}() called with {len(args)} arguments") from None

    def words(self, symbol: str, args: tuple[int, ...]) -> tuple[int, ...]:
        """A function's arguments as its caller puts them into registers and onto the stack."""
        prototype = self.functions[symbol].prototype
        return self.engine.split(prototype, args) if self._narrow else self.engine.passed(prototype, args)

    def _call_absent(self, name: str, args: tuple[int, ...]) -> Call:
        """A function that this version does not have as such: its body runs inside the caller."""
        declared = self._absent.get(name)
        if declared is None:
            declared = next((f for f in KERNEL_FUNCTIONS if f.name == name), None)
            if declared is None:
                raise KeyError(f"no kernel function {name}")
            self._absent[name] = declared
        if declared.is_generator:
            return Inlined(declared.body(self.engine.board, *args))
        leaf = self.leaves[name] = self.engine.compile_leaf(declared.prototype, declared.body)
        return leaf(*args)

    def address_of(self, name: str) -> int:
        """Address of a kernel function by its canonical name."""
        return self._addresses[name]

    # -- probes --------------------------------------------------------------------------------------------------

    def is_probed(self, name: str) -> bool:
        """A probe sits in this function (by its canonical name)."""
        return bool(self.probed) and bool(self.probed.get(self.symbol_of[name]))

    def is_called(self, name: str) -> bool:
        """The CPU really calls it, where others have made it part of its callers (by its canonical name)."""
        return name in self._called

    def has(self, name: str) -> bool:
        """This version has the function (by its canonical name)."""
        return name in self.symbol_of

    def any_probed(self, symbols: Iterable[str], names: Iterable[str]) -> bool:
        """A probe sits in one of these functions, by symbol or by canonical name, or something else stands there."""
        if not self.probed and not self._replaced:
            return False
        found = {*symbols, *(self.symbol_of.get(name, name) for name in names)}
        return any(map(self.probed.get, found)) or not found.isdisjoint(self._replaced)

    def any_replaced(self, symbols: Iterable[str], names: Iterable[str]) -> bool:
        """Something else stands in the place of one of these functions."""
        return any(name in self._replaced for name in (*symbols, *(self.symbol_of.get(name, name) for name in names)))

    def probes_changed(self) -> None:
        """Probes came, went, or have other handlers."""
        for listener in self.when_probed:
            listener()

    def set_probed(self, addr: int, probed: bool) -> None:
        """A function with a probe is really called, so that the probe is hit."""
        found = self.symbols.lookup(addr)
        if found is None:
            return
        symbol = found[0]
        count = self.probed.get(symbol, 0) + (1 if probed else -1)
        if count:
            self.probed[symbol] = count
        else:  # who asks whether any function has a probe gets the answer of before
            del self.probed[symbol]
        name = self._canonical.get(symbol)
        if name is not None and name in self.all_leaves and name not in self._inlined:
            if count:
                self.leaves.pop(name, None)
            else:
                self.leaves[name] = self.all_leaves[name]
        self.probes_changed()

    # -- looking -------------------------------------------------------------------------------------------------

    def stack_of(self, task: Task) -> list[str]:
        """`name+0x2a/0x40` of where the functions that a sleeping task is in go on, innermost first."""
        return [self.symbols.format(address) for address in self.stack_trace_save_tsk(task)]

    def stack_trace_save_tsk(self, task: Task) -> list[int]:
        """The same as addresses, without those of the scheduler itself."""
        return [address for address in self.sleeping(task) if self._name_at(address) not in SCHED_TEXT]

    def _name_at(self, address: int) -> str:
        found = self.symbols.lookup(address)
        return found[0] if found is not None else ""

    def sleeping(self, task: Task) -> list[int]:
        """Return addresses on the stack of a task that does not run, from the switch to another one outwards."""
        frame, word = self.image.facts.switch_frame, self.arch.word
        at = task.ksp
        if "fp" in frame:  # else the chain begins where the stack does
            at = self.mem.read_uint(at + frame.index("fp") * word, word)
        pc = self.mem.read_uint(task.ksp + frame.index("pc") * word, word)
        return [pc, *walk_frames(self.arch, self.mem, at)]

    def return_address(self) -> int:
        """__builtin_return_address(0) of the kernel function whose body runs: where its caller goes on."""
        row = self.cpu.layout.fields[self.arch.frame_pointer]
        return next(iter(walk_frames(self.arch, self.mem, self.cpu.read_reg(row.register or ""), 1)), 0)


def _can_jump(declared: KernelFunction | Syscall, absent: set[str]) -> bool:
    """Its call can be its end; not if this version lacks the callee, whose body runs inside then."""
    if not declared.jumps or not isinstance(declared.body, FunctionType):
        return False
    return absent.isdisjoint(declared.body.__code__.co_consts)
