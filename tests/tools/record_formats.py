"""Write what a real kernel says of its events into tracing/events/recorded/:

    python -m tests.tools.record_formats x86_64-6.1 ANSWER VMLINUX_H [HEADERS]

ANSWER is what this prints in the guest, VMLINUX_H `bpftool btf dump file /sys/kernel/btf/vmlinux format c`, and HEADERS
a folder with the kernel's headers, which say of what class the events of one DEFINE_EVENT are:

    cd /sys/kernel/tracing/events; ls -d */*/format | xargs tail -n +1; ls -d */*/id | xargs grep . /dev/null
"""

from __future__ import annotations

import lzma
import re
import sys
import zlib
from pathlib import Path

from tracing.events.recorded import EARLIER, FOLDER, SAME, Recording

DEFINED = re.compile(r"^\s*DEFINE_(?:\w*_)?EVENT(?:_FN|_CONDITION|_PRINT|_NOP)?\(\s*(\w+),\s*(\w+)", re.M)
STRUCT = re.compile(r"^struct trace_event_raw_(\w+) \{\n(.*?)^\};", re.M | re.S)
FIRED = re.compile(r"^typedef void \(\*btf_trace_(\w+)\)\(void \*(?:, )?(.*)\);$", re.M)
# Made by macros of their own (arch/x86/include/asm/trace/irq_vectors.h) from a class that looks like another.
SPECIAL = {"vector_deactivate": "vector_activate", "vector_reserve_managed": "vector_reserve"}


def split_answer(text: str) -> tuple[dict[str, str], dict[str, int]]:
    """`system/event` -> the file `format` from its fields on, and -> its id."""
    parts = re.split(r"^==> (\S+)/format <==\n", text, flags=re.M)
    bodies = {name: body for name, body in zip(parts[1::2], parts[2::2])}
    numbers = {name: int(number) for name, number in re.findall(r"^(\S+/\S+)/id:(\d+)$", text, re.M)}
    out = {}
    for name, body in bodies.items():
        out[name] = body.split("\n\n", 1)[1].split("\nprint fmt: ")
        number = int(body.split("ID: ")[1].split("\n")[0])
        assert numbers.setdefault(name, number) == number
    return {name: f"{fields}\nprint fmt: {one(text)}\n" for name, (fields, text) in out.items()}, numbers


def one(text: str) -> str:
    """A print fmt, without what comes behind it: a line feed may stand between its quotes."""
    lines = text.split("\n")
    end = 1
    while end < len(lines) and "\n".join(lines[:end]).replace('\\"', "").count('"') % 2:
        end += 1
    return "\n".join(lines[:end])


def members_of(body: str) -> list[str]:
    """The members that a record of this format has in C."""
    out = []
    for line in body.split("\n"):
        if line.startswith("\tfield:"):
            declaration = line.split(";")[0].removeprefix("\tfield:")
            prefix = re.match(r"__(data|rel)_loc", declaration)
            out.append((f"{prefix[0]}_" if prefix else "") + re.sub(r"\[.*", "", declaration.split()[-1]))
    return out


def spelled(arguments: str, header: str) -> str:
    """TP_PROTO without the names of types that say nothing: pointers to functions, structures without a name."""
    arguments = re.sub(r"\w[\w ]*\(\*\)\([^()]*\)", "void *", arguments)
    out = []
    for ctype in arguments.split(", "):
        for word in re.findall(r"\w+_(?:t|desc|ref)\b", ctype):
            if re.search(rf"^typedef .*\(\*{word}\)\(", header, re.M):
                ctype = ctype.replace(word, "void *")
            elif found := re.search(rf"^typedef (struct \w+|(?:long )?unsigned int) {word};", header, re.M):
                ctype = ctype.replace(word, found[1])
            elif re.search(rf"^}} {word};", header, re.M):
                ctype = ctype.replace(word, "void" if "*" in ctype else "u64")
        out.append(ctype)
    return ", ".join(out) if out != ["void"] else ""


def common(one: str, other: str) -> int:
    """How long they begin alike."""
    return next((index for index, (a, b) in enumerate(zip(one, other)) if a != b), min(len(one), len(other)))


def classes(bodies: dict[str, str], header: str, folder: str | None) -> dict[str, str]:
    """The class of every event that the headers or the members of its record name."""
    structs = {name: re.findall(r"(\w+)(?:\[\w*\])?;$", text, re.M)[1:-1] for name, text in STRUCT.findall(header)}
    known = {event: event for event in structs}
    for path in sorted(p for p in Path(folder).rglob("*.h") if p.is_file()) if folder else ():
        for cls, event in DEFINED.findall(path.read_text(errors="replace")):
            if cls in structs:
                known[event] = cls
    known.update(SPECIAL)
    events = {name.split("/")[1] for name in bodies}
    for name, body in bodies.items():
        event = name.split("/")[1]
        if event not in known:
            fits = [cls for cls, members in structs.items() if members == members_of(body) and cls not in events]
            known[event] = max(fits, key=lambda cls: common(cls, event), default=event)
    return known


def main() -> None:
    """Write the two files of one kernel."""
    kernel, answer, header_path, *folder = sys.argv[1:]
    bodies, numbers = split_answer(Path(answer).read_text())
    header = Path(header_path).read_text()
    class_of, protos = classes(bodies, header, folder[0] if folder else None), dict(FIRED.findall(header))
    ordered = sorted(bodies, key=lambda name: numbers.get(name, 0))
    rows = []
    for name in ordered:
        system, event = name.split("/")
        plain = system in ("syscalls", "ftrace")
        row = (system, event, "" if plain else class_of[event], "" if plain else spelled(protos.get(event, ""), header))
        rows.append("\t".join((str(numbers.get(name, 0)), *row)))
    (FOLDER / f"{kernel}.index.z").write_bytes(zlib.compress("\n".join(rows).encode(), 9))
    if kernel in EARLIER:
        earlier = Recording(EARLIER[kernel])
        for system, event in earlier.events:
            if bodies.get(f"{system}/{event}") == earlier.text(system, event):
                bodies[f"{system}/{event}"] = SAME
    text = "".join(f"{bodies[name]}\0" for name in ordered)
    (FOLDER / f"{kernel}.formats.xz").write_bytes(lzma.compress(text.encode(), preset=9 | lzma.PRESET_EXTREME))


if __name__ == "__main__":
    main()
