"""The pieces of a recording, each a row of a table: an event, a CPU sample, a task, a slice of its time, a map.

Times are nanoseconds of virtual time, addresses plain ints.  `pid` is the kernel's pid (a thread's), `tgid` the process's.
"""

from __future__ import annotations

from typing import NamedTuple

from arch.records import dataclass, field

SCHEMA = 1  # of recording.json and its companions; docs/exports.md describes it

# A field of an event: a number, text of a char array or string, the elements of any other array.
Value = int | str | tuple[int, ...]
# A key or value of a map, typed by BTF; bytes that no type explains are text or hexadecimal.
Shown = int | float | str | bool | None | list["Shown"] | dict[str, "Shown"]
Counter = int | dict[str, int]


class Frame(NamedTuple):
    """One place of a stack, as far as its symbol is known."""

    ip: int
    symbol: str = ""
    offset: int = 0
    file: str = ""  # of user code: the mapped file

    @property
    def name(self) -> str:
        """The function, else the file, else the address."""
        return self.symbol or (f"[{self.file.rsplit('/', 1)[-1]}]" if self.file else f"{self.ip:#x}")

    @property
    def place(self) -> str:
        """`vfs_read+0x12`, or the bare address."""
        return f"{self.symbol}+{self.offset:#x}" if self.symbol else f"{self.ip:#x}"


Stack = tuple[Frame, ...]


@dataclass(slots=True)
class Event:
    """One record of the trace buffer."""

    ts: int
    cpu: int
    pid: int
    comm: str  # the name that was remembered for the pid
    name: str  # system:name; entries that are no events are in the system ftrace
    fields: dict[str, Value]
    text: str = ""  # its fields by the print fmt of its format, as trace prints them behind its name
    flags: str = ""  # the column of interrupt and preemption state
    lost: int = 0  # events of this CPU that were overwritten right before this one
    kernel_stack: Stack = ()
    user_stack: Stack = ()
    raw: bytes = b""  # the record itself; the format file of its event says what is where
    line: str = ""  # what trace prints behind the columns, where that is not its name and its text

    @property
    def printed(self) -> str:
        """What trace prints behind the columns, with its line ends."""
        return self.line or f"{self.name.partition(':')[2]}: {self.text}\n"

    @property
    def said(self) -> str:
        """The same without its name and line ends, for people."""
        return self.printed.removeprefix(f"{self.name.partition(':')[2]}: ").rstrip("\n")


@dataclass(slots=True)
class Sample:
    """One CPU sample: where a CPU was when its clock's perf event overflowed."""

    ts: int
    cpu: int
    pid: int
    tgid: int
    comm: str
    period: int  # ns of CPU time that it stands for
    ip: int
    kernel: Stack = ()  # innermost first
    user: Stack = ()

    @property
    def stack(self) -> Stack:
        """Kernel and user part, innermost first."""
        return self.kernel + self.user


@dataclass(slots=True)
class TaskInfo:
    """A task that was there during the run."""

    pid: int
    tgid: int
    ppid: int
    comm: str  # its last name
    begin: int = 0
    end: int | None = None  # None: alive at the end


class Slice(NamedTuple):
    """A task ran on a CPU."""

    cpu: int
    pid: int
    begin: int
    end: int
    state: str  # why it left, as sched_switch prints it: R preempted, S sleeping, ... "" at the end of the recording


class Wakeup(NamedTuple):
    """A task became runnable."""

    ts: int
    pid: int
    cpu: int  # where it was put


class MappedFile(NamedTuple):
    """A file that a task mapped executable."""

    ts: int
    pid: int
    start: int
    length: int
    offset: int
    path: str
    prot: int = 0
    flags: int = 0
    major: int = 0
    minor: int = 0
    ino: int = 0


@dataclass(slots=True)
class MapDump:
    """The contents of a BPF map at the end."""

    name: str
    object: str  # path of the BPF object it belongs to
    type: str = ""
    entries: list[tuple[Shown, Shown]] = field(default_factory=list)


@dataclass(slots=True)
class ProgramDump:
    """A BPF program that was loaded, and what the verifier said."""

    name: str
    object: str
    section: str
    log: str = ""


@dataclass(slots=True)
class EventFormat:
    """The `format` file of an event, by which its raw records are read."""

    id: int
    text: str


@dataclass(slots=True)
class Meta:
    """Which machine, which program, and how to have it again."""

    arch: str = ""
    machine: str = ""  # uname -m
    byteorder: str = "little"
    word: int = 8  # bytes of a long
    kernel: str = ""  # as asked for: 6.1
    release: str = ""  # uname -r
    hostname: str = ""
    cpus: int = 1
    seed: int = 0
    version: str = ""  # of simkernel
    argv: list[str] = field(default_factory=list)
    repeat: str = ""  # the command line that makes the same run again
    status: int | None = None
    begin: int = 0
    end: int = 0
    sample_hz: int = 0
    pid_width: int = 7  # of trace's columns
    columns: bool = True  # the column of interrupt state is printed
    kernel_text: tuple[int, int] = (0, 0)
