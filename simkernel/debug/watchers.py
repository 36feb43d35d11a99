"""What tells the debuggee of things that happen inside the kernel: trace events, system calls, map changes, inlined calls."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from arch.abi.errno import ENOENT
from arch.errors import KernelError
from bpf.maps.base import BpfMap
from simkernel.debug.breaks import AtAddress, Break, MapChange, OnEvent, OnSyscall
from simkernel.kernel.kernel import Kernel
from simkernel.kernel.sigpending import SigInfo
from simkernel.kernel.syscalls import SyscallWatcher
from simkernel.kernel.task import Task

Hit = Callable[[Break], None]
MAX_ENTRIES = 4096  # of a map that is watched as a whole


class Syscalls:
    """A watcher of system calls, before the one that was there (strace)."""

    def __init__(self, k: Kernel, entered: Callable[[str], None], left: Callable[[str], None]) -> None:
        self.names = k.syscalls.names
        self.entered, self.left = entered, left
        self.strace: SyscallWatcher | None = k.syscalls.strace
        k.syscalls.strace = self

    def _name(self, nr: int) -> str:
        return self.names.get(nr, str(nr))

    def enter(self, task: Task, nr: int, regs: int) -> None:
        if self.strace is not None:
            self.strace.enter(task, nr, regs)
        self.entered(self._name(nr))

    def leave(self, task: Task, nr: int, ret: int) -> None:
        if self.strace is not None:
            self.strace.leave(task, nr, ret)
        self.left(self._name(nr))

    def forked(self, task: Task) -> None:
        if self.strace is not None:
            self.strace.forked(task)

    def signal(self, task: Task, info: SigInfo) -> None:
        if self.strace is not None:
            self.strace.signal(task, info)

    def killed(self, task: Task, sig: int) -> None:
        if self.strace is not None:
            self.strace.killed(task, sig)


class Watchers:
    """The breakpoints that are no addresses."""

    def __init__(self, k: Kernel, hit: Hit) -> None:
        self.k = k
        self.hit = hit
        self._breaks: tuple[Break, ...] = ()
        self._undo: list[Callable[[], object]] = []
        self._maps: list[tuple[MapChange, dict[tuple[int, bytes], bytes]]] = []
        self._calls: list[OnSyscall] = []
        Syscalls(k, self._entered, self._left)

    def set(self, breaks: tuple[Break, ...]) -> None:
        """These from now on, and no others."""
        if breaks != self._breaks:
            self._breaks = breaks
            while self._undo:
                self._undo.pop()()
            self._calls = [each for each in breaks if isinstance(each, OnSyscall)]
            for each in breaks:
                if isinstance(each, OnEvent):
                    self._on_event(each)
                elif isinstance(each, AtAddress) and each.function:
                    self._inlined(each)
        self._maps = [(each, self._values(each)) for each in breaks if isinstance(each, MapChange)]

    # -- trace events --------------------------------------------------------------------------------------------------

    def _on_event(self, wanted: OnEvent) -> None:
        tracing = self.k.observer.tracing
        if wanted.system == "syscalls" and wanted.name.startswith("sys_"):
            way, _, call = wanted.name.removeprefix("sys_").partition("_")
            self._calls.append(OnSyscall(wanted.number, call, leaving=way == "exit"))
            return
        point = tracing.tracepoints.get(wanted.name)
        if point is None or point.decl.system != wanted.system:
            return

        def fired(*args: int) -> None:
            self.hit(wanted)

        point.add(fired)
        self._undo.append(lambda: point.remove(fired))

    # -- functions whose bodies call them without the CPU ----------------------------------------------------------------

    def _inlined(self, wanted: AtAddress) -> None:
        leaves = self.k.text.leaves
        for name in [name for name, symbol in self.k.text.symbol_of.items() if symbol == wanted.function]:
            body = leaves.get(name)
            if body is None:
                continue

            def called(*args: int, body: Callable[..., int] = body) -> int:
                self.hit(wanted)
                return body(*args)

            leaves[name] = called
            self._undo.append(lambda name=name, body=body, called=called: self._restore(name, body, called))  # type: ignore[misc]

    def _restore(self, name: str, body: Callable[..., int], called: Callable[..., int]) -> None:
        if self.k.text.leaves.get(name) is called:
            self.k.text.leaves[name] = body

    # -- system calls ----------------------------------------------------------------------------------------------------

    def _entered(self, name: str) -> None:
        self._syscall(name, False)

    def _left(self, name: str) -> None:
        self.look_at_maps()
        self._syscall(name, True)

    def _syscall(self, name: str, leaving: bool) -> None:
        for each in tuple(self._calls):
            if each.leaving == leaving and each.name in ("*", name):
                self.hit(each)

    # -- maps ------------------------------------------------------------------------------------------------------------

    def look_at_maps(self) -> None:
        """Programs and bpf(2) change maps: called before each of their instructions, and when they are done."""
        for place, (wanted, before) in enumerate(self._maps):
            now = self._values(wanted)
            if now != before:
                self._maps[place] = wanted, now
                self.hit(wanted)

    def _values(self, wanted: MapChange) -> dict[tuple[int, bytes], bytes]:
        found = {}
        for bpf_map in maps_named(self.k, wanted.map):
            for key, value in entries(bpf_map, MAX_ENTRIES) if wanted.key is None else one(bpf_map, wanted.key):
                found[bpf_map.id, key] = value
        return found


def maps_named(k: Kernel, name: str) -> list[BpfMap]:
    """Maps by name, or the one with this id."""
    return [each for each in k.observer.bpf.maps.objects.values() if name in (each.name, str(each.id))]


def one(bpf_map: BpfMap, key: bytes) -> Iterable[tuple[bytes, bytes]]:
    """The value behind a key, if there is one."""
    if len(key) == bpf_map.key_size:
        try:
            yield key, bpf_map.user_lookup(key, 0)
        except KernelError:
            return


def entries(bpf_map: BpfMap, limit: int) -> Iterable[tuple[bytes, bytes]]:
    """Keys and values, as bpf(2) gives them; nothing of a map that has none to give."""
    key: bytes | None = None
    for _ in range(limit):
        try:
            key = bpf_map.next_key(key)
        except KernelError:
            return
        try:
            value = bpf_map.user_lookup(key, 0)
        except KernelError as error:
            if error.errno != ENOENT:
                return
            continue
        yield key, value
