"""The tool's side of a machine: a user task that loads programs, attaches them and reads what they found.

Everything here goes through system calls of that task, as a tool on Linux does (one door).  `Machine.load`,
`Machine.trace_pipe` and their like are short forms of it.

    m = simkernel.boot()
    obj = m.load("samples/obj/x86_64/writes.bpf.o")
    obj.attach()
    m.run(["/bin/busybox", "echo", "hello"])
    print(dict(obj.maps["sizes"].items()))
"""

from __future__ import annotations

import fnmatch
import re
from codecs import getincrementaldecoder
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from arch.abi.errno import EAGAIN, ENOENT, ENOMEM
from arch.abi.fcntl import AT_FDCWD, O_APPEND, O_NONBLOCK, O_RDONLY, O_WRONLY
from arch.errors import Fault, KernelError
from simkernel.usertask import UserTask

if TYPE_CHECKING:
    from bpf.loader.buffers import Lost, PerfBuffer, RingBuffer, Sample
    from bpf.loader.maps import Map
    from bpf.loader.object import BpfObject

TRACEFS = "/sys/kernel/tracing"
READ_CHUNK = 1 << 16
_PROBE = re.compile(r"^(p|r\d*)[: ]")


def is_probe(spec: str) -> bool:
    """True for a probe definition (`p:...`, `r:...`, `r8:...`), False for the name of an event."""
    return _PROBE.match(spec) is not None


def probed_symbol(spec: str) -> str:
    """The kernel function that a probe definition names: `vfs_read` of `p:mine vfs_read+4 count=%dx`."""
    words = spec.split()
    place = words[1] if len(words) > 1 else spec.partition(":")[2]
    return re.split(r"[+%]", place.rpartition(":")[2])[0]


class TaskSyscalls:
    """`bpf.loader.sys.Syscalls` over a user task: its calls, and memory that is given back."""

    def __init__(self, task: UserTask) -> None:
        self.task = task
        arch = task.k.arch
        self.byteorder = arch.byteorder
        self.word: int = arch.word
        self.page_size = 4096
        self.packed_epoll_event = arch.files.epoll_event_packed
        self.mmap_takes_block = arch.syscall_abis[0].mmap_takes_block
        self._free: dict[int, list[int]] = {}  # size -> addresses
        self._sizes: dict[int, int] = {}

    def syscall(self, name: str, *args: int) -> int:
        """Run the machine until the call has returned."""
        return self.task.syscall(name, *args)

    def alloc(self, size: int) -> int:
        """Zeroed memory; sizes are rounded up to powers of two so that what is freed fits again."""
        rounded = max(16, 1 << (size - 1).bit_length()) if size > 0 else 16
        free = self._free.get(rounded)
        if free:
            addr = free.pop()
            self.write(addr, bytes(size))
        else:
            try:
                addr = self.task.alloc(rounded)
            except Fault as fault:
                raise KernelError(ENOMEM, f"the tool's memory: {fault}") from None
        self._sizes[addr] = rounded
        return addr

    def free(self, addr: int) -> None:
        """Give memory back."""
        self._free.setdefault(self._sizes.pop(addr), []).append(addr)

    def read(self, addr: int, size: int) -> bytes:
        """Bytes of the task's memory.  ENOMEM when the machine has none for it."""
        try:
            return self.task.read(addr, size)
        except Fault as fault:
            raise KernelError(ENOMEM, f"the tool's memory: {fault}") from None

    def write(self, addr: int, data: bytes) -> None:
        """Store bytes into the task's memory.  ENOMEM."""
        try:
            self.task.write(addr, data)
        except Fault as fault:
            raise KernelError(ENOMEM, f"the tool's memory: {fault}") from None


class ToolHost(Protocol):
    """What a session needs of a machine."""

    def user_task(self, comm: str = "simkernel") -> UserTask:
        """A user task that host code drives, system call by system call."""
        ...


class Session:
    """One tool task and what it holds open."""

    def __init__(self, machine: ToolHost, comm: str = "simkernel") -> None:
        from bpf.loader.sys import Task

        self.machine = machine
        self.syscalls = TaskSyscalls(machine.user_task(comm))
        self.syscalls.task.task.signal.unkillable = True  # a program's kill(-1, SIGKILL) does not mean its observer
        self.task = Task(self.syscalls)
        self.objects: list[BpfObject] = []
        self._pipe = -1

    @property
    def ended(self) -> bool:
        """The tool task is gone: killed, or closed."""
        return self.syscalls.task.task.exit_state != 0

    # -- BPF objects ---------------------------------------------------------------------------------------------

    def open(self, source: str | Path | bytes, name: str = "") -> BpfObject:
        """An object that is not loaded yet: variables and map sizes may still be changed.  LoadError."""
        from bpf.loader.object import BpfObject

        data = source if isinstance(source, bytes) else Path(source).read_bytes()
        return BpfObject(data, name or ("object" if isinstance(source, bytes) else Path(source).name))

    def load(self, source: str | Path | bytes | BpfObject, name: str = "") -> BpfObject:
        """Open (unless open) and load into the kernel.  LoadError carries errno and the verifier's log."""
        from bpf.loader.object import BpfObject

        obj = source if isinstance(source, BpfObject) else self.open(source, name)
        obj.load(self.task)
        self.objects = [*(known for known in self.objects if not known.closed), obj]
        return obj

    def perf_buffer(self, bpf_map: Map, sample: Sample, lost: Lost | None = None, pages: int = 8) -> PerfBuffer:
        """A reader of a perf event array."""
        from bpf.loader.buffers import PerfBuffer

        return PerfBuffer(bpf_map, sample, lost, pages)

    def ring_buffer(self, bpf_map: Map, sample: Callable[[bytes], None]) -> RingBuffer:
        """A reader of a BPF ring buffer."""
        from bpf.loader.buffers import RingBuffer

        return RingBuffer(bpf_map, sample)

    # -- files -------------------------------------------------------------------------------------------------------

    def read_file(self, path: str, flags: int = O_RDONLY) -> bytes:
        """The whole of a file of the guest; KernelError."""
        fd = self._open(path, flags)
        try:
            return self._read_all(fd)
        finally:
            self.task.call("close", fd)

    def write_file(self, path: str, data: str | bytes, flags: int = O_WRONLY) -> None:
        """One write(2) to a file of the guest; KernelError carries the kernel's errno."""
        raw = data.encode("utf-8", "surrogateescape") if isinstance(data, str) else data
        fd = self._open(path, flags)
        try:
            with self.task.memory() as memory:
                self.task.call("write", fd, memory.put(raw), len(raw))
        finally:
            self.task.call("close", fd)

    def _open(self, path: str, flags: int) -> int:
        with self.task.memory() as memory:
            return self.task.call(
                "openat", AT_FDCWD, memory.put(path.encode("utf-8", "surrogateescape") + b"\0"), flags, 0o644
            )

    def _read_all(self, fd: int) -> bytes:
        return b"".join(self._chunks(fd))

    def _chunks(self, fd: int) -> Iterator[bytes]:
        with self.task.memory() as memory:
            buffer = memory.put(bytes(READ_CHUNK))
            while True:
                count = self.syscalls.syscall("read", fd, buffer, READ_CHUNK)
                if count == -EAGAIN or count == 0:
                    return
                if count < 0:
                    raise KernelError(-count, "read")
                yield self.syscalls.read(buffer, count)

    # -- tracefs -----------------------------------------------------------------------------------------------------

    def trace_pipe(self) -> str:
        """What has come into the trace buffer since the last time, as trace_pipe prints it; consumes it.

        Recording is off while it is read: with scheduler events on, reading would write what is to be read.
        """
        return "".join(self.trace_pieces())

    def trace_pieces(self) -> Iterator[str]:
        """The same in pieces, as they are read."""
        pipe = self._trace_fd()
        self.write_file(f"{TRACEFS}/tracing_on", "0")
        try:
            decoder = getincrementaldecoder("utf-8")("replace")
            for piece in self._chunks(pipe):
                yield decoder.decode(piece)
            yield decoder.decode(b"", True)
        finally:
            if not self.ended:
                self.write_file(f"{TRACEFS}/tracing_on", "1")

    def trace_chunk(self) -> str:
        """One read(2) of trace_pipe while recording goes on: nothing is missed, and reading may add lines of its own."""
        with self.task.memory() as memory:
            buffer = memory.put(bytes(READ_CHUNK))
            count = self.syscalls.syscall("read", self._trace_fd(), buffer, READ_CHUNK)
            return self.syscalls.read(buffer, max(count, 0)).decode("utf-8", "replace")

    def _trace_fd(self) -> int:
        if self._pipe < 0:
            self._pipe = self._open(f"{TRACEFS}/trace_pipe", O_RDONLY | O_NONBLOCK)
        return self._pipe

    def enable_event(self, spec: str) -> str:
        """Turn an event on: `GROUP:NAME`, or a probe as kprobe_events takes it (`p:NAME SYMBOL ARGS`, or `p:SYMBOL`).

        A pattern (`sched:*`) turns on all that it fits.  Gives `GROUP:NAME`.  KernelError with the kernel's errno, and its own words from error_log where it has some.
        """
        if is_probe(spec):
            group, name = self._define_probe(spec)
        elif set("*?[") & set(spec):
            return self._enable_events(spec)
        else:
            group, _, name = spec.partition(":" if ":" in spec else "/")
            if not group:
                raise KernelError(ENOENT, f"no event is named {spec!r}")
        self.write_file(f"{TRACEFS}/events/{group}/{name}/enable", "1")
        return f"{group}:{name}"

    def _enable_events(self, pattern: str) -> str:
        """All that fit; set_event itself knows whole groups only."""
        fitting = fnmatch.filter(self.read_file(f"{TRACEFS}/available_events").decode().split(), pattern)
        if not fitting:
            raise KernelError(ENOENT, f"no event is named like {pattern!r}")
        for name in fitting:
            self.write_file(f"{TRACEFS}/set_event", name + "\n", O_WRONLY | O_APPEND)
        return pattern

    def _define_probe(self, spec: str) -> tuple[str, str]:
        if len(spec.split()) == 1:  # no name, just the place
            spec = spec.replace(":", " ", 1)
        known = set(self.read_file(f"{TRACEFS}/kprobe_events").decode("utf-8", "surrogateescape").splitlines())
        try:
            self.write_file(f"{TRACEFS}/kprobe_events", spec + "\n", O_WRONLY | O_APPEND)
        except KernelError as error:
            raise KernelError(error.errno, self._probe_error(spec)) from None
        lines = self.read_file(f"{TRACEFS}/kprobe_events").decode("utf-8", "surrogateescape").splitlines()
        added = next((line for line in reversed(lines) if line not in known), lines[-1])
        group, _, name = added.split()[0].partition(":")[2].partition("/")
        return group, name

    def _probe_error(self, spec: str) -> str:
        """The kernel's own explanation of a refused probe definition, where the version keeps one."""
        try:
            log = self.read_file(f"{TRACEFS}/error_log").decode("utf-8", "replace")
        except KernelError:
            return spec
        entry = log.rstrip("\n").rsplit("\n[", 1)[-1]
        return f"{spec}\n{entry}" if entry else spec

    def close(self) -> None:
        """End the tool task: its descriptors close, and what hung on them is detached."""
        self.syscalls.task.exit()
