"""stress-ng in the simulated machine: each stressor that needs no rights, alone, for ten rounds or two seconds, beside what the real 6.1 says.

    python tests/tools/stress_ng.py                       # all of them
    python tests/tools/stress_ng.py memfd fsize -v        # some of them, with what they print
    python tests/tools/stress_ng.py --page                # write docs/stress-ng.md from what the runs so far have said
    python tests/tools/stress_ng.py --record BOOT_COMMAND [NAME...]     # ask a real kernel

Debian's packages (stress-ng and the libraries that only it needs) are unpacked into the user's cache, never into the project; its other
libraries are the host's, a Debian 12's.  Needs gcc.  BOOT_COMMAND boots the kernel with busybox as its only program:
`BOOT_COMMAND -f FILE... COMMAND` puts the files into /, runs the shell command as root and prints what it prints.

What a run finds is kept (tests/data/stress_ng_here.json): a run over a part of the stressors replaces what was known of these.
"""

from __future__ import annotations

import argparse
import json
import re
import shlex
import subprocess
import sys
import tarfile
import tempfile
from contextlib import closing
from pathlib import Path

from foreign_packages import cache, unpack

PACKAGES = ["stress-ng", "libipsec-mb1", "libjudydebian1", "libsctp1"]
DATA = Path(__file__).parents[1] / "data"
HERE, THERE = DATA / "stress_ng_here.json", DATA / "stress_ng_6_1.json"
PAGE = Path(__file__).parents[2] / "docs/stress-ng.md"
OPERATIONS, SECONDS = 10, 2  # whichever is first
HOST_SECONDS = 600
VIRTUAL_SECONDS = 25
# stressor -> why the verdicts differ
REASONS = {
    "fp-error": "the emulator does not keep the exception flags of SSE",
    "inode-flags": "2 s of its calls, which take 0.15 us each, are 13 million calls",
    "ipsec-mb": "for Intel's CPUs, and the one that was emulated there is AMD's", "tsc": "likewise", "x86syscall": "likewise",
    "pci": "there is no PCI bus",
}  # fmt: skip
NOBODY = """
#define _GNU_SOURCE
#include <unistd.h>
#include <grp.h>
int main(int argc, char **argv)
{
	if (setgroups(0, 0) || setresgid(65534, 65534, 65534) || setresuid(65534, 65534, 65534))
		return 126;
	execv(argv[1], argv + 1);
	return 127;
}
"""
SETUP = """mkdir -p /tmp /dev/shm /etc; mount -t tmpfs tmpfs /tmp 2>/dev/null
mkdir -p /dev/pts; grep -q ' /dev/pts ' /proc/mounts || mount -t devpts -o ptmxmode=666 devpts /dev/pts
grep -q ' /dev/shm ' /proc/mounts || mount -t tmpfs tmpfs /dev/shm
chmod 666 /dev/ptmx
chmod 1777 /dev/shm; mkdir -p /tmp/w; chmod 777 /tmp/w; cd /tmp/w; ifconfig lo 127.0.0.1 up 2>/dev/null
[ -e /etc/mtab ] || ln -s /proc/mounts /etc/mtab; ulimit -l 8192
grep -q nobody /etc/passwd 2>/dev/null || echo 'nobody:x:65534:65534::/:/bin/sh' > /etc/passwd
"""
COMMAND = (
    "busybox timeout -s KILL 20 /s/nobody /s/ld-linux-x86-64.so.2 --library-path /s /s/stress-ng --{name} 1 --{name}-ops {operations} "
    "--timeout {seconds} --temp-path /tmp/w 2>&1; echo @@ {name} $?\n"
)
STATUS = {0: "passed", 1: "not run", 2: "failed", 3: "skipped", 4: "skipped", 126: "not run", 137: "no end"}


def folder() -> Path:
    """The program, its libraries and what starts it as nobody; fetched and built when they are not there."""
    root = cache() / "stress-ng"
    flat = root / "s"
    if not (root / ".complete").exists():
        unpack(root, *PACKAGES)
        flat.mkdir(exist_ok=True)
        program = root / "usr/bin/stress-ng"
        own = root / "usr/lib/x86_64-linux-gnu"
        listed = subprocess.run(
            ["ldd", program],
            env={"LD_LIBRARY_PATH": f"{own}:{root}/usr/lib"},
            capture_output=True,
            text=True,
            check=True,
        )
        for path in sorted({Path(word) for word in re.findall(r"/\S+", listed.stdout)}):
            (flat / path.name).write_bytes(path.read_bytes())
        (flat / "stress-ng").write_bytes(program.read_bytes())
        for path in flat.iterdir():  # the host asks it for its names, too
            path.chmod(0o755)
        (root / "nobody.c").write_text(NOBODY)
        subprocess.run(["gcc", "-static", "-O2", "-o", flat / "nobody", root / "nobody.c"], check=True)
        (root / ".complete").touch()
    return flat


def names(flat: Path) -> list[str]:
    """All stressors."""
    ran = subprocess.run(
        [flat / "ld-linux-x86-64.so.2", "--library-path", flat, flat / "stress-ng", "--stressors"],
        capture_output=True,
        text=True,
        check=True,
    )
    return ran.stdout.split()


def script(stressors: list[str]) -> str:
    return SETUP + "".join(COMMAND.format(name=name, operations=OPERATIONS, seconds=SECONDS) for name in stressors)


def verdict(text: str, name: str) -> str:
    """What a stressor's output says."""
    match = re.search(rf"^@@ {re.escape(name)} (\d+)$", text, re.MULTILINE)
    if match is None:
        return "no end"
    if "will be skipped" in text or "skipping stress" in text:
        return "skipped"
    return STATUS.get(int(match[1]), f"status {match[1]}")


def inside(flat: Path, name: str) -> tuple[str, str]:
    """In a machine of its own: the verdict and the text."""
    import simkernel
    from simkernel.fs.rootfs import add_bytes_lazily, add_host_file

    with closing(simkernel.boot(cpus=2, memory=512 << 20)) as machine:
        for path in sorted(flat.iterdir()):
            add_host_file(machine.kernel.vfs, str(path), f"/s/{path.name}", 0o755)
        add_bytes_lazily(machine.kernel.vfs, "/run.sh", script([name]).encode())
        try:
            ran = machine.run(
                [machine.install("busybox"), "sh", "/run.sh"],
                timeout_host_s=HOST_SECONDS,
                timeout_virtual_ns=VIRTUAL_SECONDS * 10**9,
            )
        except Exception as error:  # a bug of ours is a result, too, and the next stressor wants to run
            return "crash", f"{type(error).__name__}: {error}"
        return ("crash" if ran.crash is not None else verdict(ran.text, name)), ran.text


def record(boot: list[str], flat: Path, stressors: list[str]) -> None:
    """All in one boot; of what takes the guest with it nothing is said."""
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        with tarfile.open(work / "s.tar", "w") as tar:
            tar.add(flat, "s")
        (work / "all.sh").write_text("cd /; tar xf /s.tar; rm /s.tar\n" + script(stressors))
        words = [
            *boot,
            "-t",
            str(120 + 25 * len(stressors)),
            "-f",
            str(work / "s.tar"),
            "-f",
            str(work / "all.sh"),
            "sh /all.sh",
        ]
        ran = subprocess.run(words, check=False, capture_output=True)
    told, known = ran.stdout.decode("utf-8", "replace").replace("\r", ""), load(THERE)
    for text in re.findall(r"(.*?^@@ \S+ \d+$)", told, re.MULTILINE | re.DOTALL):
        name = text.rpartition("@@ ")[2].split()[0]
        said = verdict(text, name)
        if said != "no end":  # a slow machine is no answer
            known[name] = said
        print(f"{name}: {said}", flush=True)
    save(known, THERE)


def load(data: Path) -> dict[str, str]:
    """stressor -> verdict."""
    return dict(json.loads(data.read_text())) if data.exists() else {}


def save(known: dict[str, str], data: Path) -> None:
    data.write_text(json.dumps(dict(sorted(known.items())), indent=0) + "\n")


def page() -> str:
    """docs/stress-ng.md."""
    here, there = load(HERE), load(THERE)
    ran = [name for name, said in here.items() if said != "not run"]
    by_verdict: dict[str, list[str]] = {}
    for name in ran:
        by_verdict.setdefault(here[name], []).append(name)
    asked = [name for name in ran if name in there]
    same = [name for name in asked if here[name] == there[name]]
    text = f"""# stress-ng

Made by `make test-stress-ng`: the stressors of Debian 12's stress-ng 0.15.06, each alone as nobody in a machine of its own (x86-64, two CPUs, 512 MiB),
for {OPERATIONS} rounds or {SECONDS} seconds of the machine's time. One that has not ended within {HOST_SECONDS} s of the host has no end: virtual time is made by
what a program does, and a system call takes a fraction of a microsecond of it, so a loop that waits for a second makes millions of calls.

{len(ran)} stressors were run: {", ".join(f"{len(found)} {said}" for said, found in sorted(by_verdict.items()))}. The real 6.1 was asked about {len(asked)} of them and said the same of {len(same)}.

| | stressors |
|---|---|
"""
    for said, found in sorted(by_verdict.items()):
        text += f"| {said} | {', '.join(found)} |\n"
    differs = [name for name in asked if here[name] != there[name]]
    if differs:
        text += "\nNot as on the real kernel:\n\n"
        for name in differs:
            why = f" ({REASONS[name]})" if name in REASONS else ""
            text += f"- `{name}`: {here[name]}, {there[name]} there{why}\n"
    not_run = [name for name, said in here.items() if said == "not run"]
    return (
        text
        + "\nNot run, because stress-ng does not without being told to or does not know it: "
        + ", ".join(not_run)
        + ".\n"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="only these stressors")
    parser.add_argument("-v", "--verbose", action="store_true", help="print what they print")
    parser.add_argument("--page", action="store_true", help="write docs/stress-ng.md from what is kept")
    parser.add_argument("--record", metavar="BOOT_COMMAND", help="boots the real kernel; becomes the answers")
    args = parser.parse_args()
    if args.page:
        PAGE.write_text(page())
        return 0
    flat = folder()
    stressors = args.names or names(flat)
    if args.record:
        record(shlex.split(args.record), flat, stressors)
        return 0
    crashed = 0
    for name in stressors:
        said, text = inside(flat, name)
        known = load(HERE)
        known[name] = said
        save(known, HERE)
        crashed += said == "crash"
        print(f"{name}: {said}", flush=True)
        if args.verbose or said == "crash":
            print(text[-4000:], flush=True)
    return 1 if crashed else 0


if __name__ == "__main__":
    sys.exit(main())
