"""The kinds of attack: each makes case number N of a seed, and runs it.

A case is a finding when it raises anything but the refusals that its kind allows, when the kernel oopses, when it takes
longer than it was given, or when the process dies.  The runner sees to the last two.
"""

from __future__ import annotations

import gzip
import json
import os
import random
import stat
import struct
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from click.testing import CliRunner

import simkernel
from arch.errors import KernelError
from arch.memory import KernelMemory, OutOfMemory, PhysicalMemory
from bpf.btf.codec import Btf, BtfError
from bpf.loader import LoadError
from simkernel.cli import cli
from simkernel.machine import MachineError
from simkernel.program import ProgramError

ROOT = Path(__file__).parents[2]
SAMPLES, DATA = ROOT / "samples", ROOT / "tests" / "data"
ARCHS = ("x86_64", "arm64", "riscv64", "s390x", "i386", "arm")
CASE_S = 1.0  # of real time, for one program

Kind = Callable[[random.Random], str]
KINDS: dict[str, tuple[str, Kind]] = {}
WARM: dict[str, Callable[[], None]] = {}  # what the cases of a kind would each make again


class Finding(Exception):
    """Something that must not happen, in a sentence."""


def kind(name: str, what: str) -> Callable[[Kind], Kind]:
    """A row: what is attacked, and how it is called in the report."""

    def declare(function: Kind) -> Kind:
        KINDS[name] = (what, function)
        return function

    return declare


def mutant(rng: random.Random, data: bytes) -> bytes:
    """A few bytes or words otherwise, a piece cut off, doubled or moved."""
    out = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 4, 16))):
        at = rng.randrange(max(len(out), 1))
        how = rng.randrange(6)
        if how == 0:
            out[at : at + 1] = bytes([rng.choice((0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)))])
        elif how == 1:
            out[at : at + 4] = struct.pack(
                "<I", rng.choice((0, 1, 0xFFFFFFFF, 0x7FFFFFFF, len(out), rng.getrandbits(32)))
            )
        elif how == 2:
            out[at : at + 8] = struct.pack("<Q", rng.choice((0, 1 << 63, (1 << 64) - 1, len(out), rng.getrandbits(64))))
        elif how == 3:
            del out[at:]
        elif how == 4:
            out[at:at] = out[at : at + rng.randrange(64)]
        elif out:
            out[at] ^= 1 << rng.randrange(8)
    return bytes(out)


@cache
def machine(arch: str) -> Any:
    """One for all cases of this process: the runner forks for a few cases at a time."""
    return simkernel.boot(arch=arch)


@contextmanager
def host_file(data: bytes, name: str = "given") -> Iterator[Path]:
    """A file of the host for as long as the block."""
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / name
        path.write_bytes(data)
        path.chmod(0o755)
        yield path


@kind("elf", "mutated programs, installed and run")
def elf(rng: random.Random) -> str:
    arch = rng.choice(ARCHS)
    original = (SAMPLES / "bin" / arch / rng.choice(("hello", "writer"))).read_bytes()
    head = mutant(rng, original[:4096]) if rng.random() < 0.7 else original[:4096]
    data = head + original[4096:] if rng.random() < 0.7 else mutant(rng, original)
    with host_file(data) as path:
        m = machine(arch)
        try:
            m.run([m.install(path)], timeout_virtual_ns=5_000_000, timeout_host_s=CASE_S)
        except (ProgramError, MachineError, KernelError):
            return "refused"
    return "ran"


@kind("object", "mutated BPF objects, loaded and attached")
def bpf_object(rng: random.Random) -> str:
    arch = rng.choice(("x86_64", "x86_64", "arm64", "s390x"))
    files = sorted((SAMPLES / "obj" / arch).glob("*.o"))
    data = mutant(rng, rng.choice(files).read_bytes())
    try:
        obj = machine(arch).load(data)
    except (LoadError, KernelError):
        return "refused"
    try:
        obj.attach()
    except (LoadError, KernelError):
        return "loaded"
    finally:
        obj.close()
    return "attached"


@cache
def sample_btf() -> bytes:
    """The .BTF of an object that the samples have."""
    from bpf.loader.elf import read_object

    obj = read_object((SAMPLES / "obj" / "x86_64" / "writes.bpf.o").read_bytes())
    return next(bytes(s.data) for s in obj.sections if s.name == ".BTF")


@kind("btf", "mutated BTF, read by the codec and loaded by bpf(2)")
def btf(rng: random.Random) -> str:
    data = mutant(rng, sample_btf())
    outcome = "read"
    try:
        Btf.parse(data)
    except BtfError:
        outcome = "refused"
    task = machine("x86_64").session.task
    try:
        task.close(task.btf_load(data)[0])
    except KernelError:
        return outcome
    return "loaded"


@cache
def case_rows() -> list[Any]:
    rows: list[Any] = json.loads(gzip.decompress((DATA / "test_runs_6_1.json.gz").read_bytes()))["rows"]
    return rows


def other(rng: random.Random, value: Any) -> Any:
    """A JSON value with something in it changed, also its type."""
    if isinstance(value, list) and value and rng.random() < 0.85:
        at = rng.randrange(len(value))
        return [*value[:at], other(rng, value[at]), *value[at + 1 :]]
    if isinstance(value, str) and value and rng.random() < 0.6:
        return mutant(rng, value.encode())[:4000].decode("latin-1")
    return rng.choice((None, 0, -1, 1 << 70, 1.5, "", "zz", [], {}, [[]], True, value))


@kind("cases", "mutated case files, through the verify command")
def cases(rng: random.Random) -> str:
    document = {"header": "mutated", "rows": other(rng, rng.sample(case_rows(), 3))}
    text = json.dumps(document).encode()
    with host_file(mutant(rng, text) if rng.random() < 0.3 else text, "cases.json") as path:
        result = CliRunner().invoke(cli, ["verify", "--cases", str(path), *(["--run"] if rng.random() < 0.5 else [])])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return f"exit {result.exit_code}"


@kind("files", "damaged programs, objects, recordings, settings and words, given to the commands")
def files(rng: random.Random) -> str:
    from tests.fuzz.files import attack

    with tempfile.TemporaryDirectory() as folder:
        return attack(rng, mutant, Path(folder))


def warm_files() -> None:
    from tests.fuzz.files import warm

    warm()


WARM["files"] = warm_files


@kind("syscalls", "random system calls with arguments of their types, on six architectures")
def syscalls(rng: random.Random) -> str:
    from tests.simkernel.kernel.test_fuzz import Fuzzer

    fuzzer = Fuzzer(rng.choice(ARCHS), rng.getrandbits(32))
    begin = time.process_time()
    for _ in range(CALLS):
        fuzzer.step()
        if (
            time.process_time() - begin > CALLS_S
        ):  # the task runs code of its own making: each call waits a virtual second
            return "answered for a while"
    fuzzer.machine.close()
    return "answered"


CALLS = 250  # of one case of `syscalls` and `sequences`
CALLS_S = 10  # CPU time for them


@kind("sequences", "system calls with what each parameter asks for, and what earlier calls gave, on six architectures")
def sequences(rng: random.Random) -> str:
    from tests.fuzz.sequences import Sequence

    with simkernel.boot(arch=rng.choice(ARCHS), kernel=rng.choice(("6.1", "6.1", "5.10", "6.12")), cpus=2) as m:
        sequence = Sequence(m, rng)
        begin = time.process_time()
        for _ in range(CALLS):
            sequence.step()
            if time.process_time() - begin > CALLS_S:
                return "answered for a while"
    return "answered"


CHAINS, LINKS = 100, 10  # of one case of `chains`: sequences, and calls of each


@kind("chains", f"{CHAINS} sequences of {LINKS} such calls, a task for each, one after the other on a machine")
def chains(rng: random.Random) -> str:
    from tests.fuzz.sequences import Sequence

    with simkernel.boot(arch=rng.choice(ARCHS), kernel=rng.choice(("6.1", "6.1", "5.10", "6.12")), cpus=2) as m:
        sequence = Sequence(m, rng)
        begin = time.process_time()
        for _ in range(CHAINS):
            for _ in range(LINKS):
                sequence.step()
            if time.process_time() - begin > CALLS_S:
                return "answered for a while"
            sequence.replace()
    return "answered"


@kind("code", "programs of random bytes and privileged instructions")
def code(rng: random.Random) -> str:
    arch = rng.choice(ARCHS)
    original = bytearray((SAMPLES / "bin" / arch / "hello").read_bytes())
    start = rng.randrange(0x100, len(original) // 2)
    for _ in range(rng.choice((1, 4, 40))):
        at = start + rng.randrange(2000)
        original[at : at + 4] = rng.randbytes(4)
    with host_file(bytes(original)) as path:
        m = machine(arch)
        try:
            m.run([m.install(path)], timeout_virtual_ns=5_000_000, timeout_host_s=CASE_S)
        except (ProgramError, MachineError, KernelError):
            return "refused"
    return "ran"


@kind("memory", "programs that no verifier would let pass: page tables, stacks, text, structures")
def memory(rng: random.Random) -> str:
    from tests.simkernel import hostile

    arch, tier = rng.choice(ARCHS), rng.choice(("interpreter", "compiled"))
    m, *programs = hostile.boot(arch)
    canary = hostile.Canary()
    said = hostile.one(m, tuple(programs), canary, rng, tier)
    if canary.touched():
        raise Finding("the host's memory was written")
    return said


def photograph(root: Path) -> list[tuple[str, int, bytes]]:
    """What a program could have changed."""
    out = []
    for path in sorted(root.rglob("*")):
        status = path.lstat()
        content = (
            path.read_bytes()
            if stat.S_ISREG(status.st_mode)
            else os.fsencode(os.readlink(path))
            if path.is_symlink()
            else b""
        )
        out.append((str(path), status.st_mode, content))
    return out


BIND_CALLS = (
    "openat", "unlinkat", "renameat2", "linkat", "symlinkat", "mkdirat", "mknodat", "fchmodat", "fchownat", "truncate",
    "ftruncate", "write", "pwrite64", "utimensat", "mount", "umount2", "fallocate", "setxattr", "removexattr", "chroot",
    "pivot_root", "copy_file_range", "sendfile", "splice", "mmap", "open_by_handle_at", "name_to_handle_at", "unshare",
    "dup3", "fchdir", "chdir", "readlinkat",
)  # fmt: skip


@kind("binds", "what was bound read-only, or beside it, shall change")
def binds(rng: random.Random) -> str:
    with tempfile.TemporaryDirectory() as top:
        root = Path(top)
        (root / "inside" / "sub").mkdir(parents=True)
        (root / "inside" / "a").write_bytes(b"original")
        (root / "inside" / "sub" / "c").write_bytes(b"sea")
        (root / "secret").write_bytes(b"secret")
        os.symlink("../secret", root / "inside" / "out")
        os.symlink("a", root / "inside" / "link")
        before = photograph(root)
        with simkernel.boot(binds=[(str(root / "inside"), "/host", False)]) as m:
            task = m.user_task("attack")
            names = ["/host/a", "/host/sub/c", "/host/out", "/host/../secret", "/host", "/mnt", "/proc/self/fd/3", "/host/new",
                     "/proc/self/cwd/../secret", "/host/link", "/proc/1/root/host/a", "tmpfs", "/tmp/x"]  # fmt: skip
            flags = (
                0,
                1,
                2,
                0o100,
                0o102,
                0o1002,
                0o2001,
                0o10000000,
                0x1000,
                0x20 | 0x1000,
                0x2000,
                4096 | 32,
                1 << 20,
            )
            known = [name for name in BIND_CALLS if name in m.kernel.abi.numbers]
            for _ in range(60):
                args: list[Any] = []
                for _ in range(6):
                    pick = rng.randrange(5)
                    args.append(
                        -100 if pick == 0 else rng.randrange(8) if pick == 1 else rng.choice(flags) if pick == 2
                        else rng.choice(names)
                    )  # fmt: skip
                if task.top > task.heap + (32 << 20):
                    task.free_all()
                with simkernel_limit():
                    task.syscall(rng.choice(known), *args)
                if task.task.exit_state:
                    break
        if photograph(root) != before:
            raise Finding("the host's files have changed")
    return "nothing changed"


@contextmanager
def simkernel_limit() -> Iterator[None]:
    """A call that would wait for ever is given up."""
    from arch.hosttime import HOST, HostStop

    try:
        with HOST.limit(CASE_S):
            yield
    except (HostStop, RuntimeError) as stop:
        if isinstance(stop, RuntimeError) and "never happen" not in str(stop) and "has ended" not in str(stop):
            raise


@kind("interrupts", "Ctrl-C, SIGTERM or SIGHUP at a random moment of a command")
def interrupts(rng: random.Random) -> str:
    from tests.fuzz.interrupts import attempt

    machine("x86_64")
    return attempt(rng)


class Nth:
    """Fails once, at its n-th call."""

    def __init__(self, n: int, function: Callable[..., Any], error: Exception) -> None:
        self.left, self.function, self.error = n, function, error

    def __call__(self, *args: Any, **more: Any) -> Any:
        self.left -= 1
        if not self.left:
            raise self.error
        return self.function(*args, **more)


@kind("faults", "an allocation or a call of the host fails, once, anywhere in a story")
def faults(rng: random.Random) -> str:
    m = simkernel.boot()
    hello = m.install(SAMPLES / "bin" / "x86_64" / "hello")
    session = m.session
    story, place = rng.randrange(4), rng.randrange(3)
    n = rng.randrange(1, 60)
    if place == 0:
        broken: Any = PhysicalMemory
        name, error = "alloc_page", OutOfMemory()
    elif place == 1:
        broken, name, error = KernelMemory, "alloc", OutOfMemory()
    else:
        broken, name, error = (
            os,
            rng.choice(("open", "read", "stat", "lstat", "listdir", "pread", "fstat")),
            OSError(5, "I/O error"),
        )
    original = getattr(broken, name)
    fails = Nth(n, original, error)
    setattr(broken, name, (lambda self, *a, **k: fails(self, *a, **k)) if place < 2 else fails)
    try:
        if story == 0:
            m.run([hello], timeout_virtual_ns=10**9, timeout_host_s=5)
        elif story == 1:
            obj = m.load(SAMPLES / "obj" / "x86_64" / "writes.bpf.o")
            obj.attach()
            obj.close()
        elif story == 2:
            m.enable_event("p:fault vfs_write count=%dx")
            m.run([hello], timeout_virtual_ns=10**9, timeout_host_s=5)
            m.trace_pipe()
        else:
            session.write_file("/tmp/x", b"x" * 20000, 0o102)
            session.read_file("/tmp/x")
    except (KernelError, LoadError, MachineError, ProgramError, OSError):
        return "refused"
    finally:
        setattr(broken, name, original)
    return "held" if fails.left <= 0 else "not reached"


@kind("tiers", "random programs, probes and frequent calls, by Python and by native code: what is seen is compared")
def tiers(rng: random.Random) -> str:
    from tests.fuzz.tiers import compare

    return compare(rng)
