"""What frequent ways through the kernel cost: calls, pipes, paths, faults, forks, datagrams.

    python -m bench paths [--against FOLDER] [--json] [WORD ...]

Each row is a turn of a loop as processor time; --against another checkout of this code (_rows.py).
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

from bench._rows import compare
from bench.machine import WORK

SOURCE = r"""
static long call6(long n, long a, long b, long c, long d, long e, long f) {
  long r; register long r10 __asm__("r10") = d; register long r8 __asm__("r8") = e; register long r9 __asm__("r9") = f;
  __asm__ volatile("syscall":"=a"(r):"a"(n),"D"(a),"S"(b),"d"(c),"r"(r10),"r"(r8),"r"(r9):"rcx","r11","memory"); return r; }
#define call(n, a, b, c) call6(n, (long)(a), (long)(b), (long)(c), 0, 0, 0)
static long number(const char *s) { long n = 0; while (*s) n = n * 10 + *s++ - '0'; return n; }
static char buf[65536], state[144];
struct inet { unsigned short family, port; unsigned addr; char zero[8]; };
__attribute__((noreturn)) void run(long *sp) {
  long count = number((char *)sp[3]); const char *what = (char *)sp[2];
  if (*what == 'g') while (count--) call(110, 0, 0, 0);
  else if (*what == 'w') { long fd = call(2, "/dev/null", 1, 0); while (count--) call(1, fd, "x", 1); }
  else if (*what == 'p') { int p[2]; call(22, p, 0, 0); while (count--) { call(1, p[1], buf, 4096); call(0, p[0], buf, 4096); } }
  else if (*what == 'P') { int p[2], q[2]; call(22, p, 0, 0); call(22, q, 0, 0); long pid = call(57, 0, 0, 0), n = count;
    while (n--) { if (pid) { call(1, p[1], buf, 1); call(0, q[0], buf, 1); } else { call(0, p[0], buf, 1); call(1, q[1], buf, 1); } }
    if (pid) call(61, -1, 0, 0); }
  else if (*what == 'o') while (count--) call(3, call(2, "/bin/paths", 0, 0), 0, 0);
  else if (*what == 's') while (count--) call(4, "/bin/paths", state, 0);
  else if (*what == 'S') while (count--) call(4, "/tmp/none/x/y", state, 0);
  else if (*what == 'm') while (count--) { char *m = (char *)call6(9, 0, 65536, 3, 0x22, -1, 0);
    for (int i = 0; i < 16; i++) m[i * 4096] = 1; call(11, m, 65536, 0); }
  else if (*what == 'F') while (count--) { long pid = call(57, 0, 0, 0); if (!pid) call(231, 0, 0, 0); call(61, pid, 0, 0); }
  else if (*what == 'u') { struct inet to = {2, 0x5710, 0x0100007f}; long a = call(41, 2, 2, 0), b = call(41, 2, 2, 0);
    call(49, a, &to, 16); while (count--) { call6(44, b, (long)buf, 64, 0, (long)&to, 16); call6(45, a, (long)buf, 64, 0, 0, 0); } }
  else if (*what == 'y') { long pid = call(57, 0, 0, 0); while (count--) call(24, 0, 0, 0); if (pid) call(61, pid, 0, 0); }
  else if (*what == 't') { long fd = call(2, "/tmp/r", 66, 384); while (count--) { call(8, fd, 0, 0); call(1, fd, buf, 4096); } }
  call(231, 0, 0, 0); __builtin_unreachable(); }
__asm__(".globl _start\n_start: mov %rsp, %rdi\n call run\n");
"""

LOOPS = {
    "g": ("getppid", 20000),
    "w": ("write of a byte to /dev/null", 20000),
    "p": ("a page through a pipe and out of it", 2000),
    "P": ("a byte to another process and back", 800),
    "o": ("open and close", 800),
    "s": ("stat of a file", 2000),
    "S": ("stat of nothing", 2000),
    "m": ("mmap, 16 faults, munmap", 300),
    "F": ("fork, exit, wait", 60),
    "u": ("a datagram over loopback", 500),
    "y": ("sched_yield between two", 2000),
    "t": ("lseek, and a write of a page of tmpfs", 1000),
}


def program() -> Path:
    """The loops, built once."""
    WORK.mkdir(parents=True, exist_ok=True)
    source, binary = WORK / "paths.c", WORK / "paths"
    if not binary.exists() or source.read_text() != SOURCE:
        source.write_text(SOURCE)
        flags = ["-O1", "-static", "-nostdlib", "-fno-stack-protector", "-fno-pic", "-no-pie", "-fno-builtin"]
        subprocess.run([sys.executable, "-m", "ziglang", "cc", *flags, "-o", str(binary), str(source)], check=True)
    return binary


def measured(words: list[str]) -> dict[str, float]:
    """Nanoseconds of a turn of each loop, and of a start, in this process."""
    binary = program()
    start = time.process_time()
    import simkernel

    imported = time.process_time()
    machine = simkernel.boot()
    booted = time.process_time()
    path = machine.install(binary)

    def once(what: str, count: int, on: simkernel.Machine = machine) -> float:
        start = time.process_time()
        assert on.run([path, what, str(count)]).status == 0
        return time.process_time() - start

    once("g", 1)
    found = {
        "import": (imported - start) * 1e9,
        "boot": (booted - imported) * 1e9,
        "first run": (time.process_time() - booted) * 1e9,
    }
    for what, (name, count) in LOOPS.items():
        if not words or any(word in name for word in words):
            base = min(once(what, 1) for _ in range(3))
            found[name] = min(once(what, count) - base for _ in range(3)) / count * 1e9
    name, count = "a byte to another process and back, two CPUs", 800
    if not words or any(word in name for word in words):
        two = simkernel.boot(cpus=2)
        assert two.install(binary) == path
        once("P", count, two)
        found[name] = min(once("P", count, two) for _ in range(3)) / count * 1e9
    return found


def main() -> None:
    """Print the rows."""
    compare(__file__, measured)


if __name__ == "__main__":
    main()
