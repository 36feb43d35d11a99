"""Rebuild bin/x86_64/perf, perf_more, perf_sweep, perf_groups, perf_cgroups, perf_tasks, perf_chains, perf_ten, perf_rings, perf_userpage, perf_resets, perf_periods, perf_flow, trace_writes, pipe_readers, raw_readers, trace_files, raw_pages, ns_records, late_events and w:  python tests/tracing/programs/build.py      (needs ziglang; a minute at first)

perf_6_1.out is what `perf arguments breakpoints watch records program groups samples` prints on Debian's 6.1.192, as root on one CPU.
The scripts in shell/ know where the functions of w are: add3 at 0xc70 of the file, deep at 0xc90.
"""

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
CALLED = [
    "-O1",
    "-g0",
    "-fno-inline",
    "-fno-builtin",
    "-Wl,--strip-debug",
]  # functions stay functions, with their names

if __name__ == "__main__":
    for source, name, flags in (
        ("perf.c", "perf", ["-Os", "-s"]),
        ("perf_more.c", "perf_more", ["-O1", "-s", "-w", "-fno-sanitize=all"]),
        ("perf_sweep.c", "perf_sweep", ["-Os", "-s", "-w", "-fno-sanitize=all"]),
        ("trace_files.c", "trace_files", ["-Os", "-s", "-w", "-fno-sanitize=all"]),
        ("raw_pages.c", "raw_pages", ["-Os", "-s", "-w", "-fno-sanitize=all"]),
        ("ns_records.c", "ns_records", ["-Os", "-s", "-w", "-fno-sanitize=all"]),
        ("perf_groups.c", "perf_groups", ["-O1", "-s", "-w", "-fno-sanitize=all"]),
        ("perf_cgroups.c", "perf_cgroups", ["-O1", "-s", "-w", "-fno-sanitize=all"]),
        ("perf_tasks.c", "perf_tasks", ["-O1", "-s", "-w", "-fno-sanitize=all"]),
        ("perf_chains.c", "perf_chains", ["-O1", "-s", "-w", "-fno-sanitize=all"]),
        ("perf_ten.c", "perf_ten", ["-O1", "-s", "-w", "-fno-sanitize=all"]),
        ("perf_rings.c", "perf_rings", ["-O1", "-s", "-w", "-fno-sanitize=all"]),
        ("perf_userpage.c", "perf_userpage", ["-O1", "-s", "-w", "-fno-sanitize=all"]),
        ("perf_resets.c", "perf_resets", ["-O1", "-s", "-w", "-fno-sanitize=all"]),
        ("perf_periods.c", "perf_periods", ["-O1", "-s", "-w", "-fno-sanitize=all"]),
        ("perf_flow.c", "perf_flow", ["-O1", "-s", "-w", "-fno-sanitize=all"]),
        ("trace_writes.c", "trace_writes", ["-O1", "-s", "-w", "-fno-sanitize=all"]),
        ("pipe_readers.c", "pipe_readers", ["-O1", "-s", "-w", "-fno-sanitize=all"]),
        ("raw_readers.c", "raw_readers", ["-O1", "-s", "-w", "-fno-sanitize=all"]),
        ("late_events.c", "late_events", ["-Os", "-s", "-w", "-fno-sanitize=all"]),
        ("work.c", "w", CALLED),
    ):
        target = ["-target", "x86_64-linux-musl", "-static", *flags]
        command = [sys.executable, "-m", "ziglang", "cc", *target, source, "-o", f"bin/x86_64/{name}"]
        subprocess.run(command, cwd=HERE, check=True)
