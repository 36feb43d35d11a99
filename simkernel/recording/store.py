"""A recording as files: recording.json, events.jsonl and samples.jsonl.  docs/exports.md describes their members.

One JSON object a line for what is long, so that a tool can read it without holding all of it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any, TypeVar

from simkernel.recording.model import Events, Recording
from simkernel.recording.rows import (
    SCHEMA,
    Event,
    EventFormat,
    Frame,
    MapDump,
    MappedFile,
    Meta,
    ProgramDump,
    Sample,
    Shown,
    Slice,
    Stack,
    TaskInfo,
    Value,
    Wakeup,
)

MAIN, EVENTS, SAMPLES = "recording.json", "events.jsonl", "samples.jsonl"
Made = TypeVar("Made", Meta, TaskInfo, MapDump, ProgramDump, EventFormat)


class RecordingError(Exception):
    """A directory holds no recording that can be read: a sentence for a person."""


def event_line(event: Event) -> dict[str, object]:
    """An event as an object of JSON; what is empty is left out."""
    out: dict[str, object] = {
        "ts": event.ts, "cpu": event.cpu, "pid": event.pid, "comm": event.comm, "event": event.name,
        "fields": event.fields, "text": event.text, "flags": event.flags,
    }  # fmt: skip
    if event.lost:
        out["lost"] = event.lost
    if event.kernel_stack:
        out["kernel_stack"] = frames_line(event.kernel_stack)
    if event.user_stack:
        out["user_stack"] = frames_line(event.user_stack)
    if event.line:
        out["line"] = event.line
    out["raw"] = event.raw.hex()
    return out


def sample_line(sample: Sample) -> dict[str, object]:
    """A CPU sample as an object of JSON."""
    return {
        "ts": sample.ts, "cpu": sample.cpu, "pid": sample.pid, "tgid": sample.tgid, "comm": sample.comm,
        "period": sample.period, "ip": sample.ip, "kernel": frames_line(sample.kernel), "user": frames_line(sample.user),
    }  # fmt: skip


def frames_line(stack: Stack) -> list[list[object]]:
    """[address, function, offset, file] of each place; what is not known at the end is left out."""
    out: list[list[object]] = []
    for frame in stack:
        row: list[object] = list(frame)
        while len(row) > 1 and not row[-1]:
            row.pop()
        out.append(row)
    return out


def dump(lines: Iterable[Mapping[str, object]]) -> Iterator[str]:
    """JSON lines."""
    encode = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False).encode
    for line in lines:
        yield encode(line) + "\n"


def files_of(recording: Recording) -> dict[str, str]:
    """Name -> text of the files that make up a recording."""
    main: dict[str, object] = {"schema": SCHEMA, "meta": asdict(recording.meta)}
    main["tasks"] = [asdict(task) for task in recording.tasks]
    main["slices"] = recording.slices
    main["wakeups"] = recording.wakeups
    main["files"] = [file._asdict() for file in recording.files]
    main["maps"] = [asdict(each) for each in recording.maps]
    main["programs"] = [asdict(each) for each in recording.programs]
    main["counters"] = recording.counters
    main["formats"] = {name: asdict(each) for name, each in recording.formats.items()}
    main["lost"] = recording.lost
    # One member a line: a person finds what is there, and thousands of slices do not become thousands of lines.
    rows = [f"{json.dumps(name)}: {json.dumps(value, ensure_ascii=False)}" for name, value in main.items()]
    out = {MAIN: "{\n" + ",\n".join(rows) + "\n}\n", EVENTS: "".join(dump(map(event_line, recording.events)))}
    if recording.samples:
        out[SAMPLES] = "".join(dump(map(sample_line, recording.samples)))
    return out


def save(recording: Recording, directory: str | Path) -> None:
    """Into a directory, which is made where there is none.  OSError."""
    path = Path(directory)
    path.mkdir(parents=True, exist_ok=True)
    files = files_of(recording)
    for name in (MAIN, EVENTS, SAMPLES):
        if name in files:
            (path / name).write_text(files[name], encoding="utf-8")
        else:
            (path / name).unlink(missing_ok=True)


def load(directory: str | Path) -> Recording:
    """A recording that `simkernel run --out` or save() wrote.  RecordingError."""
    path = Path(directory)
    try:
        if not path.is_dir():
            raise RecordingError(f"{path}: no such directory")
        if not (path / MAIN).is_file():
            raise RecordingError(f"{path}: no {MAIN} in it; `simkernel run --out DIR` writes one")
        main = json.loads((path / MAIN).read_text(encoding="utf-8"))
        if not isinstance(main, dict) or main.get("schema") != SCHEMA:
            raise RecordingError(f"{path / MAIN}: not a recording of schema {SCHEMA}")
        return read(main, lines_of(path / EVENTS), lines_of(path / SAMPLES))
    except OSError as error:
        raise RecordingError(f"{path}: {error.strerror}") from None
    except (ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError) as error:
        raise RecordingError(f"{path}: damaged: {type(error).__name__}: {error}") from None


def lines_of(path: Path) -> Iterator[dict[str, Any]]:
    """The objects of a file of JSON lines; none where there is no such file."""
    if not path.exists():
        return
    with path.open(encoding="utf-8") as file:
        for line in file:
            yield json.loads(line)


def read(main: dict[str, Any], events: Iterable[dict[str, Any]], samples: Iterable[dict[str, Any]]) -> Recording:
    """From what JSON gave."""
    return Recording(
        meta=made(Meta, {**main["meta"], "kernel_text": tuple(main["meta"].get("kernel_text", (0, 0)))}),
        events=Events(events=[event_of(line) for line in events]),
        samples=[sample_of(line) for line in samples],
        tasks=[made(TaskInfo, row) for row in main["tasks"]],
        slices=[Slice(*row) for row in main["slices"]],
        wakeups=[Wakeup(*row) for row in main["wakeups"]],
        files=[MappedFile(**row) for row in main["files"]],
        maps=[map_of(row) for row in main["maps"]],
        programs=[made(ProgramDump, row) for row in main["programs"]],
        counters=dict(main["counters"]),
        formats={name: made(EventFormat, row) for name, row in main["formats"].items()},
        lost=list(main["lost"]),
    )


def made(kind: type[Made], row: Mapping[str, Any]) -> Made:
    """An object of the members that this version knows."""
    known = {each.name for each in fields(kind)}
    return kind(**{name: value for name, value in row.items() if name in known})


def map_of(row: dict[str, Any]) -> MapDump:
    """Pairs are tuples again."""
    entries: list[tuple[Shown, Shown]] = [(key, value) for key, value in row["entries"]]
    return MapDump(row["name"], row["object"], row["type"], entries)


def value_of(value: int | str | list[int]) -> Value:
    """Arrays are tuples again."""
    return tuple(value) if isinstance(value, list) else value


def stack_of(rows: Sequence[Sequence[Any]]) -> Stack:
    """Frames again."""
    return tuple(Frame(*row) for row in rows)


def event_of(line: dict[str, Any]) -> Event:
    """One line of events.jsonl."""
    return Event(
        line["ts"], line["cpu"], line["pid"], line["comm"], line["event"],
        {name: value_of(value) for name, value in line["fields"].items()}, line["text"], line["flags"],
        line.get("lost", 0), stack_of(line.get("kernel_stack", ())), stack_of(line.get("user_stack", ())),
        bytes.fromhex(line["raw"]), line.get("line", ""),
    )  # fmt: skip


def sample_of(line: dict[str, Any]) -> Sample:
    """One line of samples.jsonl."""
    return Sample(
        line["ts"], line["cpu"], line["pid"], line["tgid"], line["comm"], line["period"], line["ip"],
        stack_of(line["kernel"]), stack_of(line["user"]),
    )  # fmt: skip


def shown(value: object) -> Shown:
    """A key or value of a map for JSON: bytes as text where they are text, else as hexadecimal; keys of structs as text."""
    if value is None or isinstance(value, (bool, int, float)):
        return value
    if isinstance(value, str):
        return value.encode(errors="backslashreplace").decode()
    if isinstance(value, (bytes, bytearray)):
        text, _, rest = bytes(value).partition(b"\0")
        if text and not any(rest) and all(32 <= byte < 127 for byte in text):
            return text.decode()
        return bytes(value).hex(" ")
    if isinstance(value, Mapping):
        return {str(name): shown(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [shown(item) for item in value]
    return str(value)
