"""The verifier's own tests of Linux 5.10, test_verifier, on real kernels and here: verdict and log of each, privileged and not.

    python tests/tools/old_verifier_suite.py --kernel 5.10 --asking 'COMMAND {files} {script} {out}'
    python tests/tools/old_verifier_suite.py --kernel 6.1 --real ANSWERS.txt

COMMAND and ANSWERS.txt are as in version_suites.py.  The source is Debian's package linux-source-5.10 of bullseye, given by
--package FILE.deb where apt does not know it; it is unpacked into the user's cache, never into the project.  The suite runs
on any kernel; what random numbers it makes are left out.  Needs Debian's packages gcc, make, libelf-dev and libcap-dev.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from pathlib import Path

from bpf_selftests import BPF
from foreign_packages import cache, fresh_make, unpack
from version_suites import CHANCE, Answers, ask_real, compare

SOURCE = "linux-source-5.10"
PARTS = ("tools/*", "scripts/bpf_helpers_doc.py", "include/uapi/linux/bpf.h")
ALLOWED = "echo 0 > /proc/sys/kernel/unprivileged_bpf_disabled"
RANDOM = ("ld_dw: xor semi-random 64 bit imms", "scale: scale test")
HEAD = re.compile(r"(?=#\d+/[up] [^\n]*?(?:, verifier log:|OK|FAIL|SKIP))")


def source(package: Path | None) -> Path:
    """The unpacked parts of the kernel's source."""
    root = cache() / f"{SOURCE}-verifier"
    if not (root / ".complete").exists():
        if package is None:
            unpack(root, SOURCE)
        else:
            subprocess.run(["dpkg-deb", "-x", package, root], check=True)
        (packed,) = root.glob("usr/src/*.tar.xz")
        names = [f"{SOURCE}/{part}" for part in PARTS]
        subprocess.run(["tar", "xJf", packed, "-C", root, "--strip-components=1", "--wildcards", *names], check=True)
        packed.unlink()
        (root / ".complete").touch()
    return root


def program(root: Path) -> Path:
    """test_verifier, linked statically with its own libbpf."""
    built, folder, lib = root / "built", root / BPF, root / "tools/lib"
    made, here = built / "test_verifier", Path(__file__).parent
    if made.exists():
        return made
    built.mkdir(exist_ok=True)
    flags = ["-C", lib / "bpf", f"OUTPUT={built}/", f"{built}/libbpf.a", "EXTRA_CFLAGS=-Wno-error"]
    subprocess.run(["make", *flags], check=True, stdout=subprocess.DEVNULL, env=fresh_make())
    lines = [f'#include "../{test.relative_to(folder)}"\n' for test in sorted((folder / "verifier").glob("*.c"))]
    (folder / "verifier/tests.h").write_text("".join(["#ifdef FILL_ARRAY\n", *lines, "#endif\n"]))
    headers = built / "include/bpf"
    headers.mkdir(parents=True, exist_ok=True)
    for header in (*(lib / "bpf").glob("*.h"), built / "bpf_helper_defs.h"):
        (headers / header.name).write_bytes(header.read_bytes())
    folders = (built / "include", root / "tools/include", root / "tools/include/uapi", lib, folder)
    subprocess.run(
        ["gcc", "-O1", "-w", "-static", "-s", *(f"-I{each}" for each in folders), "-o", made,
         folder / "test_verifier.c", here / "old_libcap.c", built / "libbpf.a", "-lelf", "-lz"], check=True,
    )  # fmt: skip
    return made


def answers(text: str) -> Answers:
    """(number and privilege, what is tested) -> (0 for accepted by the test, lines of the log)."""
    found: Answers = {}
    text = re.sub(r"libbpf: (failed to find valid kernel BTF|vmlinux BTF is not found)\n", "", text)
    for row in HEAD.split(text)[1:]:
        head, *lines = row.partition("\nSummary: ")[0].rstrip().splitlines()
        number, name = re.sub(r", verifier log:| (OK|FAIL|SKIP).*", "", head).split(" ", 1)
        if not name.startswith(RANDOM):
            said = [CHANCE.sub("-", line) for line in (head, *lines)]
            found[number, name.strip()] = int(any(re.search(r"\bFAIL", line) for line in (head, *lines[-1:]))), said
    return found


def ask_here(kernel: str, made: Path) -> str:
    """What the simulated one says."""
    script = f"{ALLOWED}; /suite/{made.name} -v 2>&1"
    words = ["run", "--kernel", kernel, "--memory", "1G", "--bind", f"{made.parent}:/suite", "/bin/busybox", "sh", "-c"]
    done = subprocess.run([sys.executable, "-m", "simkernel", *words, script], capture_output=True)
    return done.stdout.decode(errors="replace")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kernel", default="5.10")
    parser.add_argument("--asking", metavar="COMMAND")
    parser.add_argument("--real", type=Path, default=Path("test_verifier_answers.txt"))
    parser.add_argument("--package", type=Path)
    parser.add_argument("--keep", action="store_true", help="keep the figures")
    args = parser.parse_args()
    made = program(source(args.package))
    if args.asking:
        said = ask_real(args.asking, [made], f"{ALLOWED}; /{made.name} -v > /tmp/out 2>&1", args.real)
    else:
        said = args.real.read_text(errors="replace")
    what = "test_verifier of 5.10, with capabilities and without" if args.keep else None
    return 0 if compare(answers(said), answers(ask_here(args.kernel, made)), args.kernel, what) else 1


if __name__ == "__main__":
    raise SystemExit(main())
