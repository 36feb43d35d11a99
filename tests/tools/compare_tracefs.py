"""Compare the whole of tracefs with a real kernel's: every name, every mode, and the text of the files that are as they are at boot.

    python tests/tools/compare_tracefs.py BOOT_COMMAND...      # asks a real 6.1 (BOOT_COMMAND as in record_tracefs.py)
    python tests/tools/compare_tracefs.py --answer FILE        # FILE: what such a run printed
    python tests/tools/compare_tracefs.py --kernel 7.2 ...     # another kernel; --keep FILE: keep its answer

The machine has no CPU: its files are read as objects.  Prints what differs; the exit status says whether anything does.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.tools.figures import keep
from tests.tracing.fakes import cat, machine
from tracing.files.nodes import Directory

TEXTS = (
    "README", "available_events", "available_tracers", "trace_options", "trace_clock", "printk_formats", "set_event", "events/header_event",
    "events/header_page", "current_tracer", "tracing_thresh", "tracing_max_latency", "buffer_percent", "set_ftrace_pid",
    "set_ftrace_notrace_pid", "set_event_pid", "set_ftrace_notrace", "set_graph_function", "set_graph_notrace",
    "max_graph_depth", "stack_max_size", "stack_trace", "uprobe_events", "kprobe_events", "dynamic_events",
    "synthetic_events", "error_log", "saved_cmdlines_size", "timestamp_mode", "tracing_cpumask", "snapshot", "trace",
    "events/enable", "events/sched/filter", "buffer_size_kb", "buffer_total_size_kb", "events/sched/sched_switch/trigger",
    "events/sched/sched_switch/hist", "events/sched/sched_switch/filter", "per_cpu/cpu0/snapshot",
    "instances/probe/trace_options", "instances/probe/available_tracers", "instances/probe/buffer_size_kb",
)  # fmt: skip
SCRIPT = """cd /sys/kernel/tracing; mkdir instances/probe
echo "=== names"; find . -exec stat -c '%A %n' {} + | sort -k2
for f in TEXTS options/* events/*/*/format events/*/*/id; do echo "=== $f"; cat $f 2>&1; done"""
BITS = "rwxrwxrwx"


def ask(command: list[str]) -> str:
    """What a real kernel says."""
    with tempfile.TemporaryDirectory() as folder:
        script, out = Path(folder) / "tree.sh", Path(folder) / "out"
        script.write_text(SCRIPT.replace("TEXTS", " ".join(TEXTS)))
        subprocess.run([*command, "-f", script, "-o", out, "sh /tree.sh > /tmp/out 2>&1"], check=True)
        return out.read_text(errors="surrogateescape")


def parts(text: str) -> dict[str, str]:
    """By the names behind `===`."""
    found = (part.partition("\n") for part in text.split("=== ")[1:])
    return {name: body for name, _, body in found}


def walk(directory: Directory, path: str) -> dict[str, str]:
    """Path -> mode of everything below."""
    found = {}
    for name, node in directory.entries().items():
        bits = "".join(bit if node.mode >> (8 - index) & 1 else "-" for index, bit in enumerate(BITS))
        found[f"{path}/{name}"] = ("d" if node.is_dir else "-") + bits
        if isinstance(node, Directory):
            found |= walk(node, f"{path}/{name}")
    return found


def without_addresses(text: str) -> str:
    """Where the strings of printk_formats lie is each kernel's own."""
    return re.sub(r"(?m)^0x[0-9a-f]+", "0x", text)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--answer", type=Path)
    parser.add_argument("--kernel", default="6.1")
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--figures", action="store_true", help="keep how much is equal")
    parser.add_argument("command", nargs="*")
    args = parser.parse_args()
    answer = args.answer.read_text(errors="surrogateescape") if args.answer else ask(args.command)
    if args.keep:
        args.keep.write_text(answer, errors="surrogateescape")
    real = parts(answer)
    tracing = machine(args.kernel, cpus=1)
    tracing.tracefs.root.lookup("instances").mkdir("probe")
    ours = walk(tracing.tracefs.root, ".")
    names = {line[11:]: line[:10] for line in real.pop("names").splitlines() if line[11:] != "."}
    differences = [f"missing: {path}" for path in sorted(names.keys() - ours.keys())]
    differences += [f"not there: {path}" for path in sorted(ours.keys() - names.keys())]
    differences += [
        f"{path}: {ours[path]}, there {mode}" for path, mode in names.items() if ours.get(path, mode) != mode
    ]
    for path, text in real.items():
        got = cat(tracing, path) if f"./{path}" in ours else text
        if path == "printk_formats":
            got, text = without_addresses(got), without_addresses(text)
        if got != text:
            differences.append(f"{path} reads {got[:300]!r}, there {text[:300]!r}")
    kinds = Counter(re.sub(r"events/[^/]+/[^/: ]+/", "events/*/*/", line) for line in differences)
    print("".join(f"{line}{f' ({count} times)' if count > 1 else ''}\n" for line, count in kinds.items()), end="")
    print(f"{len(names)} names and {len(real)} texts of the real kernel; {len(differences)} differences")
    if args.figures:
        count = len(names) + len(real)
        what = "tracefs: names with modes, texts, all `format` and `id` files"
        keep("machine", [{"kernel": args.kernel, "what": what, "count": count, "equal": count - len(differences)}])
    return 1 if differences else 0


if __name__ == "__main__":
    raise SystemExit(main())
