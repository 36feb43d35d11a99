"""What every command prints with `--json`, as JSON Schema: the rows that docs/json.md is made from, and that the tests hold.

A row is a document of a command.  Where `lines` is true there is one on each line.  Fields are only added, never changed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

from arch.records import dataclass

Schema = dict[str, object]


def text(about: str = "") -> Schema:
    """A JSON string."""
    return {"type": "string", "description": about}


def integer(about: str = "") -> Schema:
    """A number without a fraction."""
    return {"type": "integer", "description": about}


def number(about: str = "") -> Schema:
    """Any number."""
    return {"type": "number", "description": about}


def flag(about: str = "") -> Schema:
    """true or false."""
    return {"type": "boolean", "description": about}


def anything(about: str = "") -> Schema:
    """A value whose type is the data's."""
    return {"description": about}


def array(items: Schema, about: str = "") -> Schema:
    """A list."""
    return {"type": "array", "items": items, "description": about}


def table(values: Schema, about: str = "") -> Schema:
    """An object whose names are data."""
    return {"type": "object", "additionalProperties": values, "description": about}


def record(about: str = "", optional: tuple[str, ...] = (), /, **fields: Schema) -> Schema:
    """An object with these fields."""
    required = [name for name in fields if name not in optional]
    return {"type": "object", "properties": fields, "required": required, "description": about}


def or_null(schema: Schema) -> Schema:
    """That, or null."""
    return {**schema, "type": [schema["type"], "null"]}


@dataclass(frozen=True)
class Document:
    """What a command prints."""

    command: str  # as on the command line, without --json
    about: str
    schema: Schema
    lines: bool = False


VERDICT = {
    "name": text("of the program"),
    "section": text("of the object"),
    "ret": integer("0, or minus an errno"),
}
CONFIDENCE = text('how sure that is: "recorded", "compared", "between"')
NAMES = array(text())
CHANGED = {"functions": NAMES, "events": NAMES, "members": NAMES}
OBJECT = record(
    object=text("the file"),
    bytes=integer("its size"),
    arch=text("CPU"),
    kernel=text("version"),
    programs=array(record(name=text(), section=text(), instructions=integer())),
    maps=array(record(name=text(), type=integer("BPF_MAP_TYPE_*"))),
)
RUN = record(
    status=integer("exit status as a shell shows it"),
    stdout=text(),
    stderr=text(),
    timed_out=text('"", "virtual", "host", "memory", "interrupted", "deadlock"'),
    incomplete=array(text(), "sentences: what is missing in the results"),
    crash=or_null(
        record(
            "the program died of a signal",
            pid=integer(),
            comm=text(),
            signal=text(),
            address=or_null(integer("of the fault")),
            registers=table(integer()),
        )
    ),
    trace=text("what is in the trace"),
    maps=table(table(array(record(key=anything(), value=anything()))), "object, map: its entries"),
    counters=record(
        "the machine's own",
        virtual_ns=integer("virtual time since boot"),
        syscalls=integer(),
        syscalls_by_name=table(integer()),
        missing_syscalls=table(integer(), "calls that this kernel does not have"),
        page_faults=integer(),
        context_switches=integer(),
        forks=integer(),
        user_work=integer("instructions of programs"),
    ),
    strace=array(text(), "lines of --strace"),
)
STOP = record(
    "where the machine stands",
    place=text("tick, or tick.hit"),
    kind=text('what comes next: "cpu", "bpf", "hit", "end"'),
    reason=text("why it stopped"),
    breakpoint=integer("its number; 0: none"),
    pc=integer(),
    symbol=text("the same as a place in a function"),
    in_kernel=flag(),
    time_ns=integer("virtual time"),
    cpu=integer(),
    pid=integer(),
    comm=text(),
    bpf=or_null(record(program=text(), id=integer(), insn=integer(), depth=integer("functions entered"))),
)
WALKED = record(
    event=text('"went" over an instruction, "taken_up", "cut", "precise"'),
    insn=integer(),
    lines=array(text(), "what there is to say, as without --json"),
)

DOCUMENTS = (
    Document("demo", "One document: that of `run`.", RUN),
    Document("run", "One document; with `--out DIR` it is DIR/result.json.", RUN),
    Document(
        "run --explore N",
        "One document.",
        record(
            seeds=integer("how many were tried"),
            failed=or_null(integer("the first seed that fails")),
            status=integer("of that run, or 0"),
            repeat=text("the command that repeats it"),
            run=or_null({**RUN, "description": "the document of `run`"}),
        ),
    ),
    Document(
        "debug --commands FILE",
        "A line for each command.",
        record(
            command=text(),
            lines=array(text(), "what it prints, as without --json"),
            stop=or_null(STOP),
            event=or_null(integer("with --verifier: number of the event of the walk, from 1 on")),
        ),
        lines=True,
    ),
    Document(
        "debug --verifier OBJ",
        "A line for each program.",
        record(
            **VERDICT,
            message=text("the verifier's last words on a rejected program"),
            statistics=array(text()),
            events=array(WALKED, "the walk"),
        ),
        lines=True,
    ),
    Document("debug --gdb PORT", "A line before gdb comes.", record(host=text(), port=integer()), lines=True),
    Document(
        "debug --vmlinux OUT", "A line about the file.", record(vmlinux=text("the file"), functions=integer()), lines=True
    ),
    Document(
        "report DIR",
        "One document about the page.",
        record(
            file=text("the page"), bytes=integer(), events=integer(), samples=integer(), lost=array(text(), "what is missing")
        ),
    ),
    Document(
        "export DIR -f FORMAT -o FILE",
        "One document about the file.",
        record(file=text(), format=text(), bytes=integer(), events=integer(), samples=integer(), lost=array(text())),
    ),
    Document("cc SOURCE", "One document about the object.", OBJECT),
    Document("build PROGRAM", "One document about the object.", OBJECT),
    Document("list functions|events", "One document: names.", NAMES),
    Document(
        "disasm FUNCTION",
        "One document.",
        record(
            name=text(),
            address=integer(),
            size=integer("bytes"),
            prototype=text('in C; "" if it has none'),
            source=text("the file of the kernel that it stands for"),
            takes_pt_regs=flag("its argument is struct pt_regs *"),
            blocked=flag("on the kprobe blacklist"),
            instructions=array(record(offset=integer(), bytes=text("hexadecimal"), text=text())),
        ),
    ),
    Document(
        "verify OBJ...",
        "A line for each program.",
        record(
            "", ("object",),
            object=text("where several are given"),
            **VERDICT,
            prog_type=integer("BPF_PROG_TYPE_*"),
            log=or_null(text("the verifier's")),
            confidence=CONFIDENCE,
        ),
        lines=True,
    ),
    Document(
        "verify --cases FILE",
        "A line for each case.",
        record(
            "", ("log", "runs"),
            id=anything("of the case"),
            ret=integer("0, or minus an errno"),
            log=or_null(text()),
            runs=array(anything(), "with --run: what each run returned"),
            confidence=CONFIDENCE,
        ),
        lines=True,
    ),
    Document(
        "explain OBJ",
        "A line for each program; what is about a rejection is empty or null for an accepted one.",
        record(
            **VERDICT,
            message=text("the verifier's last words"),
            instruction=or_null(integer()),
            source=text("line of the source"),
            register=text(),
            value=text("what the verifier knew of it"),
            origin=text("where that came from"),
            history=array(
                record(insn=integer(), text=text(), source=text(), value=text("what the verifier knew afterwards")),
                "instructions that made the value",
            ),
            rule=or_null(text("the rule in words")),
            fix=or_null(text("what satisfies it")),
            processed=integer("instructions that the verifier went over"),
            total_states=integer(),
            peak_states=integer(),
            log=text("the verifier's, of level 2"),
        ),
        lines=True,
    ),
    Document(
        "matrix OBJ...",
        "One document: a list of cells; the same as `--format json`.",
        array(
            record(
                obj=text(),
                kernel=text(),
                arch=text(),
                kind=text('"ok", or the kind of reason'),
                text=text("the reason"),
                programs=integer(),
                insns=integer(),
                confidence=CONFIDENCE,
            )
        ),
    ),
    Document(
        "sweep FILE",
        "One document.",
        record(
            rows=array(table(anything(), "parameters and measurements by name, `error` (\"\": none), `command`")),
            summary=array(
                record(
                    by=table(anything(), "parameters"),
                    measured=table(
                        record(
                            mean=number(), half=or_null(number("of the 95 % confidence interval")), count=integer("seeds")
                        )
                    ),
                )
            ),
        ),
    ),
    Document(
        "diff BEFORE AFTER",
        "One document.",
        record(
            before=text("kernel"),
            after=text("kernel"),
            gone=record("what only BEFORE has", **CHANGED),
            new=record("what only AFTER has", **CHANGED),
            moved=array(array(anything()), "members: `[name, offset before, offset after]`"),
        ),
    ),
    Document(
        "feature probe",
        "One document, with bpftool's keys.",
        record(
            system_config=table(anything(), "of /proc/sys numbers (-1: cannot be read), of /boot/config text (null: not set)"),
            syscall_config=table(flag()),
            program_types=table(flag()),
            map_types=table(flag()),
            helpers=table(NAMES, "by program type"),
            misc=table(flag()),
        ),
    ),
    Document(
        "btf dump",
        "One document, with bpftool's keys; a type has those of its kind.",
        record(
            types=array(
                record(
                    "",
                    (
                        "size", "bits_offset", "nr_bits", "encoding", "type_id", "index_type_id", "nr_elems", "vlen", "members",
                        "values", "fwd_kind", "ret_type_id", "params", "linkage", "vars", "component_idx",
                    ),
                    id=integer(),
                    kind=text(),
                    name=text(),
                    size=integer(),
                    bits_offset=integer(),
                    nr_bits=integer(),
                    encoding=text(),
                    type_id=integer(),
                    index_type_id=integer(),
                    nr_elems=integer(),
                    vlen=integer(),
                    members=array(
                        record(
                            "", ("bitfield_size",), name=text(), type_id=integer(), bits_offset=integer(), bitfield_size=integer()
                        )
                    ),
                    values=array(record(name=text(), val=integer())),
                    fwd_kind=text(),
                    ret_type_id=integer(),
                    params=array(record(name=text(), type_id=integer())),
                    linkage=text(),
                    vars=array(record(type_id=integer(), offset=integer(), size=integer())),
                    component_idx=integer(),
                )
            )
        ),
    ),
    Document("btf import", "One document.", record(name=text(), types=integer("how many"))),
    Document("btf list", "One document: the names that `btf import` was given.", record(names=NAMES)),
    Document("schema [COMMAND]", "One document: JSON Schema by command.", table(table(anything()), "this page for programs")),
)  # fmt: skip


def of_command(words: str) -> list[Document]:
    """The documents of a command: `run`, `feature probe`."""
    return [row for row in DOCUMENTS if row.command == words or row.command.startswith(words + " ")]


def fields(schema: Schema, path: str = "") -> Iterator[tuple[str, str, str]]:
    """(path, type, meaning) of every field, outer ones first: `counters.forks`, `maps.*[].key`."""
    if path:
        yield path, kind_of(schema), str(schema.get("description", ""))
        if schema.get("properties") is RUN["properties"]:
            return  # told once
    for name, below in cast(dict[str, Schema], schema.get("properties", {})).items():
        yield from fields(below, f"{path}.{name}" if path else name)
    if "items" in schema:
        yield from inner(cast(Schema, schema["items"]), f"{path}[]")
    if "additionalProperties" in schema:
        yield from inner(cast(Schema, schema["additionalProperties"]), f"{path}.*" if path else "*")


def inner(schema: Schema, path: str) -> Iterator[tuple[str, str, str]]:
    """What a list or a table is made of; plain values are told by the type of the whole."""
    found = list(fields(schema, path))
    yield from found[1 if not schema.get("description") else 0 :]


def kind_of(schema: Schema) -> str:
    """`text or null`, `list of integer`."""
    kinds = schema.get("type", "any")
    names = [str(kind) for kind in (kinds if isinstance(kinds, list) else [kinds])]
    said = {"string": "text", "array": "list", "object": "object"}
    out = " or ".join(said.get(name, name) for name in names)
    if "items" in schema and cast(Schema, schema["items"]).get("type") is not None:
        out += f" of {kind_of(cast(Schema, schema['items']))}"
    return out
