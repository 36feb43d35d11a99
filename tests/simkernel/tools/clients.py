"""Debian's tracing clients, unmodified, in the machine:  python -m tests.simkernel.tools.clients [WORD]   writes docs/clients.md

Each case is a shell command and what its output has to show.  For perf and trace-cmd the patterns hold for what the same
command printed on Debian's real 6.1 (tests/data/tracing/clients_6_1.txt; test_clients.py checks that); bpftrace's tools run
beside a small workload, and the lines of their run on the real 6.1 (bpftrace_6_1.json) have to be shown.  With WORD only the cases that contain it run, and nothing is written; with --page WORD
their rows are, and the other rows stay those of their last run.
"""

from __future__ import annotations

import json
import os
import re
import resource
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "clients.md"
RECORDED = ROOT / "tests" / "data" / "tracing" / "clients_6_1.txt"
FOLDERS = ("/lib", "/lib64", "/usr", "/bin", "/sbin", "/etc")
HEAD = """# Tracing clients

Made by `python -m tests.simkernel.tools.clients`.  Debian 12's packages (linux-perf 6.1, trace-cmd 3.1.6, bpftrace 0.17), unmodified,
run in the machine with the host's root bound (x86_64, one CPU).  *Shown* are patterns that the output has to match, all of
them; the real 6.1's output to the same command matches them, too.  Beside bpftrace's tools runs a workload (a loop, cat, kill, sync,
a TCP connection, nanosleep), there and here: every line of the real run that is a heading or message, names a process of the workload or
is a row of a histogram has to be shown here.  Seconds are CPU time of the host.

"""


class Case(NamedTuple):
    """One command."""

    command: str
    shown: tuple[str, ...]
    lines: bool = False  # these are lines of the real run, not patterns


PERF_TESTS = "2 3 5 9 14 15 16 18 25 27 29 30 31 32 33 34 35 36 37 39 41 43 44 45 46 47 48 49 50 51 52 53 55 56 57 59 60 61 64 65 66 67 70"
COMPARED = (
    Case("perf stat -e page-faults,context-switches,task-clock,minor-faults,dummy true",
         (r"\d+ +page-faults +#", r"\d+ +context-switches", r"[\d.]+ msec task-clock", r"0 +dummy", r"seconds user")),
    Case("perf stat -e 'syscalls:sys_enter_*' true 2>&1 | grep -v ' 0 ' | head",
         (r"Performance counter stats for 'true'", r"\d+ +syscalls:sys_enter_\w+")),
    Case("perf record -e sched:sched_switch -o /tmp/p.data sleep 0.1; perf report -i /tmp/p.data --stdio; perf script -i /tmp/p.data",
         (r"Samples: \d+ +of event 'sched:sched_switch'", r"Total Lost Samples: 0",
          r"sleep +\d+ \[000\] +[\d.]+: sched:sched_switch: prev_comm=sleep prev_pid=\d+ prev_prio=120 prev_state=S ==>")),
    Case("perf record -g -e cpu-clock -o /tmp/p.data sh -c 'i=0; while [ $i -lt 300 ]; do i=$((i+1)); done'; "
         "perf report -i /tmp/p.data --stdio | head -40",
         (r"Samples: \d+ +of event 'cpu-clock'", r"Children +Self +Command +Shared Object +Symbol", r"sh +\S+ +\[.\] ")),
    Case("perf record -e syscalls:sys_enter_read -a -o /tmp/p.data true; perf script -i /tmp/p.data | head -5",
         (r"true +\d+ \[000\] +[\d.]+: syscalls:sys_enter_read: fd: 0x00000003, buf: 0x7ff\w+, count: 0x00000340",)),
    Case("perf trace -s true", (r"Summary of events:", r"mmap +[78] +0", r"pread64 +2 +0", r"access +1 +1", r"execve +1 +0")),
    Case("perf probe -a vfs_write; perf probe -l; perf probe -d vfs_write",
         (r"probe:vfs_write +\(on vfs_write\)", r"Removed event: probe:vfs_write")),
    Case("perf kallsyms vfs_read", (r"vfs_read: \[kernel\] \[kernel.kallsyms\] 0xffffffff81\w+-0xffffffff81\w+",)),
    Case("perf sched record -o /tmp/s.data sleep 0.1; perf sched latency -i /tmp/s.data",
         (r"Task +\| +Runtime ms +\| +Switches", r"sleep:\d+ +\| +[\d.]+ ms", r"TOTAL:")),
    Case("perf sched record -o /tmp/s.data sleep 0.01; perf sched timehist -i /tmp/s.data | head; perf sched map -i /tmp/s.data | head -5",
         (r"Samples do not have callchains", r"sleep\[\d+\]", r"secs A0 => perf-exec:\d+")),
    Case("perf lock record -o /tmp/l.data true; perf lock report -i /tmp/l.data", (r"Name +acquired +contended +avg wait",)),
    Case("perf list sw", (r"alignment-faults +\[Software event\]", r"cgroup-switches", r"user_time +\[Tool event\]")),
    Case("perf bench sched pipe -l 100", (r"Executed 100 pipe operations between two processes", r"usecs/op")),
    Case("perf bench syscall basic -l 100", (r"Executed 100 getppid\(\) calls",)),
    Case("perf bench futex wake -t 2", (r"Run 10\]: Wokeup 2 of 2 threads",)),
    Case("perf mem record true", (r"failed: memory events not supported",)),
    Case(f"perf test {PERF_TESTS} 2>&1", tuple(rf"\n? +{number}: [^\n]*: Ok" for number in PERF_TESTS.split())),
    Case("perf ftrace -t function -T vfs_read -- cat /etc/hostname 2>&1 | head -8",
         (r"# tracer: function\n#\n# entries-in-buffer/entries-written: 0/0   #P:1", r" cat-\d+ +\[000\] +[\d.]+: vfs_read <-ksys_read")),
    Case("perf ftrace -t function_graph -G vfs_read --graph-opts depth=2 -- cat /etc/hostname 2>&1 | head -12",
         (r"# tracer: function_graph\n#\n# CPU  DURATION                  FUNCTION CALLS", r" 0\) +\|  vfs_read\(\) \{", r" us +\|    rw_verify_area\(\);")),
    Case("perf ftrace latency -T vfs_read -- cat /etc/hostname 2>&1 | head -30",
         (r"#   DURATION     \|      COUNT \| GRAPH +\|", r"\d - \d+ +us \| +[1-9]\d* \| #+", r"\n     1 - ...   s \|          0 \|")),
    Case("perf ftrace -F 'vfs_re*'", (r"^vfs_readv\nvfs_read\nvfs_rename\nvfs_readlink\nvfs_removexattr\n",)),
    Case("trace-cmd list -t", (r"function_graph.* function nop",)),
    Case("trace-cmd list -e sched:sched_sw -F", (r"name: sched_switch\nID: 319\n", r"name: sched_swap_numa\nID: 302\n")),
    Case("trace-cmd record -e sched:sched_process_exec -o /tmp/t.dat /usr/bin/true; trace-cmd report -i /tmp/t.dat",
         (r"true-\d+ +\[000\] +[\d.]+: sched_process_exec: +filename=/usr/bin/true pid=\d+ old_pid=\d+",)),
    Case("trace-cmd record -e sched:sched_switch -o /tmp/t.dat sleep 0.1 > /dev/null; trace-cmd hist -i /tmp/t.dat | head -20",
         (r"%[\d.]+ +\(\d+\) sleep +sched_switch #\d", r"%[\d.]+ +\(0\) <idle> +sched_switch #\d", r"--- \*sched_switch\*")),
    Case("trace-cmd start -e syscalls:sys_enter_openat; cat /etc/hostname > /dev/null; trace-cmd stop; trace-cmd show | grep cat- | head -3; "
         "trace-cmd stat | head -20; trace-cmd reset; trace-cmd stat",
         (r"cat-\d+ +\[000\] \S+ +[\d.]+: sys_openat\(dfd: ffffff9c, filename: \w+, flags: 80000, mode: 0\)",
          r"Individual events:\n    syscalls\n        sys_enter_openat", r"Buffer total size in kilobytes:\n   1410", r"Tracing is disabled",
          r"All disabled", r"Tracing is enabled")),
    Case("trace-cmd snapshot -s; trace-cmd snapshot | head -5", (r"\* Snapshot is allocated \*",)),
    Case("trace-cmd record -p function_graph -g vfs_read --max-graph-depth 2 -o /tmp/t.dat cat /etc/hostname > /dev/null; trace-cmd report -i /tmp/t.dat | grep -A 2 'vfs_read() {'",
         (r"funcgraph_entry: +\|  vfs_read\(\) \{\n", r"funcgraph_entry: +\+? ? ?[\d.]+ us +\|    rw_verify_area\(\);")),
    Case("trace-cmd record -p function -l vfs_read -o /tmp/t.dat cat /etc/hostname > /dev/null; trace-cmd report -i /tmp/t.dat | grep vfs_read",
         (r" cat-\d+ +\[000\] +[\d.]+: function: +vfs_read",)),
    Case("trace-cmd record -e sched:sched_switch --profile -o /tmp/t.dat sleep 0.1 > /dev/null; trace-cmd report --profile -i /tmp/t.dat",
         (r"task: sleep-\d+\n", r"Event: sched_switch:\w+ \(\d+\) Total: \d+ Avg: \d+ Max: \d+", r"__traceiter_sched_switch \(0xffffffff81\w+\)\n +__schedule ")),
    Case("mkdir -p /sys/fs/cgroup/g; echo +pids > /sys/fs/cgroup/cgroup.subtree_control; "
         "perf stat -a -e context-switches,page-faults --for-each-cgroup g sh -c 'echo $$ > /sys/fs/cgroup/g/cgroup.procs; exec sleep 0.1'",
         (r"Performance counter stats for 'system wide'", r"\n +\d+ +context-switches +g ", r"\n +\d+ +page-faults +g ")),
    Case("perf record -e sched:sched_process_exec -a -g -o /tmp/p.data true; perf script -i /tmp/p.data -F comm,event,ip,sym | head -8",
         (r"true sched:sched_process_exec: \n\tffffffff81\w+ bprm_execve\n\tffffffff81\w+ do_execveat_common.isra.0\n\tffffffff81\w+ __x64_sys_execve\n"
          r"\tffffffff81\w+ do_syscall_64\n",)),
    Case("bpftool feature probe kernel | grep -E 'kprobe|tracepoint|raw_trace' | head -8",
         (r"eBPF program_type kprobe is available\neBPF program_type tracepoint is available\neBPF program_type raw_tracepoint is available\n",)),
)  # fmt: skip
# sleep(1) of today calls clock_nanosleep(2): naptime sees the nanosleep(2) of perl.
WORK = (
    "i=0; while [ $i -lt 3000 ]; do i=$((i+1)); done; cat /etc/hostname; sleep 0.05; sh -c 'kill -0 $$'; sync; "
    "busybox nc -l -p 77 -e true & sleep 0.3; busybox nc 127.0.0.1 77 < /dev/null; "
    "perl -e '$t = pack(q(qq), 0, 5e7); syscall(35, $t, 0)'"
)
# A tool has started when it has printed two lines, or else after some time; an emulated machine takes its time.
STARTED = "i=0; while [ $i -lt 90 ] && [ $(cat /tmp/out | wc -l) -lt 2 ] && kill -0 $B 2>/dev/null; do sleep 0.5; i=$((i+1)); done; sleep 3"
ENDED = "j=0; while kill -INT $B 2>/dev/null && [ $j -lt 40 ]; do sleep 1; j=$((j+1)); done; kill -9 $B 2>/dev/null; wait $B; cat /tmp/out"


TOLD = (
    ROOT / "tests" / "data" / "tracing" / "bpftrace_6_1.json"
)  # tool -> the lines of its run on a real 6.1 that count
PROCESSES = re.compile(r"\b(cat|sleep|sync|busybox|perl)\b")
ROW = re.compile(r"^[\[(][^|]*[\])] +\d+ \|@* *\|$")
COUNTS = re.compile(r"^(/usr/sbin|Attaching|WARNING|ERROR|@\[\w+\]: \d+$)")
REASONS = {  # why lines are not shown
    "dcsnoop.bt": "paths are walked without `lookup_fast()`",
    "vfscount.bt": "`vfs_getattr()` does without it",
}


def told(text: str) -> list[str]:
    """The lines that count: headings and messages, processes of the workload, rows of histograms; numbers are N, blanks one."""
    return list(dict.fromkeys(filter(None, map(normal, text.splitlines()))))


def normal(line: str) -> str:
    """A line without what differs from run to run; nothing where it does not count."""
    if ROW.match(line):
        return "[N, N) N |"
    if "kill: No such process" in line or (
        re.search(r"\d", line) and not PROCESSES.search(line) and not COUNTS.match(line)
    ):
        return ""
    return " ".join(re.sub(r"\b(0x)?[0-9a-f]*\d[0-9a-f]*\b", "N", line).split())[:200]


def tool(name: str, lines: list[str]) -> Case:
    """One of bpftrace's tools beside the workload, ended as by Ctrl-C."""
    command = f"{name} > /tmp/out 2>&1 & B=$!; {STARTED}; ({WORK}) > /dev/null 2>&1; sleep 1; {ENDED}"
    return Case(command, tuple(lines), True)


def cases() -> list[Case]:
    """All of them."""
    return [*COMPARED, *(tool(name, lines) for name, lines in json.loads(TOLD.read_text()).items())]


def run(case: Case) -> tuple[str, float]:
    """What the command prints in the machine, and the seconds of CPU that took."""
    binds = [word for folder in FOLDERS for word in ("--bind", f"{folder}:{folder}")]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "simkernel", "run", "--host-timeout", "150", *binds, "--", "/bin/sh", "-c"]
    script = f"cd /tmp; export PAGER=cat; {case.command}"
    done = subprocess.run([*command, script], cwd=ROOT, capture_output=True, check=False, env=dict(os.environ))
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    text = (done.stdout + done.stderr).decode(errors="replace")
    return text, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def missing(case: Case, text: str) -> list[str]:
    """The patterns that the output does not match, the lines that it does not have."""
    if case.lines:
        here = set(told(text))
        return [line for line in case.shown if line not in here]
    return [pattern for pattern in case.shown if re.search(pattern, text) is None]


def cell(text: str) -> str:
    """For a table."""
    return text.replace("|", "\\|")


def shown_command(case: Case) -> str:
    """As the table has it."""
    return case.command.split(" > /tmp/out")[0] if ".bt >" in case.command else case.command


def merged(rows: list[str]) -> list[str]:
    """These rows, and those of the page for the other cases, in the order of the cases."""
    known = {row.split("` |", 1)[0]: row for row in [*PAGE.read_text().splitlines(), *rows] if row.startswith("| `")}
    keys = (f"| `{cell(shown_command(case))}" for case in cases())
    return [known[key] for key in keys if key in known]


def lines_cell(case: Case, left: list[str]) -> tuple[str, str]:
    """What the table says of a tool: how many lines of the real run, and how many of them came here."""
    name, count = shown_command(case), len(case.shown)
    if not left:
        return f"{count} lines of 6.1's run", "as shown"
    return (
        f"{count} lines of 6.1's run",
        f"{count - len(left)}, without `{cell(left[0])}`: {REASONS.get(name, 'not known')}",
    )


def main() -> None:
    """Run, and write the page."""
    merging = sys.argv[1:2] == ["--page"]
    word = "".join(sys.argv[1 + merging : 2 + merging])
    rows, right = [], 0
    chosen = [case for case in cases() if word in case.command]
    for case in chosen:
        text, seconds = run(case)
        left = missing(case, text)
        right += not left
        name = shown_command(case)
        result = "as shown" if not left else f"without `{cell(left[0])}`"
        if case.lines:
            shown, result = lines_cell(case, left)
        elif len(case.shown) > 8:
            shown, result = f"{len(case.shown)} lines `N: ...: Ok`", result if len(left) < 2 else f"{len(left)} not"
        else:
            shown = ", ".join(f"`{cell(pattern)}`" for pattern in case.shown)
        rows.append(f"| `{cell(name)}` | {shown} | {result} | {seconds:.0f} |")
        print(name[:60], result, f"{seconds:.0f} s", flush=True)
        if word:
            print(text)
    if merging:
        rows = merged(rows)
        right = sum("| as shown |" in row for row in rows)
    if merging or not word:
        table = ["| command | shown | result | seconds |", "|---|---|---|---|", *rows]
        PAGE.write_text(HEAD + f"{right} of {len(rows)} show all of it.\n\n" + "\n".join(table) + "\n")


if __name__ == "__main__":
    main()
