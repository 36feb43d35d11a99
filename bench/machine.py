"""What the whole machine costs: start-up, system calls, user code, kprobe hits with and without a BPF program.

Peers, where this machine has them: Qiling (an emulator of user programs on the same CPU emulation) for system calls and
user code, and the same programs run natively.  Figures are medians of several runs in one process; rows are to be compared,
not machines.  `python -m bench machine`
"""

from __future__ import annotations

import os
import platform
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
WORK = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "simkernel-bench"
ROUNDS = 5

SOURCE = r"""
static long call(long n, long a, long b, long c) {
  long r; __asm__ volatile("syscall":"=a"(r):"a"(n),"D"(a),"S"(b),"d"(c):"rcx","r11","memory"); return r; }
static long number(const char *s) { long n = 0; while (*s) n = n * 10 + *s++ - '0'; return n; }
__attribute__((noreturn)) void run(long *sp) {
  long count = number((char *)sp[3]); const char *what = (char *)sp[2];
  if (*what == 'g') { while (count--) call(110, 0, 0, 0); }                       /* getppid */
  else if (*what == 'w') { long fd = call(2, (long)"/dev/null", 1, 0); while (count--) call(1, fd, (long)"x", 1); }
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
    if not binary.exists():
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
        """Host seconds of one run."""
        start = time.perf_counter()
        result = self.machine.run([self.path, what, str(count)])
        assert result.status == 0
        return time.perf_counter() - start

    def per_turn(self, what: str, count: int) -> float:
        """Nanoseconds of one turn, the start of the program taken out."""
        base = median(lambda: self.seconds(what, 1))
        return (median(lambda: self.seconds(what, count)) - base) / count * 1e9


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


def peer(command: list[str], what: str, count: int) -> float | None:
    """Nanoseconds of one turn when another program runs the loop; None where it is not installed."""
    if not Path(command[0]).exists() and shutil.which(command[0]) is None:
        return None

    def once(n: int) -> float:
        start = time.perf_counter()
        done = subprocess.run([*command, what, str(n)], capture_output=True, check=False)
        return time.perf_counter() - start if done.returncode == 0 else float("nan")

    base = median(lambda: once(1))
    return (median(lambda: once(count)) - base) / count * 1e9


QILING = "import sys; from qiling import Qiling; from qiling.const import QL_VERBOSE as V; Qiling(sys.argv[1:], '/', verbose=V.DISABLED).run()"


def main() -> None:
    """Print the rows."""
    print(f"Python {platform.python_version()}, {os.cpu_count()} processors, medians of {ROUNDS}")
    qiling = os.environ.get("SIMKERNEL_BENCH_QILING")  # a Python that has qiling
    loop = Loop()
    print(f"start to the end of an empty program   {start_up() * 1000:8.0f} ms")
    rows = [
        ("getppid", "g", 20000),
        ("write 1 byte to /dev/null", "w", 20000),
        ("user loop turn (4 insns)", "c", 20_000_000),
    ]
    for name, what, count in rows:
        ours = loop.per_turn(what, count)
        line = f"{name:<38} {ours:10.2f} ns"
        native = peer([str(program())], what, count * 20)
        line += f"   native {native:8.2f} ns ({ours / native:6.1f} x)" if native else ""
        if qiling:
            other = peer([qiling, "-c", QILING, str(program())], what, min(count, 2_000_000))
            line += f"   Qiling {other:10.2f} ns ({other / ours:5.1f} x ours)" if other else ""
        print(line)
    base = loop.per_turn("g", 20000)
    for name, counter in (("kprobe, empty handler: added", False), ("kprobe, BPF hash counter: added", True)):
        print(f"{name:<38} {probed(loop, counter) - base:10.2f} ns")


if __name__ == "__main__":
    main()
