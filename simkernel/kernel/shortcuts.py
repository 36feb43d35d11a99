"""Hot system calls without kernel text and without Python, while nobody can tell the difference.

A row is the whole of a call as a native function (arch/native/subset.py), which the hook of the system-call instruction calls.
It looks at the same objects as the bodies do, moves the clock by what they and the way to them would have cost, counts
what they count, and declines before it has changed anything: when the clock would reach a deadline, when there is work to do
before user mode, when it meets a case that is the body's.  So a run is the same to the byte, whichever of them served it.

A row is out of use while a function on its way has a probe that cannot be visited from there (visits.py; `Shortcuts.changed()`),
while someone traces or straces system calls, and until the call has been made HOT_CALLS times: compiling is dearer than those.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Sequence
from functools import cache

from arch.abi.limits import U32_MAX
from arch.abi.time import (
    CLOCK_BOOTTIME,
    CLOCK_MONOTONIC,
    CLOCK_REALTIME,
    NSEC_PER_SEC,
)
from arch.cpu import Cpu
from arch.native.block import Word
from arch.native.handler import Tier, chosen_tier
from arch.native.library import Library
from arch.native.slots import slot_address, slot_offset
from arch.native.subset import (
    NativeFunction,
    Words,
    as_uint,
    decline,
    native,
    set_uint,
    shared,
    store32,
    store64,
)
from arch.native.walk import user_writable
from arch.records import dataclass
from simkernel.kernel.clock import Clock
from simkernel.kernel.cpus import NS_PER_WORK, Cpus
from simkernel.kernel.engine import HYPERCALL_NS
from simkernel.kernel.syscalls import MAX_COUNTED, SYSCALL_NS, Syscalls
from simkernel.kernel.task import Cred, Task
from simkernel.kernel.text import Text
from simkernel.kernel.tracepoints import Tracepoints
from simkernel.kernel.visits import LIMIT, NUMBER, REGS, ZERO, A, B, C, Listener, Step, Walk, arrive, depart

HOT_CALLS = {Tier.AUTO: 100, Tier.NATIVE: 1, Tier.PYTHON: 0}

# Where objects hold what native code reads.
WORK, SYSCALL_WORK, SYSCALL_NR = (slot_offset(Task, name) for name in ("work", "syscall_work", "syscall_nr"))
PID, TGID, REAL_PARENT = (slot_offset(Task, name) for name in ("pid", "tgid", "real_parent"))
UTIME, CRED, PTRACER = (slot_offset(Task, name) for name in ("utime_ns", "cred", "ptracer"))
UID, EUID, GID, EGID = (slot_offset(Cred, name) for name in ("uid", "euid", "gid", "egid"))

# Words of a row: ns until the last body begins and in all, on its way, on the other one and on the unprobed one; addresses of the counts of calls, of
# references to the deadline, to `active` of sys_enter and sys_exit, to strace; None; the size of a long; a reference to the
# clock's offset; the words of who is visited on these ways, or 0; then the row's own.
(
    BODY, COST, OTHER_BODY, OTHER_COST, UNPROBED_BODY, UNPROBED_COST, COUNTS, DEADLINE, ENTERED, LEFT, STRACE, NONE, LONG, REALTIME,
    WALK, OTHER_WALK, UNPROBED_WALK, OWN,
) = range(18)  # fmt: skip


@native
def at(m: Words) -> int:
    """What a place holds."""
    return m[0]


@native
def raise_count(m: Words) -> int:
    m[0] += 1
    return 0


@native
def begin(s: Words, cost: int) -> int:
    """do_syscall_64() until the call, which costs so many ns: the time when user mode was left."""
    task = shared[Word.TASK]
    if as_uint(at(task + WORK)) or as_uint(at(task + SYSCALL_WORK)) or at(task + PTRACER) != s[NONE]:
        decline()  # a tracer may let it go by single steps
    if at(s[STRACE]) != s[NONE] or (not s[WALK] and (as_uint(at(s[ENTERED])) or as_uint(at(s[LEFT])))):
        decline()
    pending = (shared[Word.WORK] - shared[Word.WORK_SEEN]) * NS_PER_WORK
    now = as_uint(at(shared[Word.CLOCK])) + pending // shared[Word.BUSY_CPUS]
    if now + cost >= as_uint(at(s[DEADLINE])):
        decline()
    return now


@native
def end(s: Words, nr: int, now: int, cost: int) -> int:
    """What the way in and out leaves behind."""
    task = shared[Word.TASK]
    set_uint(shared[Word.CLOCK], now + cost)
    pending = (shared[Word.WORK] - shared[Word.WORK_SEEN]) * NS_PER_WORK
    if pending:
        shared[Word.WORK_SEEN] = shared[Word.WORK]
        set_uint(task + UTIME, as_uint(at(task + UTIME)) + pending)
    if as_uint(at(task + SYSCALL_NR)) != nr:
        set_uint(task + SYSCALL_NR, nr)
    raise_count(s[COUNTS] + 8 * nr)
    return 0


@native
def user_place(address: int, size: int) -> int:
    """Kernel address of some bytes of one user page that may be written; declines where a fault would be taken, or where
    translated code has to go.
    """
    place = user_writable(address, size)
    if not place:
        decline()
    return place


# -- the calls: number of the call, its first three arguments --------------------------------------------------------------


@native
def known(s: Words, nr: int, result: int) -> int:
    """A call without arguments that changes nothing."""
    now = begin(s, s[COST])
    arrive(s[WALK], now, nr, 0, 0, 0, 0, 0)
    depart(s[WALK], now, result)
    end(s, nr, now, s[COST])
    return result


@native
def getpid(s: Words, nr: int, a: int, b: int, c: int) -> int:
    return known(s, nr, as_uint(at(shared[Word.TASK] + TGID)))


@native
def gettid(s: Words, nr: int, a: int, b: int, c: int) -> int:
    return known(s, nr, as_uint(at(shared[Word.TASK] + PID)))


@native
def getppid(s: Words, nr: int, a: int, b: int, c: int) -> int:
    return known(s, nr, as_uint(at(at(shared[Word.TASK] + REAL_PARENT) + TGID)))


@native
def cred_id(s: Words, nr: int, which: int) -> int:
    """A user or group id of the current task."""
    return known(s, nr, as_uint(at(at(shared[Word.TASK] + CRED) + which)))


@native
def getuid(s: Words, nr: int, a: int, b: int, c: int) -> int:
    return cred_id(s, nr, UID)


@native
def geteuid(s: Words, nr: int, a: int, b: int, c: int) -> int:
    return cred_id(s, nr, EUID)


@native
def getgid(s: Words, nr: int, a: int, b: int, c: int) -> int:
    return cred_id(s, nr, GID)


@native
def getegid(s: Words, nr: int, a: int, b: int, c: int) -> int:
    return cred_id(s, nr, EGID)


@native
def put_pair(place: int, size: int, first: int, second: int) -> int:
    """struct timespec or timeval."""
    if size == 8:
        store64(place, first)
        store64(place + 8, second)
    else:
        store32(place, first)
        store32(place + 4, second)
    return 0


@native
def gettime(s: Words, nr: int, which: int, tp: int, size: int) -> int:
    """clock_gettime() of the clocks that need no accounting."""
    now = begin(s, s[COST])
    clock = which & U32_MAX
    if clock != CLOCK_REALTIME and clock != CLOCK_MONOTONIC and clock != CLOCK_BOOTTIME:
        decline()
    place = user_place(tp, 2 * size)
    time = now + s[BODY]
    if clock == CLOCK_REALTIME:
        time += as_uint(at(s[REALTIME]))
    arrive(s[WALK], now, nr, which, tp, 0, 0, 0)
    put_pair(place, size, time // NSEC_PER_SEC, time % NSEC_PER_SEC)
    depart(s[WALK], now, 0)
    end(s, nr, now, s[COST])
    return 0


@native
def clock_gettime(s: Words, nr: int, which: int, tp: int, c: int) -> int:
    return gettime(s, nr, which, tp, s[LONG])


@native
def clock_gettime64(s: Words, nr: int, which: int, tp: int, c: int) -> int:
    return gettime(s, nr, which, tp, 8)


@native
def gettimeofday(s: Words, nr: int, tv: int, tz: int, c: int) -> int:
    now = begin(s, s[COST])
    if not tv or tz:
        decline()
    place = user_place(tv, 2 * s[LONG])
    time = now + s[BODY] + as_uint(at(s[REALTIME]))
    arrive(s[WALK], now, nr, tv, tz, 0, 0, 0)
    put_pair(place, s[LONG], time // NSEC_PER_SEC, time % NSEC_PER_SEC // 1000)
    depart(s[WALK], now, 0)
    end(s, nr, now, s[COST])
    return 0


# -- rows ------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Way:
    """Kernel functions behind the system call's own: `calls` are made by the CPU, `leaf` is run by its caller unless it has a
    probe.  Calls that a version does not have are not on its way.
    """

    calls: tuple[str, ...] = ()
    leaf: str = ""
    leaf_is_one: bool = False  # whatever the row answers, the leaf is on its way
    arguments: tuple[
        tuple[int, ...], ...
    ] = ()  # values (visits.py) that `calls` and the leaf get, where they are known


@dataclass(frozen=True)
class Shortcut:
    """A row: the call, the function, the way of the bodies, or two of them; where one of `others` has a probe there are more
    calls.  On a third way the function goes only while no kernel function at all has a probe.
    """

    call: str
    function: NativeFunction
    way: Way = Way()
    other_way: Way = Way()
    unprobed_way: Way = Way()
    others: tuple[str, ...] = ()
    behind: tuple[str, ...] = ()  # what the third way calls and comes back from
    words: Callable[[], Sequence[int]] = tuple  # the row's own
    visits: bool = True  # the function calls arrive() and depart()

    def functions(self) -> Iterator[str]:
        """Kernel functions on its ways."""
        yield from (*self.way.calls, self.way.leaf, *self.other_way.calls, self.other_way.leaf, *self.others)
        yield from (*self.unprobed_way.calls, self.unprobed_way.leaf, *self.behind)


ROWS = [
    Shortcut("getpid", getpid),
    Shortcut("gettid", gettid),
    Shortcut("getppid", getppid),
    Shortcut("getuid", getuid),
    Shortcut("geteuid", geteuid),
    Shortcut("getgid", getgid),
    Shortcut("getegid", getegid),
    Shortcut("clock_gettime", clock_gettime),
    Shortcut("clock_gettime64", clock_gettime64),
    Shortcut("gettimeofday", gettimeofday),
]


# What namespaces of users, pids and time change: its body knows them.
IN_NAMESPACES = frozenset(
    ("getpid", "gettid", "getppid", "getuid", "geteuid", "getgid", "getegid", "clock_gettime", "clock_gettime64")
)


@cache
def library(big_endian: bool, rows: tuple[NativeFunction, ...]) -> Library:
    """Compiled when the first call is hot."""
    return Library(rows, big_endian)


class Shortcuts:
    """The rows of one machine, and which of them are in use."""

    def __init__(
        self, cpu: Cpu, cpus: Cpus, clock: Clock, text: Text, syscalls: Syscalls, tracepoints: Tracepoints,
        on_the_way: Sequence[str],
    ) -> None:  # fmt: skip
        """`on_the_way`: the functions between the entry code and the calls."""
        self.cpu, self.text, self.syscalls = cpu, text, syscalls
        self.on_the_way = [text.symbol_of.get(name, name) for name in on_the_way]
        self.rows: dict[str, Shortcut] = {}
        self.ended: frozenset[str] = frozenset()
        self.points = enter, leave = tracepoints.slot("sys_enter"), tracepoints.slot("sys_exit")
        self.common = [
            ctypes.addressof(syscalls.counts.words), slot_address(cpus, "deadline"), slot_address(enter, "active"),
            slot_address(leave, "active"), slot_address(syscalls, "strace"), id(None), cpu.arch.word,
            slot_address(clock, "realtime_offset_ns"),
        ]  # fmt: skip
        self.used: dict[str, ctypes.Array[ctypes.c_uint64]] = {}  # by call: its words
        self.walks: dict[str, tuple[Walk, ...]] = {}  # by call: who is visited on its ways
        self.table = (ctypes.c_uint64 * (2 * MAX_COUNTED))()
        syscalls.namespaced = self.end_plain_ids
        hot = HOT_CALLS[chosen_tier()]
        if hot and not cpus.kernel_works and cpu.words[Word.SYSCALL_IDS]:
            syscalls.counts.hot, syscalls.counts.when_hot = hot, self.use
            text.when_probed.append(self.changed)
            enter.changed = leave.changed = self.changed
            cpu.words[Word.SYSCALLS_SIZE] = MAX_COUNTED
            cpu.words[Word.SYSCALLS] = ctypes.addressof(self.table)

    def add(self, rows: Sequence[Shortcut]) -> None:
        """At boot."""
        self.rows.update({row.call: row for row in rows if row.call in self.syscalls.symbols})

    def use(self, nr: int) -> None:
        """A call has become hot."""
        name = self.syscalls.names.get(nr, "")
        row = self.rows.get(name)
        if row is not None and name not in self.used and name not in self.ended:
            words = (*[0] * COUNTS, *self.common, 0, 0, 0, *row.words())
            self.walks[name] = tuple(Walk(self.cpu, self.text) for _ in range(3))
            self.used[name] = (ctypes.c_uint64 * len(words))(*(word & (1 << 64) - 1 for word in words))
            self.changed()

    def _visit(self, name: str, row: Shortcut, words: ctypes.Array[ctypes.c_uint64]) -> bool:
        """Visit who has a probe on the row's ways; False if that cannot be done."""
        way = (*self.on_the_way, self.syscalls.symbols[name])
        if not row.visits or self.text.any_probed((), row.others) or self.text.any_replaced(way, row.functions()):
            return False
        if any(self._is_called(way) and not way.leaf_is_one for way in (row.way, row.other_way)):
            return False
        leave, nr = self.points[1], self.syscalls.abi.numbers[name]
        if leave.active and any(native is None or nr in native.by_python for _, native in leave.listeners):
            return False  # Python may look at the stack, of which the hook shows nothing at a call's end
        ways = [row.way, row.other_way]
        if not self.text.probed:  # else nobody goes that way
            ways.append(row.unprobed_way)
        found = [
            walk.aim(self._steps(name, part), self._listeners(part), len(self.on_the_way))
            for walk, part in zip(self.walks[name], ways)
        ]
        if None in found:
            return False
        words[WALK : WALK + len(found)] = [walk or 0 for walk in found]
        return True

    def _listeners(self, way: Way) -> list[Listener]:
        """Of sys_enter, and those of sys_exit from the last one on."""
        enter, leave = self.points
        begins, half = SYSCALL_NS + HYPERCALL_NS * len(self.on_the_way), HYPERCALL_NS >> 1
        ends = self._costs(way)[1] - half * (len(self.on_the_way) - 1)
        out = [Listener(callback, native, False, begins) for callback, native in enter.listeners if enter.active]
        out += [
            Listener(callback, native, True, ends) for callback, native in reversed(leave.listeners) if leave.active
        ]
        return out

    def _steps(self, name: str, way: Way) -> list[Step]:
        """The functions of a way, with their times."""
        text, symbol_of = self.text, self.text.symbol_of
        symbols, arguments = [*self.on_the_way, self.syscalls.symbols[name]], []
        for i, symbol in enumerate(self.on_the_way):
            count = 2 if i == 0 else len(text.functions[symbol].prototype.params)
            arguments.append((REGS, NUMBER, LIMIT, ZERO)[:count])
        found = text.functions[symbols[-1]]
        arguments.append((REGS,) if found.wrapped else (A, B, C)[: text.engine.words_of(found.prototype)])
        for i, call in enumerate((*way.calls, *((way.leaf,) if self._is_called(way) else ()))):
            if text.has(call):
                symbols.append(symbol_of[call])
                arguments.append(way.arguments[i] if i < len(way.arguments) else ())
        begins, now, half = [], 0, HYPERCALL_NS >> 1
        last = len(symbols) - 1
        for i, symbol in enumerate(symbols):
            now += SYSCALL_NS if i == len(self.on_the_way) else 0
            begins.append(now)
            now += HYPERCALL_NS + (half if symbol in text.jumping and i != last else 0)
        now += HYPERCALL_NS if self._has_leaf(way) and not self._is_called(way) else 0
        steps = []
        for i in range(last, -1, -1):
            as_it_was = i <= len(self.on_the_way) or symbols[i].startswith("ksys_")  # then a file's count is raised
            caller = next((symbol for symbol in reversed(symbols[:i]) if symbol not in text.jumping), "")
            steps.append(Step(symbols[i], arguments[i], begins[i], now, caller, as_it_was))
            now += 0 if i and symbols[i - 1] in text.jumping else half
        return steps[::-1]

    def _is_called(self, way: Way) -> bool:
        """The leaf has a probe."""
        return self._has_leaf(way) and self.text.is_probed(way.leaf)

    def _has_leaf(self, way: Way) -> bool:
        """There is one in this version."""
        return bool(way.leaf) and self.text.has(way.leaf)

    def _costs(self, way: Way) -> tuple[int, int]:
        """ns until the last function's body, and in all: each function but the last is resumed by its callee's return."""
        calls = [call for call in way.calls if self.text.has(call)]
        entered = len(self.on_the_way) + 1 + len(calls) + self._has_leaf(way)
        body = SYSCALL_NS + HYPERCALL_NS * entered
        return body, body + (HYPERCALL_NS >> 1) * (len(self.on_the_way) + len(calls) + self._is_called(way))

    def end_plain_ids(self) -> None:
        """A namespace of users, pids or time was made: who one is, and when, is no longer the same for all."""
        self.ended = IN_NAMESPACES
        for name in IN_NAMESPACES & self.used.keys():
            del self.used[name]
            self.table[2 * self.syscalls.abi.numbers[name]] = 0

    def changed(self) -> None:
        """Probes or listeners came or went, or have other handlers."""
        syscalls, numbers = self.syscalls, self.syscalls.abi.numbers
        for name, words in self.used.items():
            row, nr = self.rows[name], numbers[name]
            way = (*self.on_the_way, syscalls.symbols[name])
            words[WALK] = words[OTHER_WALK] = words[UNPROBED_WALK] = 0
            for walk in self.walks[name]:
                walk.shows = False
            words[BODY], words[COST] = self._costs(row.way)
            words[OTHER_BODY], words[OTHER_COST] = self._costs(row.other_way)
            words[UNPROBED_BODY], words[UNPROBED_COST] = self._costs(row.unprobed_way)
            seen = self.text.any_probed(way, row.functions()) or any(point.active for point in self.points)
            seen = seen and not self._visit(name, row, words)
            code = library(
                self.cpu.arch.byteorder == "big", tuple(dict.fromkeys(row.function for row in self.rows.values()))
            )
            self.table[2 * nr + 1] = ctypes.addressof(words)
            self.table[2 * nr] = 0 if seen else code.address[row.function.name]
        listeners = [native for point in self.points if point.active for _, native in point.listeners]
        shown = any(native is None or native.sight is None for native in listeners)
        self.cpu.words[Word.SHOWN] = shown or any(walk.shows for pair in self.walks.values() for walk in pair)
