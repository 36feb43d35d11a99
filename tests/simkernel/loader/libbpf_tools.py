"""Debian's libbpf-tools, the BPF objects inside its programs, on the simulated kernel.

    python -m tests.simkernel.loader.libbpf_tools [TOOL ...]     one line per tool

The package is fetched from the distribution's archive and unpacked into a cache outside the tree; nothing of it is kept
here.  Each tool's user-space half is replaced by a row below: what it switches on before loading, what it
attaches by hand, and what must come out of the workload.
"""

from __future__ import annotations

import fnmatch
import os
import shutil
import struct
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import simkernel
from arch.abi.elf import EM_BPF
from bpf.btf import Kind
from bpf.loader import values
from bpf.loader.attach import attach_kprobe, attach_uprobe
from bpf.loader.buffers import PerfBuffer, RingBuffer
from bpf.loader.errors import LoadError
from bpf.loader.object import BpfObject
from bpf.loader.usdt import attach_usdt

ROOT = Path(__file__).resolve().parents[3]
CACHE = Path(os.environ.get("SIMKERNEL_TEST_CACHE", Path.home() / ".cache" / "simkernel-tests"))
PACKAGE, VERSION = "libbpf-tools", "0.26.0+ds-1"


# ------------------------------------------------------------------------------------------------ the package


def objects() -> dict[str, bytes]:
    """Tool -> its BPF object; empty where the package cannot be had."""
    place = CACHE / f"{PACKAGE}_{VERSION}"
    if not place.is_dir() and not _fetch(place):
        return {}
    found = {}
    for path in sorted(place.glob("usr/sbin/*")):
        if not path.is_symlink():
            data = embedded(path.read_bytes())
            if data:
                found[path.name] = data
    return found


def _fetch(place: Path) -> bool:
    if not shutil.which("apt-get") or not shutil.which("dpkg-deb"):
        return False
    work = place.with_suffix(".part")
    work.mkdir(parents=True, exist_ok=True)
    command = ["apt-get", "download", f"{PACKAGE}={VERSION}"]
    try:
        subprocess.run(command, cwd=work, capture_output=True, timeout=60, check=True)
        (package,) = work.glob("*.deb")
        subprocess.run(["dpkg-deb", "-x", str(package), str(work)], capture_output=True, timeout=60, check=True)
        package.unlink()
        work.rename(place)
    except (OSError, ValueError, subprocess.SubprocessError):
        shutil.rmtree(work, ignore_errors=True)
        return False
    return True


def embedded(program: bytes) -> bytes | None:
    """The BPF object that a skeleton has built into a program."""
    at = program.find(b"\x7fELF", 4)
    while at >= 0:
        if len(program) >= at + 64 and struct.unpack_from("<H", program, at + 18)[0] == EM_BPF:
            (table,) = struct.unpack_from("<Q", program, at + 40)
            (count,) = struct.unpack_from("<H", program, at + 60)
            return program[at : at + table + 64 * count]
        at = program.find(b"\x7fELF", at + 4)
    return None


# ------------------------------------------------------------------------------------------------- one trial


@dataclass
class Trial:
    """A tool on a machine: what the row's functions get."""

    machine: Any
    obj: BpfObject
    events: list[Any]

    def rows(self, name: str) -> dict[Any, Any]:
        """A map as Python values; keys that are structs as tuples."""
        return {_hashable(k): v for k, v in self.obj.maps[name].items()}


def _hashable(key: Any) -> Any:
    return (
        tuple(_hashable(v) for v in key.values())
        if isinstance(key, dict)
        else tuple(key)
        if isinstance(key, list)
        else key
    )


def off(*patterns: str) -> Callable[[BpfObject], None]:
    """Programs that the tool does not load here."""

    def prepare(obj: BpfObject) -> None:
        for program in obj.programs.values():
            if any(fnmatch.fnmatch(program.section_name, p) or fnmatch.fnmatch(program.name, p) for p in patterns):
                program.autoload = False

    return prepare


def sized(**maps: int) -> Callable[[BpfObject], None]:
    """Maps whose size the tool's options give; stack maps hold 127 addresses."""

    def prepare(obj: BpfObject) -> None:
        for name, entries in maps.items():
            obj.maps[name].definition.max_entries = entries
            if obj.maps[name].type == 7:
                obj.maps[name].definition.value_size = 8 * 127

    return prepare


def targets(**functions: str) -> Callable[[BpfObject], None]:
    """fentry and fexit programs get their function at run time."""

    def prepare(obj: BpfObject) -> None:
        for program in obj.programs.values():
            if program.name in functions:
                program.attach_target = functions[program.name]
            else:
                program.autoload = False

    return prepare


def both(*steps: Callable[[BpfObject], None]) -> Callable[[BpfObject], None]:
    def prepare(obj: BpfObject) -> None:
        for step in steps:
            step(obj)

    return prepare


# ------------------------------------------------------------------------------------------------- workload


def workload(machine: Any) -> None:
    """A little of everything the tools watch, by a task called "worker"; then a program and TCP on loopback."""
    task = machine.user_task("worker")
    call = task.syscall
    fd = call("openat", -100, "/tmp/file", 0o102 | 0o1000, 0o644)
    for size in (100, 200, 300):
        call("write", fd, b"x" * size, size)
    call("fsync", fd)
    call("lseek", fd, 0, 0)
    buffer = task.alloc(4096)
    call("read", fd, buffer, 600)
    call("close", fd)
    call("openat", -100, "/no/such/file", 0, 0)
    call("statfs", "/tmp", buffer)
    call("newfstatat", -100, "/tmp/file", buffer, 0)
    call("statx", -100, "/tmp/file", 0, 0xFFF, buffer)
    call("unlinkat", -100, "/tmp/file", 0)
    for name in ("/mnt/data", "/mnt/more"):
        disk = call("openat", -100, name, 0o102, 0o644)
        call("write", disk, b"y" * 8192, 8192)
        call("fsync", disk)
        call("close", disk)
    call("mkdirat", -100, "/tmp/mnt", 0o755)
    call("mount", "none", "/tmp/mnt", "tmpfs", 0, 0)
    call("umount2", "/tmp/mnt", 0)
    call("kill", task.task.pid, 0)
    call("kill", 99999, 9)
    spec = task.alloc(16)
    task.write(spec, struct.pack("=qq", 0, 2_000_000))
    call("nanosleep", spec, 0)
    _tcp(task)
    task.exit(3)
    machine.workload(_executes, "starter")
    machine.settle(1_000_000_000)
    machine.run(["/samples/server", "40"])


def _executes(u: Any) -> Any:
    """A task that becomes /samples/hello."""
    argv = u.alloc(32)
    u.write_memory(argv, struct.pack("=4Q", *(u.string(text) for text in ("/samples/hello", "one", "two")), 0))
    yield u.execve("/samples/hello", argv, 0)


def _tcp(task: Any) -> None:
    """A listener, a connection to it, 1000 bytes over it."""
    call = task.syscall
    address = task.alloc(16)
    task.write(address, struct.pack("=H", 2) + struct.pack(">H", 8080) + bytes([127, 0, 0, 1]) + bytes(8))
    listener = call("socket", 2, 1, 0)
    call("bind", listener, address, 16)
    call("listen", listener, 5)
    client = call("socket", 2, 1, 0)
    call("connect", client, address, 16)
    server = call("accept4", listener, 0, 0, 0)
    buffer = task.alloc(2048)
    call("sendto", client, b"d" * 1000, 1000, 0, 0, 0)
    call("recvfrom", server, buffer, 2000, 0, 0, 0)
    call("sendto", server, b"answer", 6, 0, 0, 0)
    call("recvfrom", client, buffer, 2000, 0, 0, 0)
    for fd in (server, client, listener):
        call("close", fd)


# ---------------------------------------------------------------------------------------------------- rows


@dataclass
class Tool:
    """How one tool is tried.  `check` raises AssertionError where the result is wrong; its words say what was right."""

    prepare: Callable[[BpfObject], None] | None = None
    attach: Callable[[Trial], None] | None = None
    check: Callable[[Trial], str] | None = None
    why_not: str = ""  # why it cannot work on 6.1, there as here


def run(data: bytes, name: str, tool: Tool, kernel: str = "6.1", arch: str = "x86_64") -> tuple[str, str]:
    """(how far it came: open, load, attach, run; why no farther, or what was seen)."""
    machine = simkernel.boot(
        arch=arch, kernel=kernel, binds=[(str(ROOT / "samples" / "bin" / arch), "/samples", False)]
    )
    stage = "open"
    try:
        obj = BpfObject(data, name)
        if tool.prepare:
            tool.prepare(obj)
        stage = "load"
        machine.load(obj)
        stage = "attach"
        trial = Trial(machine, obj, [])
        obj.attach()
        if tool.attach:
            tool.attach(trial)
        buffers = _buffers(trial)
        stage = "run"
        workload(machine)
        for buffer in buffers:
            buffer.consume()
        stage = "check"
        seen = tool.check(trial) if tool.check else f"{len(obj.links)} attached"
        return "right" if tool.check else "attached", seen
    except LoadError as error:
        return stage, error.why.splitlines()[0]
    except AssertionError as error:
        return stage, f"{type(error).__name__}: {error}"
    finally:
        machine.close()


def _buffers(trial: Trial) -> list[Any]:
    obj, found = trial.obj, []
    btf = obj.btf
    assert btf is not None
    event = next((i for n in ("event", "data_t") if (i := btf.find(n, Kind.STRUCT))), 0)

    def sample(data: bytes) -> None:
        trial.events.append(values.decode(btf, event, data) if event and len(data) >= btf.size_of(event) else data)

    for m in obj.maps.values():
        if m.type == 4:
            found.append(PerfBuffer(m, lambda cpu, data: sample(data), pages=64))
        elif m.type == 27:
            found.append(RingBuffer(m, sample))
    return found


def by_hand(program: str, symbol: str, is_return: bool = False) -> Callable[[Trial], None]:
    def attach(trial: Trial) -> None:
        obj = trial.obj
        obj.links.append(attach_kprobe(obj, obj.programs[program], symbol, 0, is_return))

    return attach


def manual(*names: str) -> Callable[[BpfObject], None]:
    """Programs that the tool attaches itself."""

    def prepare(obj: BpfObject) -> None:
        for name in names:
            obj.programs[name].autoattach = False

    return prepare


def steps(*all_of: Callable[[Trial], None]) -> Callable[[Trial], None]:
    def attach(trial: Trial) -> None:
        for step in all_of:
            step(trial)

    return attach


def expect(condition: object, what: str) -> str:
    assert condition, what
    return what


def text_of(event: Any) -> bytes:
    return event if isinstance(event, bytes) else repr(event).encode()


def some_event(*words: bytes | str, count: int | None = None) -> Callable[[Trial], str]:
    """An event that holds all these words (raw bytes of it where the object's BTF has lost its type)."""
    wanted = [w.encode() if isinstance(w, str) else w for w in words]

    def check(trial: Trial) -> str:
        assert trial.events, "no event"
        assert any(all(w in text_of(e) for w in wanted) for e in trial.events), (
            f"no event with {words}: {trial.events[:3]}"
        )
        assert count is None or len(trial.events) == count, f"{len(trial.events)} events instead of {count}"
        return f"{len(trial.events)} events"

    return check


def map_has(name: str, what: Callable[[Any, Any], bool], words: str) -> Callable[[Trial], str]:
    def check(trial: Trial) -> str:
        rows = dict_items(trial, name)
        return expect(any(what(k, v) for k, v in rows), words + (f" in {rows[:4]}" if not rows else ""))

    return check


def dict_items(trial: Trial, name: str) -> list[tuple[Any, Any]]:
    return list(trial.obj.maps[name].items())


def histogram(name: str) -> Callable[[Trial], str]:
    """A map of histograms has counted something."""
    return map_has(name, lambda k, v: sum(v["slots"]) > 0, "a histogram with counts")


def bss(check_it: Callable[[Any], bool], words: str) -> Callable[[Trial], str]:
    return lambda trial: expect(check_it(trial.obj.bss), words)


LOCALHOST = bytes([127, 0, 0, 1])
PORT_8080 = struct.pack("<H", 8080)
NO_BTF = off("raw_tp/*")
_SIMFS = {"file_read": "simfs_file_read_iter", "file_write": "simfs_file_write_iter", "file_sync": "vfs_fsync_range"}
_FS = targets(**{f"{k}_{end}": v for k, v in _SIMFS.items() for end in ("fentry", "fexit")})
INLINED = "the function is inlined in 6.1; the tool of this version needs an older kernel"
GONE = "the function is gone in 6.1; the tool of this version needs an older kernel"

TOOLS: dict[str, Tool] = {
    "bashreadline": Tool(manual("printret"), lambda t: _uretprobe(t, "printret", "/samples/server", "answer")),
    "bindsnoop": Tool(off("*ipv6*"), check=some_event("worker", PORT_8080, count=1)),
    "biolatency": Tool(NO_BTF, check=histogram("hists")),
    "biopattern": Tool(check=map_has("counters", lambda k, v: v["sequential"] + v["random"] > 0, "a disk with requests")),
    "biosnoop": Tool(why_not=INLINED),
    "biostacks": Tool(why_not=INLINED),
    "biotop": Tool(manual("blk_account_io_start", "blk_account_io_done"),
                   steps(by_hand("blk_account_io_start", "__blk_account_io_start"),
                         by_hand("blk_account_io_done", "__blk_account_io_done")),
                   map_has("counts", lambda k, v: v["bytes"] > 0, "bytes by process")),
    "bitesize": Tool(check=histogram("hists")),
    "cachestat": Tool(why_not=GONE),
    "capable": Tool(sized(stackmap=1024), check=some_event("worker")),
    "cpudist": Tool(both(NO_BTF, sized(start=1024, hists=1024)), check=histogram("hists")),
    "cpufreq": Tool(manual("do_sample")),
    "drsnoop": Tool(),
    "execsnoop": Tool(check=some_event("/samples/hello", "one", "two")),
    "exitsnoop": Tool(check=some_event("worker")),
    "filelife": Tool(check=some_event("worker", "file")),
    "filetop": Tool(check=map_has("entries", lambda k, v: v["filename"] == "file" and v["writes"] == 3
                                  and v["write_bytes"] == 600 and v["read_bytes"] == 600, "3 writes, 600 bytes each way")),
    "fsdist": Tool(_FS, check=bss(lambda b: sum(sum(h["slots"]) for h in b.hists) > 0, "latencies")),
    "fsslower": Tool(_FS, check=some_event("data")),
    "funclatency": Tool(both(manual("dummy_kprobe", "dummy_kretprobe")),
                        steps(by_hand("dummy_kprobe", "vfs_write"), by_hand("dummy_kretprobe", "vfs_write", True)),
                        bss(lambda b: sum(b.hist) > 3, "a histogram")),
    "gethostlatency": Tool(manual("handle_entry", "handle_return"),
                           lambda t: _uprobes(t, ("handle_entry", "handle_return"), "/samples/server", "answer"),
                           some_event("server", count=40)),
    "hardirqs": Tool(NO_BTF, check=map_has("infos", lambda k, v: True, "an interrupt")),
    "javagc": Tool(manual("handle_gc_start", "handle_gc_end", "handle_mem_pool_gc_start", "handle_mem_pool_gc_end"),
                   lambda t: _gc(t)),
    "klockstat": Tool(both(sized(stack_map=1024), off("kprobe/*", "kretprobe/*"))),
    "ksnoop": Tool(manual("kprobe_entry", "kprobe_return"),
                   steps(by_hand("kprobe_entry", "vfs_write"), by_hand("kprobe_return", "vfs_write", True))),
    "llcstat": Tool(manual("on_cache_miss", "on_cache_ref")),
    "mdflush": Tool(why_not="Debian builds md as a module, which this kernel has not"),
    "mountsnoop": Tool(check=some_event("tmpfs")),
    "numamove": Tool(why_not="the machine has one memory node"),
    "offcputime": Tool(sized(stackmap=1024), check=map_has("info", lambda k, v: v["comm"] == "worker", "the sleep of worker")),
    "oomkill": Tool(),
    "opensnoop": Tool(check=some_event("worker", "/no/such/file")),
    "readahead": Tool(why_not=INLINED),
    "runqlat": Tool(NO_BTF, check=histogram("hists")),
    "runqlen": Tool(manual("do_sample")),
    "runqslower": Tool(NO_BTF, check=some_event("worker")),
    "sigsnoop": Tool(check=some_event("'tpid': 99999", "'sig': 9", "'ret': -3", "worker")),
    "slabratetop": Tool(),
    "softirqs": Tool(NO_BTF, check=bss(lambda b: sum(b.counts) > 0, "softirqs counted")),
    "solisten": Tool(off("kprobe/*", "kretprobe/*"), check=some_event("'port': 8080", "'backlog': 5", "worker", count=1)),
    "statsnoop": Tool(check=some_event("worker", "/tmp/file")),
    "syscount": Tool(check=map_has("data", lambda k, v: k == 62 and v["count"] == 2, "two calls of kill")),
    "tcpconnect": Tool(off("*v6*"), check=some_event("worker", LOCALHOST, count=1)),
    "tcpconnlat": Tool(both(off("fentry/*"), off("*v6*")), check=some_event("worker", LOCALHOST)),
    "tcplife": Tool(check=some_event(LOCALHOST)),
    "tcprtt": Tool(off("kprobe/*"), check=histogram("hists")),
    "tcpstates": Tool(check=some_event(LOCALHOST)),
    "tcpsynbl": Tool(both(off("kprobe/*"), off("*v6*")), check=map_has("hists", lambda k, v: k == 5, "backlog of 5")),
    "tcptop": Tool(check=map_has("ip_map", lambda k, v: (v["sent"], v["received"]) == (1000, 6), "1000 bytes out, 6 back")),
    "tcptracer": Tool(off("*v6*"), check=some_event("worker", LOCALHOST, count=4)),
    "vfsstat": Tool(off("kprobe/*"), check=bss(lambda b: b.stats[0] > 0 and b.stats[1] >= 4 and b.stats[2] == 3,
                                               "reads, writes and three fsyncs")),
    "wakeuptime": Tool(sized(stackmap=1024), check=map_has("counts", lambda k, v: k["target"] == "worker", "wakeups of worker")),
}  # fmt: skip


def _uretprobe(trial: Trial, program: str, path: str, function: str) -> None:
    obj = trial.obj
    obj.links.append(attach_uprobe(obj, obj.programs[program], path, 0, function=function, is_return=True))


def _uprobes(trial: Trial, programs: tuple[str, str], path: str, function: str) -> None:
    obj = trial.obj
    obj.links.append(attach_uprobe(obj, obj.programs[programs[0]], path, 0, function=function))
    _uretprobe(trial, programs[1], path, function)


def _gc(trial: Trial) -> None:
    """javagc watches a Java runtime's probes; the server's two stand in for begin and end."""
    obj = trial.obj
    names = list(obj.programs)
    for program, probe in ((names[0], "request"), (names[1], "answer")):
        obj.links.append(attach_usdt(obj, obj.programs[program], "/samples/server", "server", probe))


def main(arguments: list[str]) -> int:
    found = objects()
    if not found:
        print(f"{PACKAGE} {VERSION} cannot be had here", file=sys.stderr)
        return 1
    results = {}
    names = [a for a in arguments if not a.startswith("-")]
    for name, data in found.items():
        if names and name not in names:
            continue
        results[name] = run(data, name, TOOLS[name])
        if TOOLS[name].why_not and results[name][0] not in ("right", "attached"):
            results[name] = (results[name][0], TOOLS[name].why_not)
        print(f"{name:14} {results[name][0]:9} {results[name][1]}", flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
