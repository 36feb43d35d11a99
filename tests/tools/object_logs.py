"""BPF objects on a real kernel and by `simkernel verify --btf`, with that kernel's own types: error and whole log of each program.

    python tests/tools/object_logs.py --kernel 6.12 --asking 'COMMAND {files} {script} {out}' OBJECT...
    python tests/tools/object_logs.py --kernel 6.12 --kept FOLDER OBJECT...          # what was asked another time
    python tests/tools/object_logs.py --kernel 6.12 --asking '...' --from /usr/sbin  # objects inside of programs (skeletons)

COMMAND is as in version_suites.py; the kernel's /sys/kernel/btf/vmlinux is asked for first.  Both come into --kept, and so do
objects that are found within programs.  On the real kernel libbpf loads each program alone (bpf_verdicts.c); its version has to be 1.x.
Addresses of the kernel in logs, and times, are each machine's own.  Needs Debian's packages gcc, libbpf-dev and libelf-dev.
"""

from __future__ import annotations

import argparse
import json
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

from version_suites import CHANCE, Answers, answers, ask_real, compare, tool

BPF_MACHINE = 247
MAGIC = b"\x7fELF\x02\x01\x01"


def inside(program: Path, folder: Path) -> list[Path]:
    """BPF objects that a program carries."""
    data, found, at = program.read_bytes(), [], 0
    while (at := data.find(MAGIC, at + 1)) > 0:
        (machine,) = struct.unpack_from("<H", data, at + 18)
        if machine == BPF_MACHINE:
            (sections,) = struct.unpack_from("<Q", data, at + 40)
            size, count = struct.unpack_from("<HH", data, at + 58)
            made = folder / f"{program.name}{len(found) or ''}.bpf.o"
            made.write_bytes(data[at : at + sections + size * count])
            found.append(made)
    return found


def here(kernel: str, types: Path, objects: list[Path], level: int) -> Answers:
    """What `simkernel verify` says, in the form of bpf_verdicts.c's answers."""
    words = ["--kernel", kernel, "--btf", types, "--log-level", str(level), "--json"]
    command = [sys.executable, "-m", "simkernel", "verify", *words, *objects]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace")
    found: Answers = {}
    for row in map(json.loads, done.stdout.splitlines()):
        name = Path(row.get("object", objects[0])).name.split(".")[0]
        found[name, row["name"]] = row["ret"], [CHANCE.sub("-", each) for each in row["log"].splitlines()]
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("objects", nargs="*", type=Path)
    parser.add_argument("--kernel", required=True)
    parser.add_argument("--level", type=int, default=1)
    parser.add_argument("--from", dest="programs", type=Path, help="a folder of programs that carry objects")
    parser.add_argument("--asking", metavar="COMMAND")
    parser.add_argument("--kept", type=Path, default=Path(tempfile.gettempdir()) / "object_logs")
    parser.add_argument("--keep", metavar="WORDS", help="keep the figures, of what these words say")
    args = parser.parse_args()
    args.kept.mkdir(exist_ok=True)
    carried = sorted(args.programs.iterdir()) if args.programs else []
    objects = [
        *args.objects,
        *(made for program in carried if program.is_file() for made in inside(program, args.kept)),
    ]
    types, said = args.kept / f"{args.kernel}.btf", args.kept / f"{args.kernel}-{args.level}.txt"
    if args.asking:
        ask_real(args.asking, [], "cat /sys/kernel/btf/vmlinux >/tmp/out", types)
        verdicts = tool(args.kept)
        names = " ".join(f"/{path.name}" for path in objects)
        ask_real(args.asking, [verdicts, *objects], f"LEVEL={args.level} /{verdicts.name} {names} >/tmp/out", said)
    wanted = {path.name.split(".")[0] for path in objects}
    expected = {key: row for key, row in answers(said.read_text(errors="replace")).items() if key[0] in wanted}
    ours = here(args.kernel, types, objects, args.level)
    for key, (error, lines) in expected.items():  # what the kernel never saw has the loader's words here, nothing there
        if not lines and key in ours and ours[key][0] == error:
            ours[key] = error, []
    return 0 if compare(expected, ours, args.kernel, args.keep) else 1


if __name__ == "__main__":
    raise SystemExit(main())
