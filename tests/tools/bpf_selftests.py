"""The kernel's own BPF selftests in the simulated machine, compared with the real 6.1.

    python tests/tools/bpf_selftests.py                     # everything; goes on where the last run was stopped
    python tests/tools/bpf_selftests.py --minutes 20        # a slice of it
    python tests/tools/bpf_selftests.py verdicts fentry -v  # objects whose name holds the word, with libbpf's words
    python tests/tools/bpf_selftests.py progs atomics       # tests of test_progs, each in a machine of its own
    python tests/tools/bpf_selftests.py runners test_tag    # the suite's other programs, each in a machine of its own

Debian's package linux-source-6.1 is unpacked into the user's cache, never into the project, and built there: the programs
with clang-14 against the types of Debian's kernel, test_progs as it is, linked statically.  Needs Debian's packages make,
gcc, clang-14, llvm-14, lld, rsync, libelf-dev, zlib1g-dev and libcap-dev.  $VMLINUX_BTF names the kernel's BTF if it is not to be
fetched, $SIMKERNEL_SELFTESTS a `tools/testing/selftests` that is built already.

The real kernel's answers are tests/data/bpf_selftests_verdicts_6_1.txt.gz (what bpf_verdicts.c printed there) and
bpf_selftests_progs_6_1.txt (the tests that passed in a virtual machine with ip, tc, ping and the modules of Debian's kernel);
RUNNERS end with 0 there (test_maps was not asked).
"""

from __future__ import annotations

import argparse
import gzip
import lzma
import os
import re
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache as once
from functools import partial
from io import BytesIO
from pathlib import Path

from bpf_selftests_page import PAGE, Kept, write_page
from elftools.elf.elffile import ELFFile
from foreign_packages import cache, fresh_make, unpack

SOURCE = "linux-source-6.1"
PARTS = "Makefile tools scripts include arch/x86/include kernel/bpf kernel/trace usr/include"
BPF = "tools/testing/selftests/bpf"
DATA = Path(__file__).parents[1] / "data"
STATIC = "-static -lelf -lz -lrt -lpthread"
TOOLS = ("/usr", "/lib", "/lib64")  # of the host: ip, tc and ping with their libraries
SHELL = "[ -x /usr/bin/dash ] && ln -sf /usr/bin/dash /bin/sh;"  # busybox's would take its own ping and ip
NOT_BUILT = ("bpf_testmod.ko", "sign-file", "xdp_synproxy")  # a module, and what needs other libraries: tests skip them

# The programs beside test_progs, with their arguments, and how many times the usual seconds they may take.
RUNNERS = {
    "test_verifier": 20,
    "test_verifier_log": 1,
    "test_maps": 12,
    "test_lru_map": 1,
    "test_lpm_map": 5,
    "test_tag": 20,
    "test_sock": 1,
    "test_sysctl": 1,
    "test_dev_cgroup": 1,
    "get_cgroup_id_user": 1,
}

# test_maps loops for so many seconds of the machine's time, twice; 5 unless this says otherwise.
ENVIRONMENT = {"test_maps": "export BPF_SK_STORAGE_MAP_TEST_RUNTIME_S=1; ifconfig lo up;"}
WALL = 20  # real time that may pass for a second of CPU time
OBJECT_TIMES = {"loop3": 6}  # the same of an object whose verifying takes a million instructions

# ---- fetching and building ----


def kernel_btf(root: Path) -> Path:
    """The BTF inside Debian's compressed kernel image."""
    given, made = os.environ.get("VMLINUX_BTF"), root / "vmlinux.btf"
    if given:
        return Path(given)
    if not made.exists():
        text = subprocess.run(["apt-cache", "depends", "linux-image-amd64"], check=True, capture_output=True, text=True)
        (package,) = set(re.findall(r"linux-image-6\.1\S+", text.stdout))
        (image,) = unpack(root / "image", package).glob("boot/vmlinuz-*")
        packed = image.read_bytes()
        vmlinux = lzma.LZMADecompressor().decompress(packed[packed.index(b"\xfd7zXZ\0") :])
        made.write_bytes(ELFFile(BytesIO(vmlinux)).get_section_by_name(".BTF").data())
    return made


def suite() -> Path:
    """The built suite; fetched and built when it is not there."""
    given = os.environ.get("SIMKERNEL_SELFTESTS")
    if given:
        return Path(given) / "bpf"
    root = cache() / f"{SOURCE}-bpf"
    if not (root / ".complete").exists():
        (packed,) = unpack(root, SOURCE).glob("usr/src/*.tar.xz")
        names = [f"{SOURCE}/{part}" for part in PARTS.split()]
        subprocess.run(["tar", "xJf", packed, "-C", root, "--strip-components=1", *names], check=True)
        packed.unlink()
        build(root / BPF, kernel_btf(root))
        (root / ".complete").touch()
    return root / BPF


def build(folder: Path, btf: Path) -> None:
    """The suite's own Makefile builds everything."""
    for name in NOT_BUILT:
        (folder / name).touch()
    command = [
        "make",
        "-k",
        f"-j{os.cpu_count()}",
        f"VMLINUX_BTF={btf}",
        "CLANG=clang-14",
        f"LDLIBS={STATIC}",
        *(word for name in NOT_BUILT for word in ("-o", folder / name)),
        "test_progs",
        *RUNNERS,
    ]
    with (folder / "build.log").open("w") as log:
        done = subprocess.run(command, cwd=folder, stdout=log, stderr=log, env=fresh_make())
    if done.returncode:
        raise SystemExit(f"the suite does not build: {folder}/build.log")


@once
def tool(folder: Path) -> Path:
    """bpf_verdicts.c, linked with the suite's libbpf."""
    made = folder / "bpf_verdicts"
    source = Path(__file__).with_name("bpf_verdicts.c")
    if not made.exists() or made.stat().st_mtime < source.stat().st_mtime:
        libbpf = folder / "tools/build/libbpf/libbpf.a"
        subprocess.run(
            ["gcc", "-O1", "-static", "-s", "-o", made, source, f"-I{folder}/tools/include", libbpf, "-lelf", "-lz"], check=True
        )  # fmt: skip
    return made


# ---- running ----


def limit_cpu(seconds: int) -> None:
    """Of this process: how long a test may take is its own time, not that of what else the host does."""
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))


def inside(folder: Path, seconds: float, *command: str, env: str = "") -> str:
    """What a command prints in a machine of its own that sees the suite's folder."""
    script = f"cd /suite; {SHELL} export PATH=/usr/sbin:/usr/bin:$PATH; {env} {' '.join(command)}; exit $?"
    places = [f"{folder}:/suite", *(f"{place}:{place}" for place in TOOLS if Path(place).is_dir())]
    words = [sys.executable, "-m", "simkernel", "run", "--cpus", "2", "--memory", "2G", *(w for place in places for w in ("--bind", place)),
             "--host-timeout", str(WALL * seconds), "busybox", "sh", "-c", script]  # fmt: skip
    try:
        done = subprocess.run(
            words, capture_output=True, timeout=WALL * seconds + 60, preexec_fn=partial(limit_cpu, int(seconds))
        )
    except subprocess.TimeoutExpired:
        return "no end\n"
    return done.stdout.decode("utf-8", "replace") + done.stderr.decode("utf-8", "replace")


Verdicts = dict[tuple[str, str], tuple[int, int]]


def verdicts(text: str) -> Verdicts:
    """(object, program) -> (error, length)."""
    rows = re.findall(r"^(\w+) (\w+) (-?\d+) (\d+)$", text, re.MULTILINE)
    return {(obj, name): (int(error), int(length)) for obj, name, error, length in rows}


def verdicts_of(folder: Path, args: argparse.Namespace, obj: str, expected: Verdicts) -> str:
    """Where the programs of an object get another answer than on the real kernel: a line for each, "" if nowhere."""
    verbose = "VERBOSE=1" if args.verbose else ""
    text = inside(
        folder, args.seconds * OBJECT_TIMES.get(obj, 1), f"./{tool(folder).name}", f"{obj}.bpf.o", env=verbose
    )
    found = verdicts(text)
    lines = []
    for key, (error, length) in expected.items():
        if key[0] != obj:
            continue
        got = found.get(key)
        if got is None or (got[0] == 0) != (error == 0):
            unsound = " UNSOUND" if got is not None and got[0] == 0 else ""
            lines.append(f"{obj} {key[1]}: {got and got[0]}, {error}{unsound}")
        elif error == 0 and got[1] != length:
            lines.append(f"{obj} {key[1]}: {got[1]}, {length} LENGTH")
    if lines and args.verbose:
        print(text)
    return "\n".join(lines)


def prog(folder: Path, args: argparse.Namespace, test: str) -> str:
    """What test_progs, unmodified, says about one of its tests: OK, SKIP, FAIL."""
    text = inside(folder, args.seconds, "./test_progs", "-v", "-a", test)
    result = re.search(rf"^#\d+ +{re.escape(test)}:(\w+)", text, re.MULTILINE)
    word = result[1] if result else "NO RESULT"
    if args.verbose and word != "OK":
        print(text)
    return word


def runner(folder: Path, args: argparse.Namespace, name: str) -> str:
    """The status with which one of the suite's other programs ends."""
    words = (f"./{name}", "2>&1;", "echo", "status", "$?")
    text = inside(folder, args.seconds * RUNNERS[name], *words, env=ENVIRONMENT.get(name, ""))
    status = re.search(r"^status (\d+)$", text, re.MULTILINE)
    word = status[1] if status else "NO END"
    if args.verbose and word != "0":
        print(text)
    return word


GOOD = {"verdicts": "", "progs": "OK", "runners": "0"}


def run_all(folder: Path, args: argparse.Namespace, kept: Kept) -> bool:
    """Everything that is asked for and not yet known, as long as there is time; is all of it as on the real kernel?"""
    expected = verdicts(gzip.decompress((DATA / "bpf_selftests_verdicts_6_1.txt.gz").read_bytes()).decode())
    names = {
        "verdicts": sorted({obj for obj, _ in expected}),
        "progs": (DATA / "bpf_selftests_progs_6_1.txt").read_text().split(),
        "runners": list(RUNNERS),
    }
    ask: dict[str, Callable[[str], str]] = {
        "verdicts": lambda name: verdicts_of(folder, args, name, expected),
        "progs": lambda name: prog(folder, args, name),
        "runners": lambda name: runner(folder, args, name),
    }
    deadline = time.monotonic() + 60 * args.minutes
    tool(folder)

    def run(kind: str, name: str) -> None:
        if time.monotonic() >= deadline:
            return
        start = time.monotonic()
        said = ask[kind](name)
        took = time.monotonic() - start
        kept.put(kind, name, said, took)
        mark = "  " if said == GOOD[kind] else "!="
        print(f"{mark} {kind:8} {took:6.1f} s  {name}  {said.replace(chr(10), '; ')}", flush=True)

    good = True
    for kind, every in names.items():
        if args.what not in ("all", kind):
            continue
        chosen = [name for name in every if not args.words or any(word in name for word in args.words)]
        todo = chosen if args.words else kept.left(kind, chosen)
        with ThreadPoolExecutor(args.jobs) as pool:
            list(pool.map(partial(run, kind), todo))
        found = kept.results[kind]
        same = sum(name in found and found[name][0] == GOOD[kind] for name in chosen)
        print(f"{kind}: {same} of {len(chosen)} as on the real 6.1, {len(kept.left(kind, chosen))} not asked yet")
        good = good and same == len(chosen)
    if not any(kept.left(kind, every) for kind, every in names.items()):
        write_page(kept, len(expected))
        print(f"{PAGE} is written; the next run begins anew")
        kept.path.rename(kept.path.with_suffix(".last.json"))
    return good


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="?", choices=("all", "verdicts", "progs", "runners"), default="all")
    parser.add_argument(
        "words", nargs="*", help="only objects or tests whose name holds one of these, whatever is known"
    )
    parser.add_argument("-v", "--verbose", action="store_true", help="print the logs of what differs")
    parser.add_argument("-j", "--jobs", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=120, help="CPU time that one object or test may take")
    parser.add_argument(
        "--minutes", type=float, default=24 * 60, help="begin nothing more after so long; the next run goes on"
    )
    parser.add_argument("--again", action="store_true", help="forget what a run that was stopped has found")
    args = parser.parse_intermixed_args()  # words may follow -v
    folder = suite()
    state = cache() / "bpf-selftests-run.json"
    if args.again:
        state.unlink(missing_ok=True)
    return 0 if run_all(folder, args, Kept(state)) else 1


if __name__ == "__main__":
    raise SystemExit(main())
