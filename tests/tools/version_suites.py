"""The verifier's own tests of a long-term kernel, progs/verifier_*.c, on a real kernel and here: verdict, errno and log.

    python tests/tools/version_suites.py --kernel 6.12 --asking 'COMMAND {files} {script} {out}'
    python tests/tools/version_suites.py --kernel 7.2 --real ANSWERS.txt global       # objects whose name holds a word
    python tests/tools/version_suites.py --tests 'rbtree*.c,linked_list*.c' --clang clang-19 --asking '...'   # other programs

COMMAND is anything that boots the real kernel, puts the files {files} (one word: paths with commas between) into its /, runs the
shell command {script} there and writes what that left in /tmp/out to {out}; --real names what it wrote another time. The
source is Debian's package linux-source-6.12, unpacked into the user's cache, never into the project; what the compiler does not
know is left out (--clang names another). Needs Debian's packages clang-14, gcc, libbpf-dev and libelf-dev.
"""

from __future__ import annotations

import argparse
import difflib
import re
import shlex
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from bpf_selftests import BPF
from figures import Figure, keep
from foreign_packages import cache, unpack

SOURCE = "linux-source-6.12"
PARTS = (f"{BPF}/progs", f"{BPF}/*.h", f"{BPF}/bpf_testmod", "tools/lib/bpf/*.h", "tools/include")
HEADERS = Path("/usr/include")
# Addresses, and how long it took: not the verifier's doing.
CHANCE = re.compile(r"verification time \d+ usec|0xffff[0-9a-f]{12}")


def source() -> Path:
    """The unpacked parts of the kernel's source."""
    root = cache() / f"{SOURCE}-verifier"
    if not (root / ".complete").exists():
        (packed,) = unpack(root, SOURCE).glob("usr/src/*.tar.xz")
        names = [f"{SOURCE}/{part}" for part in PARTS]
        subprocess.run(["tar", "xJf", packed, "-C", root, "--strip-components=1", "--wildcards", *names], check=True)
        packed.unlink()
        (root / ".complete").touch()
    return root


def objects(root: Path, patterns: list[str], clang: str) -> list[Path]:
    """The compiled tests; compiled when they are not there."""
    made, include = root / f"objects-{Path(clang).name}", root / "include"
    if not include.is_dir():
        (include / "bpf").mkdir(parents=True)
        for header in (HEADERS / "bpf/bpf_helper_defs.h", *(root / "tools/lib/bpf").glob("*.h")):
            (include / "bpf" / header.name).write_bytes(header.read_bytes())
        types = [sys.executable, "-m", "simkernel", "btf", "dump", "--kernel", "6.12", "--format", "c"]
        subprocess.run([*types, "--out", include / "vmlinux.h"], check=True)
    made.mkdir(exist_ok=True)
    tests = {test: made / f"{test.stem}.bpf.o" for one in patterns for test in (root / BPF / "progs").glob(one)}
    missing = [test for test, out in tests.items() if not out.exists()]
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda test: compile_test(root, test, tests[test], clang), missing))
    return sorted(out for out in tests.values() if out.exists())


def compile_test(root: Path, test: Path, made: Path, clang: str) -> None:
    """One object; nothing where this compiler does not know the instructions."""
    folders = (root / "include", root / BPF, root / "tools/include/uapi", test.parent)
    own = subprocess.run([clang, "-print-resource-dir"], capture_output=True, text=True, check=True).stdout.strip()
    late = (f"{own}/include", HEADERS / "x86_64-linux-gnu", HEADERS)
    subprocess.run(
        [clang, "-g", "-O2", "-mcpu=v3", "--target=bpf", "-D__TARGET_ARCH_x86", *(f"-I{folder}" for folder in folders),
         "-Wno-everything", *(word for folder in late for word in ("-idirafter", folder)), "-c", test, "-o", made],
        cwd=test.parent, capture_output=True,
    )  # fmt: skip


def tool(root: Path) -> Path:
    """bpf_verdicts.c, linked statically."""
    made = root / "bpf_verdicts"
    text = Path(__file__).with_name("bpf_verdicts.c")
    subprocess.run(["gcc", "-O1", "-static", "-s", "-o", made, text, "-lbpf", "-lelf", "-lz"], check=True)
    return made


Answers = dict[tuple[str, str], tuple[int, list[str]]]


def answers(text: str) -> Answers:
    """(object, program) -> (error, lines of the log)."""
    found: Answers = {}
    for row in re.split(r"^@ ", text, flags=re.MULTILINE)[1:]:
        head, *lines = row.splitlines()
        obj, name, error, _length = head.split()
        found[obj, name] = int(error), [CHANCE.sub("-", line) for line in lines]
    return found


def ask_real(command: str, files: list[Path], script: str, out: Path) -> str:
    """What the real kernel says."""
    words = {"files": ",".join(str(file) for file in files), "script": script, "out": str(out)}
    subprocess.run([word.format(**words) for word in shlex.split(command)], check=True)
    return out.read_text(errors="replace")


def ask_here(kernel: str, root: Path, folder: str, names: list[str], level: int) -> str:
    """What the simulated one says."""
    script = f"cd /suite/{folder}; LEVEL={level} ../bpf_verdicts {' '.join(names)}"
    words = [
        "run",
        "--kernel",
        kernel,
        "--memory",
        "1G",
        "--bind",
        f"{root}:/suite",
        "/bin/busybox",
        "sh",
        "-c",
        script,
    ]
    done = subprocess.run([sys.executable, "-m", "simkernel", *words], capture_output=True)
    return done.stdout.decode(errors="replace")


def compare(real: Answers, here: Answers, kernel: str, what: str | None) -> bool:
    """Print what differs, and how much agrees; keep the figures of `what`."""
    verdict = errno = log = unsound = 0
    for key, (error, lines) in real.items():
        got, ours = here.get(key, (1, ["no answer"]))
        verdict += (got == 0) == (error == 0)
        errno += got == error
        log += lines == ours
        unsound += got == 0 != error
        if got != error:
            word = " UNSOUND" if got == 0 else ""
            print(f"{key[0]} {key[1]}: {got}, real {error}{word}: {' '.join(ours[-3:])}")
        elif lines != ours:
            print(
                f"{key[0]} {key[1]}: log\n", "\n".join(list(difflib.unified_diff(lines, ours, lineterm="", n=1))[:12])
            )
    print(f"{len(real)} programs: verdict {verdict}, errno {errno}, log {log}")
    if what:
        row: Figure = {"kernel": kernel, "what": what, "count": len(real), "unsound": unsound, "verdict": verdict}
        keep("programs", [{**row, "errno": errno, "log1": [log, len(real)]}])
    return errno == log == len(real)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("words", nargs="*", help="only objects whose name holds one of these")
    parser.add_argument("--kernel", default="6.12")
    parser.add_argument("--level", type=int, default=1)
    parser.add_argument("--tests", default="verifier_*.c", help="patterns of the files in progs/, with commas between")
    parser.add_argument("--clang", default="clang-14")
    parser.add_argument("--asking", metavar="COMMAND")
    parser.add_argument("--real", type=Path, default=Path("verifier_answers.txt"))
    parser.add_argument("--keep", metavar="WORDS", help="keep the figures, of what these words say")
    args = parser.parse_args()
    root = source()
    made = objects(root, args.tests.split(","), args.clang)
    chosen = [path for path in made if not args.words or any(word in path.name for word in args.words)]
    names = [path.name for path in chosen]
    verdicts = tool(root)
    if args.asking:
        script = f"cd /; LEVEL={args.level} /{verdicts.name} {' '.join(names)} >/tmp/out"
        said = ask_real(args.asking, [verdicts, *chosen], script, args.real)
    else:
        said = args.real.read_text(errors="replace")
    wanted = {name.split(".")[0] for name in names}
    expected = {key: answer for key, answer in answers(said).items() if key[0] in wanted}
    here = answers(ask_here(args.kernel, root, f"objects-{Path(args.clang).name}", names, args.level))
    return 0 if compare(expected, here, args.kernel, args.keep) else 1


if __name__ == "__main__":
    raise SystemExit(main())
