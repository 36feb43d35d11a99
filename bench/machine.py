"""What the whole machine costs: start-up, system calls, user code, kprobe hits with and without a BPF program.

Peers, where this machine has them: the same program run natively, by qemu-user, by Qiling (SIMKERNEL_BENCH_QILING is a Python
that has it) and by a real kernel (SIMKERNEL_BENCH_KERNEL is a command that boots one: `COMMAND run -f PROGRAM SCRIPT` puts the
program into its root directory and runs the script with its shell, whose `time` prints minutes and seconds).  Of us it is
processor time.  Rows are to be compared, not machines.  `python -m bench machine [--json]`
"""

from __future__ import annotations

import os
import re
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path

from arch.native import Word
from bench._rows import Row, report

ROOT = Path(__file__).resolve().parents[1]
WORK = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "simkernel-bench"
ROUNDS = 5

SOURCE = r"""
static long call(long n, long a, long b, long c) {
  long r; __asm__ volatile("syscall":"=a"(r):"a"(n),"D"(a),"S"(b),"d"(c):"rcx","r11","memory"); return r; }
__attribute__((noinline)) void target(long x) { __asm__ volatile("" : "+r"(x)); }
static long number(const char *s) { long n = 0; while (*s) n = n * 10 + *s++ - '0'; return n; }
__attribute__((noreturn)) void run(long *sp) {
  long count = number((char *)sp[3]); const char *what = (char *)sp[2];
  if (*what == 'g') { while (count--) call(110, 0, 0, 0); }                       /* getppid */
  else if (*what == 'w') { long fd = call(2, (long)"/dev/null", 1, 0); while (count--) call(1, fd, (long)"x", 1); }
  else if (*what == 'r') { static char b[4096]; long fd = call(2, (long)"/tmp/r", 66, 384); call(1, fd, (long)b, 4096);
    while (count--) { call(8, fd, 0, 0); call(0, fd, (long)b, 4096); } }          /* a page of a file */
  else if (*what == 'f') { while (count--) target(count); }                       /* a function of its own */
  else if (*what == 'c') { volatile long x = 1; for (long i = 0; i < count; i++) x = x * 3 + i; }
  call(231, 0, 0, 0); __builtin_unreachable(); }
__asm__(".globl _start\n_start: mov %rsp, %rdi\n call run\n");
"""


COUNTER = r"""
#include "bpf.h"
struct { number(type, HASH); number(max_entries, 64); type_of(key, u32); type_of(value, u64); } counts SEC(".maps");
SEC("kprobe/FUNCTION") int count(struct pt_regs *ctx) {
  u32 pid = current_pid_tgid() >> 32; u64 one = 1, *n = map_lookup(&counts, &pid);
  if (n) __sync_fetch_and_add(n, 1); else map_update(&counts, &pid, &one, ANY);
  return 0; }
char LICENSE[] SEC("license") = "GPL";
"""


def counter_object(function: str) -> bytes:
    """A BPF object that counts the calls of a kernel function by process."""
    WORK.mkdir(parents=True, exist_ok=True)
    source, out = WORK / "count.bpf.c", WORK / "count.bpf.o"
    source.write_text(COUNTER.replace("FUNCTION", function))
    flags = ["-O2", "-g", "-DTARGET_x86_64", f"-I{ROOT / 'samples' / 'include'}", "-c", str(source), "-o", str(out)]
    subprocess.run([sys.executable, "-m", "ziglang", "cc", "-target", "bpfel-freestanding", *flags], check=True)
    return out.read_bytes()


def program() -> Path:
    """The measured program, built once."""
    WORK.mkdir(parents=True, exist_ok=True)
    source, binary = WORK / "loop.c", WORK / "loop"
    if not binary.exists() or source.read_text() != SOURCE:
        source.write_text(SOURCE)
        compiler = [shutil.which("gcc")] if shutil.which("gcc") else [sys.executable, "-m", "ziglang", "cc"]
        flags = ["-O1", "-static", "-nostdlib", "-fno-stack-protector", "-fno-pic", "-no-pie"]
        subprocess.run([*map(str, compiler), *flags, "-o", str(binary), str(source)], check=True)
    return binary


def median(measure: object, rounds: int = ROUNDS) -> float:
    """Median of several calls."""
    return statistics.median(measure() for _ in range(rounds))  # type: ignore[operator]


class Loop:
    """Runs `loop WHAT COUNT` in one booted machine and times the difference of two counts."""

    def __init__(self, **boot: object) -> None:
        import simkernel

        self.machine = simkernel.boot(**boot)  # type: ignore[arg-type]
        self.path = self.machine.install(program())

    def seconds(self, what: str, count: int) -> float:
        """Processor time of one run."""
        start = time.process_time()
        result = self.machine.run([self.path, what, str(count)])
        assert result.status == 0
        return time.process_time() - start

    def turns(self, what: str, count: int) -> list[float]:
        """Nanoseconds of one turn in each round, the start of the program taken out."""
        base = min(self.seconds(what, 1) for _ in range(ROUNDS))
        return [(self.seconds(what, count) - base) / count * 1e9 for _ in range(ROUNDS)]

    def per_turn(self, what: str, count: int) -> float:
        """The least of them."""
        return min(self.turns(what, count))


def start_up() -> float:
    """Seconds from launch to the end of a program that exits at once, in a new process."""
    command = [
        sys.executable,
        "-c",
        "import simkernel,sys; m=simkernel.boot(); m.run([m.install(sys.argv[1]),'g','0'])",
    ]

    def once() -> float:
        start = time.perf_counter()
        subprocess.run([*command, str(program())], check=True, cwd=ROOT)
        return time.perf_counter() - start

    return median(once)


def probed(loop: Loop, counter: bool) -> float:
    """Nanoseconds of a getppid with a kprobe on it: no program, or one that counts in a hash map."""
    symbol = loop.machine.kernel.syscalls.symbols["getppid"]
    if not counter:
        from tracing.probes.kprobes import Kprobe

        probe = Kprobe(lambda regs: None, symbol)
        loop.machine.kernel.observer.tracing.kprobes.register(probe)
        try:
            return loop.per_turn("g", 20000)
        finally:
            loop.machine.kernel.observer.tracing.kprobes.unregister(probe)
    obj = loop.machine.load(counter_object(symbol), "count")
    links = obj.attach()
    try:
        return loop.per_turn("g", 20000)
    finally:
        for link in links:
            link.destroy()


def peer(command: list[str], what: str, count: int) -> list[float]:
    """Nanoseconds of one turn when another program runs the loop; none where it is not installed."""
    if not Path(command[0]).exists() and shutil.which(command[0]) is None:
        return []

    def once(n: int) -> float:
        start = time.perf_counter()
        done = subprocess.run([*command, what, str(n)], capture_output=True, check=False)
        return time.perf_counter() - start if done.returncode == 0 else float("nan")

    base = median(lambda: once(1))
    return [(once(count) - base) / count * 1e9 for _ in range(ROUNDS)]


def real_kernel(counts: dict[str, int]) -> dict[str, list[float]]:
    """The same for each letter of the loop, by a real kernel; nothing where there is none."""
    command = os.environ.get("SIMKERNEL_BENCH_KERNEL")
    if not command:
        return {}
    turns = [(what, count) for what, count in counts.items() for _ in range(ROUNDS)]
    script = "; ".join(f"time /{program().name} {what} {count}" for what, count in turns)
    done = subprocess.run([*command.split(), "run", "-f", str(program()), script], capture_output=True, text=True)
    times = re.findall(r"^real\s+(\d+)m ?([\d.]+)s", done.stdout + done.stderr, re.M)
    found: dict[str, list[float]] = {what: [] for what in counts}
    for (what, count), (minutes, seconds) in zip(turns, times, strict=True):
        found[what].append((int(minutes) * 60 + float(seconds)) / count * 1e9)
    return found


QILING = "import sys; from qiling import Qiling; from qiling.const import QL_VERBOSE as V; Qiling(sys.argv[1:], '/', verbose=V.DISABLED).run()"


def main() -> None:
    """Print the rows."""
    qiling = os.environ.get("SIMKERNEL_BENCH_QILING")
    loop = Loop()
    rows = [Row("start to the end of an empty program", [start_up() * 1000], "ms")]
    loops = {
        "g": ("getppid", 20000),
        "w": ("write 1 byte to /dev/null", 20000),
        "r": ("lseek, and read of a page of tmpfs", 20000),
        "c": ("user loop turn (4 insns)", 20_000_000),
    }
    real = real_kernel({"g": 500_000, "w": 300_000, "r": 50_000, "c": 50_000_000})
    for what, (name, count) in loops.items():
        peers = {
            "native": peer([str(program())], what, count * 20),
            "qemu-user": peer(["qemu-x86_64", str(program())], what, count * 5),
            "Qiling": peer([qiling, "-c", QILING, str(program())], what, min(count, 2_000_000)) if qiling else [],
            "the real kernel": real.get(what, []),
        }
        own = loop.turns(what, count)
        rows.append(Row(name, own, peers={peer: samples for peer, samples in peers.items() if samples}))
    loop.machine.kernel.cpu.words[Word.SYSCALLS] = 0  # as with the probe: the call goes its whole way
    base = loop.per_turn("g", 20000)
    for name, counter in (("kprobe, empty handler: added", False), ("kprobe, BPF hash counter: added", True)):
        rows.append(Row(name, [probed(loop, counter) - base]))
    report(rows)


if __name__ == "__main__":
    main()
