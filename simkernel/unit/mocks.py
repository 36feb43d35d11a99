"""What helpers answer: fixed results, failures, the n-th call only; and states of the machine that are hard to arrange.

    m.mocks.helper("bpf_ktime_get_ns", each=[10, 25, 70])
    with m.mocks.helper("bpf_probe_read_kernel", fail=EFAULT, on_call=3) as reads: ...
    m.mocks.clock(at=1_000_000, step=50); m.mocks.cpu(3); m.mocks.random(7); m.mocks.current(pid=12, comm="victim")
    m.mocks.no_user_memory(); m.mocks.map_full("seen"); m.mocks.ring_full("events")

The first mock has to be asked for before a program is loaded: from then on programs are loaded as on a kernel without a JIT, so
that every helper is a call that can be answered (with one, some are inlined).
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType

from arch.abi.errno import E2BIG, EAGAIN, EFAULT, EINVAL, ENOSPC, errno_name
from arch.abi.limits import U32_MAX
from arch.cview import View
from arch.errors import Fault
from bpf import uapi
from bpf.board import Bpf
from bpf.helpers import HELPERS, load_all
from bpf.helpers.dynptr import clear_dynptr
from bpf.maps.base import BpfMap
from bpf.maps.hash import HashMap
from bpf.maps.queue import QueueMap
from bpf.maps.rows import MAP_TYPES
from bpf.run.interpreter import Registers

REGISTER_MASK = (1 << 64) - 1
Call = Callable[[Registers], int]
Respond = Callable[[Registers], int | None]  # of a call: the answer, None for the real helper's

# What leaves zeros where it was to write when it fails (R1, R2 bytes; since 4.12), and whether it reads user memory.
READERS = {
    "bpf_probe_read": True,
    "bpf_probe_read_str": True,
    "bpf_probe_read_user": True,
    "bpf_probe_read_user_str": True,
    "bpf_copy_from_user": True,
    "bpf_copy_from_user_task": True,
    "bpf_probe_read_kernel": False,
    "bpf_probe_read_kernel_str": False,
}
EITHER = ("bpf_probe_read", "bpf_probe_read_str")
CLOCKS = ("bpf_ktime_get_ns", "bpf_ktime_get_boot_ns", "bpf_ktime_get_coarse_ns", "bpf_ktime_get_tai_ns")


class MockError(ValueError):
    """A mock that cannot be: a sentence for a person."""


class Mock:
    """The answers of one or several helpers; `calls` counts how often programs called them.  Ends with a `with` block."""

    def __init__(self, mocks: Mocks, answers: dict[str, Respond], on_call: int | None = None, shown: str = "") -> None:
        self.mocks, self.answers, self.on_call, self.shown = mocks, answers, on_call, shown
        self.calls = 0
        self.returns: int | None = None  # of helper(returns=, fail=): another answer from now on

    def answer(self, name: str, r: Registers) -> int | None:
        """For the call that is being made; None lets the real helper work."""
        self.calls += 1
        if self.on_call is not None and self.calls != self.on_call:
            return None
        return self.answers[name](r)

    def remove(self) -> None:
        """The helpers are themselves again."""
        for name in self.answers:
            if self.mocks.by_name.get(name) is self:
                del self.mocks.by_name[name]

    def __enter__(self) -> Mock:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self.remove()

    def __repr__(self) -> str:
        return f"<mock of {', '.join(self.answers)}: {self.shown}, {self.calls} calls>"


class Mocks:
    """`m.mocks`."""

    def __init__(self, bpf: Bpf) -> None:
        self.bpf = bpf
        self.by_name: dict[str, Mock] = {}

    def enable(self) -> None:
        """From now on loaded programs can be mocked."""
        if self.bpf.intercept is not None:
            return
        if self.bpf.progs.objects:
            raise MockError("ask for the first mock (or m.mocks.enable()) before a BPF object is loaded")
        self.bpf.intercept = self.intercept

    def helper(
        self,
        name: str,
        *,
        returns: int | None = None,
        fail: int | None = None,
        each: Sequence[int] | None = None,
        on_call: int | None = None,
    ) -> Mock:
        """Answer a helper's calls: `returns` a number, `fail` minus an errno, `each` one after the other (the last stays).

        With `on_call` only that call is answered, counted from 1.  Without any of them calls are only counted.  A reader
        of memory that fails leaves zeros, as the kernel's do.
        """
        load_all()
        if name not in HELPERS:
            near = difflib.get_close_matches(name, HELPERS, n=3)
            raise MockError(f"no helper is named {name!r}" + (f"; near: {', '.join(near)}" if near else ""))
        if sum(each is not None for each in (returns, fail, each)) > 1:
            raise MockError("give one of returns, fail and each")
        if each is not None and not each:
            raise MockError("each: no answer")
        given = iter(each or ())

        def respond(r: Registers) -> int | None:
            if fail is not None and name in READERS:
                self.leave_zeros(r)
            return mock.returns if each is None else next(given, each[-1])

        shown = f"{list(each)}" if each is not None else errno_name(fail) if fail is not None else f"{returns}"
        mock = self.install({name: respond}, on_call, shown)
        mock.returns = -fail if fail is not None else returns
        return mock

    def install(self, answers: Mapping[str, Respond], on_call: int | None, shown: str) -> Mock:
        """A mock of these helpers in place of those before."""
        self.enable()
        mock = Mock(self, dict(answers), on_call, shown)
        for name in answers:
            self.by_name[name] = mock
        return mock

    def leave_zeros(self, r: Registers) -> None:
        """A reader's destination after it failed."""
        if self.bpf.version.at_least("4.12"):
            self.bpf.mem.write(r[1], bytes(r[2] & U32_MAX))

    # -- memory ------------------------------------------------------------------------------------------------------

    def no_user_memory(self, at: int | None = None, size: int = 1, on_call: int | None = None) -> Mock:
        """User memory is not there (paged out, or never was): reading it is EFAULT.  With `at` only those `size` bytes."""

        def respond(r: Registers) -> int | None:
            start, length = r[3], r[2] & U32_MAX
            if at is not None and not (start < at + size and at < start + length):
                return None
            self.leave_zeros(r)
            return -EFAULT

        def either(r: Registers) -> int | None:
            """bpf_probe_read() reads the kernel's memory, too."""
            try:
                self.bpf.mem.read(r[3], 1)
            except Fault:
                return respond(r)
            return None

        readers = [name for name, reads_user in READERS.items() if reads_user]
        answers = {name: either if name in EITHER else respond for name in readers}
        return self.install(answers, on_call, "no user memory")

    # -- maps --------------------------------------------------------------------------------------------------------

    def map_full(self, name: str, on_call: int | None = None) -> Mock:
        """No element more goes into a hash map, a queue or a stack: E2BIG.  What is there already can be changed."""

        def respond(r: Registers) -> int | None:
            found = self.bpf.map_at.get(r[1])
            if not self.is_named(found, name):
                return None
            kind = MAP_TYPES[found.attr.map_type].name if found is not None else ""
            if isinstance(found, QueueMap):
                return None if r[3] & uapi.BPF_EXIST else -E2BIG  # BPF_EXIST: the oldest makes room
            if not isinstance(found, HashMap) or "LRU" in kind:
                raise MockError(f"map {name} is of type {kind.lower()}, which is never full")
            key = bytes(self.bpf.mem.read(r[2], found.attr.key_size))
            return None if found.lookup(key) else -E2BIG

        names = ("bpf_map_update_elem", "bpf_map_push_elem")
        return self.install({helper: respond for helper in names}, on_call, f"map {name} is full")

    def ring_full(self, name: str, on_call: int | None = None) -> Mock:
        """A ring buffer, or the rings of a perf event array, have no room."""

        def mine(value: int, at: int) -> Respond:
            return lambda r: value if self.is_named(self.bpf.map_at.get(r[at]), name) else None

        def dynptr(r: Registers) -> int | None:
            if not self.is_named(self.bpf.map_at.get(r[1]), name):
                return None
            clear_dynptr(self.bpf.mem, r[4])
            return -EINVAL

        perf = mine(0 if self.bpf.version.before("5.1") else -ENOSPC, 2)
        answers: dict[str, Respond] = {
            "bpf_ringbuf_reserve": mine(0, 1),
            "bpf_ringbuf_output": mine(-EAGAIN, 1),
            "bpf_ringbuf_reserve_dynptr": dynptr,
            **{helper: perf for helper in HELPERS if "perf_event_output" in helper},
            "bpf_perf_event_output": perf,
        }
        return self.install(answers, on_call, f"{name} has no room")

    def is_named(self, found: BpfMap | None, name: str) -> bool:
        """Whether a map is the one meant; the kernel keeps 15 bytes of a name."""
        return found is not None and found.name == name[: uapi.BPF_OBJ_NAME_LEN - 1]

    # -- time, place, chance -----------------------------------------------------------------------------------------------

    def clock(self, at: int, step: int = 0) -> Mock:
        """All clocks of programs: the first call gives `at` (ns), each further one `step` more."""
        state = [at - step]

        def respond(r: Registers) -> int:
            state[0] += step
            return state[0]

        return self.install({name: respond for name in CLOCKS}, None, f"{at} ns, then {step} more each")

    def cpu(self, number: int) -> Mock:
        """The CPU that programs think they run on; per-CPU maps are still those of the real one."""
        return self.install({"bpf_get_smp_processor_id": lambda r: number}, None, f"CPU {number}")

    def random(self, *numbers: int) -> Mock:
        """What bpf_get_prandom_u32() gives, one after the other; the last stays."""
        given = iter(numbers)
        return self.install({"bpf_get_prandom_u32": lambda r: next(given, numbers[-1])}, None, f"{numbers}")

    def current(
        self,
        *,
        pid: int | None = None,
        tgid: int | None = None,
        comm: str | None = None,
        uid: int | None = None,
        gid: int = 0,
        task: View | None = None,
    ) -> Mock:
        """The task that programs think they run in; what is not given stays the real one's.

        `task` is one of m.build.task(), whose pid, tgid and comm count unless others are given.
        """
        if task is not None:
            pid = int(task.pid) if pid is None else pid
            tgid = int(task.tgid) if tgid is None else tgid
            comm = bytes(task.comm).split(b"\0")[0].decode("utf-8", "surrogateescape") if comm is None else comm
        answers: dict[str, Respond] = {}
        if pid is not None or tgid is not None:
            thread = tgid if pid is None else pid
            process = pid if tgid is None else tgid
            answers["bpf_get_current_pid_tgid"] = lambda r: (process or 0) << 32 | (thread or 0)
        if uid is not None:
            answers["bpf_get_current_uid_gid"] = lambda r: gid << 32 | uid
        if task is not None:
            at = task.addr
            answers["bpf_get_current_task"] = answers["bpf_get_current_task_btf"] = lambda r: at
        if comm is not None:
            text = comm.encode()

            def write_comm(r: Registers) -> int:
                size = r[2] & U32_MAX
                self.bpf.mem.write(r[1], text[: max(size - 1, 0)].ljust(size, b"\0"))
                return 0

            answers["bpf_get_current_comm"] = write_comm
        if not answers:
            raise MockError("current: say at least one of pid, tgid, comm, uid, task")
        return self.install(answers, None, "another task")

    # -- in place of helpers ---------------------------------------------------------------------------------------------

    def intercept(self, names: Sequence[str], call: Call) -> Call:
        """A program's call of a helper, which asks here first."""

        def asked(r: Registers) -> int:
            name = next((each for each in names if each in self.by_name), None)
            answer = None if name is None else self.by_name[name].answer(name, r)
            return call(r) if answer is None else answer & REGISTER_MASK

        return asked
