"""Debian's libbpf-tools, the programs as they come, beside one workload in the machine, compared with the same runs on the real 6.1.

    python tests/tools/libbpf_programs.py                  # all of them; --page writes docs/libbpf-tools.md
    python tests/tools/libbpf_programs.py --kernel 6.12    # beside another real kernel: 5.10, 6.12, 7.2; --page keeps what was shown
    python tests/tools/libbpf_programs.py opensnoop tcp    # those whose command holds one of the words, with what was not shown
    python tests/tools/libbpf_programs.py --ask BOOT...    # asks a real kernel; BOOT as in record_tracefs.py, with memory for 60 MB of files

What has to be the same: every line of the real kernel's run that is a heading or message (no digit in it), that names a process
of the workload, or that is a row of a histogram has to be shown here.  Numbers count as N, blanks as one; how often and in which order lines
come, which rows a histogram has, and what the machines do beside the workload, are each machine's own.
"""

from __future__ import annotations

import argparse
import json
import re
import resource
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from foreign_packages import path

ROOT = Path(__file__).parents[2]
DATA = ROOT / "tests/data/tracing"
HERE = DATA / "libbpf_programs_here.json"  # kernel -> command -> (lines that have to be shown, the first that is not)
USUAL = "6.1"
PAGE = ROOT / "docs/libbpf-tools.md"
COMMANDS = (
    "bashreadline", "bindsnoop", "biolatency", "biopattern 1 2", "biosnoop", "biostacks 2", "biotop 1 30", "bitesize", "cachestat 1 2",
    "capable", "cpudist", "cpufreq 2", "drsnoop", "execsnoop", "exitsnoop", "ext4dist", "ext4slower", "filelife", "filetop -C 1 40",
    "fsdist -t ext4", "fsslower -t ext4", "funclatency -u vfs_write", "gethostlatency", "hardirqs 1 2", "javagc", "klockstat",
    "ksnoop trace vfs_write", "llcstat 2", "mdflush", "mountsnoop", "nfsdist", "numamove", "offcputime 30", "oomkill", "opensnoop",
    "readahead", "runqlat", "runqlen 1 2", "runqslower 1", "sigsnoop", "slabratetop 1 2", "softirqs 1 2", "solisten", "statsnoop",
    "syscount -d 2", "tcpconnect", "tcpconnlat", "tcplife", "tcprtt", "tcpstates", "tcpsynbl", "tcptop -C 1 30", "tcptracer",
    "vfsstat 1 40", "wakeuptime 30",
)  # fmt: skip
LIBRARIES = ("libelf.so.1", "libz.so.1", "libc.so.6")
LOADER = "/lib64/ld-linux-x86-64.so.2"
# A tool has begun when it has had so many seconds: an emulated machine takes its time.
WAIT_HERE, WAIT_THERE = 2, 14
SCRIPT = """ip link set lo up; ifconfig lo 127.0.0.1 up; mkdir -p /tmp /mnt /etc; [ -e /etc/hostname ] || echo box > /etc/hostname
tool() {
  echo "=== $*"
  name=$1; shift
  /lbt/$name "$@" > /tmp/o 2>&1 & P=$!
  sleep WAIT
  (cat /etc/hostname; echo hi > /tmp/x; mkdir /tmp/d; busybox true; cat /no/such; rm /tmp/x
   dd if=/dev/zero of=/tmp/f bs=4k count=4; sync; mount -t tmpfs none /tmp/d; umount /tmp/d; rmdir /tmp/d; stat /etc
   busybox nc -l -p 9 > /dev/null & sleep 0.2; echo hello | busybox nc 127.0.0.1 9; sh -c 'kill -USR1 $$'; sleep 0.3) > /dev/null 2>&1
  sleep 1
  kill -INT $P 2> /dev/null; sleep 0.5; kill -KILL $P 2> /dev/null; wait $P 2> /dev/null
  head -c 60000 /tmp/o; echo "--- end"
}
"""
PROCESSES = re.compile(r"\b(cat|mkdir|busybox|rm|dd|sync|mount|umount|rmdir|stat)\b")
ROW = re.compile(r"^\s*\d+ -> \d+ +: \d+")
REASONS = {  # command -> why a line is not shown here
    "ksnoop trace vfs_write": "the real output is cut there",
    "offcputime 30": "where a slow machine with work of its own was preempted or waited",
    "opensnoop": "/etc/passwd is there in this machine",
    "tcpstates": "the other side closed first",
    "wakeuptime 30": "who slept beside the workload",
}


def answers(kernel: str) -> Path:
    """command -> the lines that have to be shown on it."""
    return DATA / f"libbpf_programs_{kernel.replace('.', '_')}.json"


def script(commands: list[str], wait: int) -> str:
    """All of them, one behind the other."""
    return SCRIPT.replace("WAIT", str(wait)) + "".join(f"tool {command}\n" for command in commands)


def told(console: str) -> dict[str, list[str]]:
    """Command -> the lines that count, each once."""
    found = {}
    for part in console.split("=== ")[1:]:
        command, _, text = part.partition("\n")
        found[command.strip()] = list(
            dict.fromkeys(filter(None, map(normal, text.partition("--- end")[0].splitlines())))
        )
    return found


def normal(line: str) -> str:
    """A line without what differs from run to run; nothing where it does not count."""
    if ROW.match(line):
        return "N -> N : N"
    if re.search(r"\d", line) and not PROCESSES.search(line):
        return ""
    return " ".join(re.sub(r"\b(0x)?[0-9a-f]*\d[0-9a-f]*\b", "N", line).split())


def tools() -> Path:
    """Where the programs are."""
    found = path("libbpf-tools", "amd64")
    assert found is not None, "python tests/tools/foreign_packages.py fetches them"
    return found / "usr/sbin"


def ask(boot: list[str]) -> str:
    """The real kernel's console."""
    with tempfile.TemporaryDirectory() as folder:
        packed, text = Path(folder) / "tools.tar", Path(folder) / "tools.sh"
        with tarfile.open(packed, "w", dereference=True) as tar:
            tar.add(LOADER, LOADER[1:])
            for library in LIBRARIES:
                tar.add(f"/lib/x86_64-linux-gnu/{library}", f"lib/x86_64-linux-gnu/{library}")
            for name in {command.split()[0] for command in COMMANDS}:
                tar.add(tools() / name, f"lbt/{name}")
        text.write_text(script(list(COMMANDS), WAIT_THERE))
        command = "cd /; tar xf tools.tar; rm tools.tar; sh /tools.sh 2>&1"
        return subprocess.run([*boot, "-f", packed, "-f", text, command], capture_output=True, text=True, errors="replace", check=True).stdout  # fmt: skip


def run_inside(command: str, kernel: str) -> tuple[str, float]:
    """The machine's console, and the seconds of processor time that took."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    binds = [
        "--bind",
        "/lib/x86_64-linux-gnu:/lib/x86_64-linux-gnu",
        "--bind",
        "/lib64:/lib64",
        "--bind",
        f"{tools()}:/lbt",
    ]
    words = [
        sys.executable,
        "-m",
        "simkernel",
        "run",
        "--kernel",
        kernel,
        "--host-timeout",
        "200",
        *binds,
        "busybox",
        "sh",
        "-c",
    ]
    done = subprocess.run([*words, script([command], WAIT_HERE)], cwd=ROOT, capture_output=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return done.stdout.decode(errors="replace"), after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def page(rows: list[tuple[str, int, list[str], float]]) -> str:
    """docs/libbpf-tools.md."""
    right = sum(not missing for _, _, missing, _ in rows)
    assert __doc__ is not None
    rule = " ".join(__doc__.partition("What has to be")[2].split())
    out = [
        "# libbpf-tools on the simulated kernel", "",
        "Made by `python tests/tools/libbpf_programs.py --page`.  The programs of Debian's package libbpf-tools 0.26, unmodified, each beside",
        "one workload of busybox's (files, a mount, a TCP connection, a signal), on x86_64 with one CPU, and the same runs on Debian's real 6.1.",
        f"What has to be {rule}", "",
        f"{right} of {len(rows)} show all of it, {sum(not count for _, count, _, _ in rows)} of which have no such line; {sum(count - len(missing) for _, count, missing, _ in rows)} of "
        f"{sum(count for _, count, _, _ in rows)} lines.  Seconds are processor time of the host.", "",
        "| program | lines of 6.1's | shown here | the first that is not | why | seconds |", "|---|---|---|---|---|---|",
    ]  # fmt: skip
    for command, count, missing, seconds in rows:
        first = f"`{missing[0].replace('|', '/')[:120]}`" if missing else ""
        out.append(
            f"| `{command}` | {count} | {count - len(missing)} | {first} | {REASONS.get(command, 'not known') if missing else ''} | {seconds:.1f} |"
        )
    return "\n".join([*out, *other_kernels()]) + "\n"


def other_kernels() -> list[str]:
    """What was shown on the others."""
    kept = json.loads(HERE.read_text()) if HERE.exists() else {}
    out = []
    for kernel, shown in kept.items():
        whole = sum(not missing for _, missing in shown.values())
        out += ["", f"## On {kernel}", "", f"Beside the real {kernel}: {whole} of the {len(shown)} that were compared show all lines of the real run; the others:", ""]  # fmt: skip
        out += ["| program | lines | not shown | the first | why |", "|---|---|---|---|---|"]
        for command, (count, missing) in shown.items():
            if missing:
                out.append(
                    f"| `{command}` | {count} | {len(missing)} | `{missing[0].replace('|', '/')[:120]}` | {REASONS.get(command, 'not known')} |"
                )
    return out


def keep(kernel: str, rows: list[tuple[str, int, list[str], float]]) -> None:
    """What was shown on a kernel that is not the usual one, and the page with it."""
    kept = json.loads(HERE.read_text()) if HERE.exists() else {}
    kept[kernel] = {**kept.get(kernel, {}), **{command: [count, missing] for command, count, missing, _ in rows}}
    HERE.write_text(
        json.dumps(dict(sorted(kept.items(), key=lambda row: [int(n) for n in row[0].split(".")])), indent=0) + "\n"
    )
    PAGE.write_text("\n".join([PAGE.read_text().partition("\n\n## On ")[0].rstrip(), *other_kernels()]) + "\n")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("words", nargs="*")
    parser.add_argument("--page", action="store_true")
    parser.add_argument("--kernel", default=USUAL)
    parser.add_argument("--ask", nargs=argparse.REMAINDER, help="boot a real kernel and keep what it shows")
    parser.add_argument(
        "--console", type=Path, nargs="+", help="the consoles of such runs; later ones count where they show more"
    )
    args = parser.parse_args()
    if args.ask or args.console:
        kept: dict[str, list[str]] = {}
        for console in [ask(args.ask)] if args.ask else [file.read_text(errors="replace") for file in args.console]:
            for command, lines in told(console).items():
                kept[command] = max(kept.get(command, []), lines, key=len)
        answers(args.kernel).write_text(json.dumps({command: kept[command] for command in COMMANDS}, indent=0) + "\n")
        return 0
    assert shutil.which("busybox"), "a static busybox on this host"
    expected: dict[str, list[str]] = json.loads(answers(args.kernel).read_text())
    rows = []
    for command in COMMANDS:
        if not args.words or any(word in command for word in args.words):
            console, seconds = run_inside(command, args.kernel)
            shown = set(told(console).get(command, []))
            missing = [line for line in expected[command] if line not in shown]
            rows.append((command, len(expected[command]), missing, seconds))
            print(
                f"{command:26} {len(expected[command]) - len(missing):3} of {len(expected[command]):3} {seconds:6.1f} s",
                flush=True,
            )
            for line in missing:
                print(f"    - {line}")
            if args.words:
                print(console)
    if args.page and args.kernel != USUAL:
        keep(args.kernel, rows)
    elif args.page:
        PAGE.write_text(page(rows))
    return 0 if all(not missing for _, _, missing, _ in rows) else 1


if __name__ == "__main__":
    raise SystemExit(main())
