"""Ask the real Linux 6.1 what each script of applets.txt prints, and write the answers into applets.out.

    python record_applets.py BOOT_COMMAND...

BOOT_COMMAND boots the kernel with busybox as its only program: `BOOT_COMMAND -f FILE... -o OUT COMMAND` puts the
files into /, runs the shell command as root and stores what the guest's /tmp/out holds.  Every script runs with
`busybox sh` in an empty directory below /tmp; standard output and standard error are recorded together.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent


def parse(text):
    """[(name, script)] of applets.txt."""
    cases = []
    for block in text.split("### ")[1:]:
        name, _, script = block.partition("\n")
        cases.append((name.strip(), script))
    return cases


def driver(names):
    """The shell script that runs every case; marks separate the answers."""
    lines = ["exec </dev/null", "mkdir -p /tmp/w"]
    for name in names:
        lines += [
            f"mkdir /tmp/w/{name}; cd /tmp/w/{name}; umask 022",
            f"busybox sh /cases/{name} > /tmp/result 2>&1",
            f'echo "@@@ {name} $?" >> /tmp/out; cat /tmp/result >> /tmp/out; echo "@@@ end" >> /tmp/out',
        ]
    return "\n".join(lines) + "\n"


def main():
    cases = parse((HERE / "applets.txt").read_text())
    with tempfile.TemporaryDirectory() as directory:
        work = Path(directory)
        unpack = ["mkdir /cases"]
        for name, script in cases:
            quoted = script.replace("'", "'\\''")
            unpack.append(f"printf '%s' '{quoted}' > /cases/{name}")
        (work / "all.sh").write_text("\n".join(unpack) + "\n" + driver([n for n, _ in cases]))
        out = work / "out"
        command = [*sys.argv[1:], "-f", str(work / "all.sh"), "-o", str(out), "sh /all.sh"]
        subprocess.run(command, check=True)
        (HERE / "applets.out").write_bytes(out.read_bytes())


if __name__ == "__main__":
    main()
