"""Ask the real Linux 6.1 the questions of tests/data/tracing/questions/ and write its answers beside them.

    python tests/tools/record_tracefs.py BOOT_COMMAND...

A question file has one operation per line, on files of tracefs: `> FILE TEXT` (opened with O_TRUNC), `>> FILE TEXT`
(appended), `< FILE`, `mkdir DIR`, `rmdir DIR`.  TEXT is written as it stands, `\\n` at its end as a newline.  The answer to a line is
the line itself and, indented by a tab, an error's name or what was read.  Every file is asked in the same boot.

BOOT_COMMAND boots the kernel with busybox as its only program: `BOOT_COMMAND -f FILE... -o OUT COMMAND` puts the files
into /, runs the shell command as root and stores what the guest's /tmp/out holds.
"""

from __future__ import annotations

import errno
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

QUESTIONS = Path(__file__).parents[1] / "data/tracing/questions"
ERRNOS = {os.strerror(number): name for number, name in errno.errorcode.items()}
ERRNOS["nonexistent directory"] = "ENOENT"  # the shell's own words


def quoted(text: str) -> str:
    """For the shell."""
    return "'" + text.replace("'", "'\\''") + "'"


def command(line: str) -> str:
    """The shell's words for one operation; standard error goes to /tmp/err, what was read to standard output."""
    op, _, rest = line.partition(" ")
    path, _, text = rest.partition(" ")
    if op in (">", ">>"):
        switch = "" if text.endswith("\\n") else "-n "
        return f"{{ echo {switch}{quoted(text.removesuffix(chr(92) + 'n'))} {op} {path}; }} 2> /tmp/err"
    if op == "<":
        return f"dd if={path} bs=65536 2> /tmp/err"
    return f"{op} {path} 2> /tmp/err"


def script(name: str, questions: str) -> str:
    """All of one file."""
    lines = [f"echo '@@@@ {name}'", "cd /sys/kernel/tracing"]
    for line in questions.splitlines():
        if line and not line.startswith("#"):
            lines += [f"printf '%s\\n' {quoted(line)}", command(line), "r=$?",
                      "[ $r = 0 ] || { echo; echo \"@@@error $(tail -n 1 /tmp/err)\"; }", "echo; echo '@@@'"]  # fmt: skip
    return "\n".join(lines) + "\n"


def answers(text: str) -> str:
    """What the guest printed, in the form of the answer files."""
    out = []
    for block in text.split("\n@@@\n"):
        line, _, rest = block.strip("\n").partition("\n")
        if not line:
            continue
        out.append(line)
        body = rest.rstrip("\n")
        match = re.search(r"^@@@error .*?([A-Z][^:]*|nonexistent directory)$", body, re.MULTILINE)
        if match is not None:
            body = ERRNOS.get(match[1].strip(), match[1])
        out += [f"\t{row}" for row in body.splitlines()] if body else []
    return "\n".join(out) + "\n"


def main() -> int:
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        text = "exec > /tmp/out\n"
        for path in sorted(QUESTIONS.glob("*.txt")):
            text += script(path.stem, path.read_text())
        (directory / "ask.sh").write_text(text)
        out = directory / "out"
        subprocess.run([*sys.argv[1:], "-f", str(directory / "ask.sh"), "-o", str(out), "sh /ask.sh"], check=True)
        for block in out.read_text(errors="surrogateescape").split("@@@@ ")[1:]:
            stem, _, body = block.partition("\n")
            (QUESTIONS / f"{stem}.6.1").write_text(answers("\n" + body), errors="surrogateescape")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
