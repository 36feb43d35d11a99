"""Case files, read and recognised; bpf/testing/cases.py describes the two formats."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

from arch.abi.version import KernelVersion
from arch.records import dataclass, field

Row = dict[str, Any]


class CaseError(Exception):
    """A case file is not as it should be."""


@dataclass
class CaseFile:
    """All cases of a file, in order, and the maps it defines itself."""

    format: str  # "4.1" or "6.1"
    rows: list[Row]
    maps: dict[str, Row] = field(default_factory=dict)
    kernel: str = ""  # whose answers they are, if the format does not say it

    @property
    def version(self) -> KernelVersion:
        """The kernel the answers are from."""
        return KernelVersion.parse(self.kernel or self.format)


def read_cases(path: Path) -> CaseFile:
    """Read and recognise a file; CaseError says what is wrong with it."""
    try:
        data = path.read_bytes()
        content = json.loads(gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data)
    except (OSError, ValueError, EOFError, RecursionError) as error:
        raise CaseError(f"{path}: {error}") from None
    if isinstance(content, dict) and "answers" in content:
        return _join(path, content)
    return parse_cases(content, str(path))


def _join(path: Path, content: Row) -> CaseFile:
    """Answers of one kernel to the programs of another file, which lies beside it: tests/oracle/reask.py."""
    answers, kernel, cases = content["answers"], content.get("kernel"), content.get("cases")
    if not (isinstance(answers, dict) and isinstance(kernel, str) and isinstance(cases, str)):
        raise CaseError(f"{path}: answers need a kernel and cases")
    try:
        KernelVersion.parse(kernel)
    except ValueError as error:
        raise CaseError(f"{path}: {error}") from None
    file = read_cases(path.parent / cases)
    file.kernel = kernel
    file.rows = [{**row, "answer": answers[str(row["id"])]} for row in file.rows if str(row.get("id")) in answers]
    for row in file.rows:
        row.pop("answer_unprivileged", None)
        check_row(row, str(path))
    return file


# What the fields of a case have to be, where it has them.
FIELD_TYPES: dict[str, type | tuple[type, ...]] = {
    "insns": (str, list),
    "prog_type": int,
    "prog_flags": int,
    "attach_type": int,
    "attach": list,
    "func_info": list,
    "maps": (dict, list),
    "kfuncs": dict,
    "runs": list,
    "ret": int,
    "log": str,
    "log_level": int,
    "log_size": int,
    "log_len": int,
    "log_tail": str,
    "log0": (str, type(None)),  # not kept where it was too long
    "log1": (str, type(None)),
    "log2": (str, type(None)),
    "verifier_ret": int,
    "verifier_log": str,
    "answer": dict,
    "answer_unprivileged": dict,
}


def check_row(row: Any, name: str) -> Row:
    """One case, its fields of the types they should be; CaseError names the first that is not."""
    if not (isinstance(row, dict) and "insns" in row and "prog_type" in row):
        raise CaseError(f"{name}: a case needs insns and prog_type")
    check_fields(row, title(row), name)
    for run in row.get("runs") or ():
        if not isinstance(run, dict):
            raise CaseError(f"{name}: case {title(row)}: a run has to be an object, not {run!r:.40}")
    for key in ("answer", "answer_unprivileged"):
        if row.get(key) is not None:
            check_fields({"ret": None, **row[key], "runs": None}, f"{title(row)}: {key}", name)
    return row


def check_fields(row: Row, case: str, name: str) -> None:
    """Objects and lists may be null, numbers and texts may not."""
    for key, value in row.items():
        wanted = FIELD_TYPES.get(key)
        optional = value is None and wanted not in (int, str)
        if wanted is not None and not optional and not isinstance(value, wanted):
            raise CaseError(f"{name}: case {case}: {key} cannot be {value!r:.40}")


def parse_cases(content: Any, name: str = "cases") -> CaseFile:
    """The cases of decoded JSON."""
    maps: dict[str, Row] = {}
    if isinstance(content, dict) and "header" in content:
        rows = [row for key, part in content.items() if key != "header" and isinstance(part, list) for row in part]
        return CaseFile("4.1", [check_row(row, name) for row in rows])
    if isinstance(content, dict) and "cases" in content:
        maps, content = content.get("maps", {}), content["cases"]
    rows = content if isinstance(content, list) else [content]
    for row in rows:
        check_row(row, name)
    if not isinstance(maps, dict):
        raise CaseError(f"{name}: maps has to be an object")
    if rows and isinstance(rows[0]["insns"], list):
        return CaseFile("4.1", rows)
    for number, row in enumerate(rows):
        row.setdefault("id", number)
    return CaseFile("6.1", rows, maps)


def title(row: Row) -> str:
    """How people call a case."""
    names = [str(row[key]) for key in ("file", "descr", "name") if key in row]
    return f"{row.get('id', row.get('index', ''))} {': '.join(names) or row.get('from', '')}".strip()
