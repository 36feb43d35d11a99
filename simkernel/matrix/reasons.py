"""Why an object does not load or attach, as a class that can be counted and a sentence."""

from __future__ import annotations

import re

from arch.abi.errno import ENOENT, EOPNOTSUPP
from arch.abi.version import KernelVersion
from arch.errors import KernelError
from arch.records import dataclass
from bpf.explain.story import explain
from bpf.helpers.rows import ROWS as HELPERS
from bpf.loader.core_patch import BAD_RELO
from bpf.loader.errors import LoadError
from bpf.loader.log_words import FOUND_NOTHING
from bpf.loader.object import BpfObject
from bpf.maps.rows import MAP_TYPES
from bpf.versions.program_types import PROGRAM_TYPES

# Classes of outcomes, in the order in which a table's legend shows them.
WELL = "ok"
KINDS = {
    WELL: "loads (and attaches, and its test passes, where asked)",
    "bug": "simkernel's own fault, not the object's: please report it",
    "feature": "global data, BTF or another ability that it does not have yet",
    "map type": "a map type that this kernel does not have yet",
    "program type": "a program type that it does not have yet",
    "helper": "a helper that it does not have yet, or not for this program type",
    "field": "a structure member or type that is not in this kernel",
    "hook": "a function, tracepoint or other place to attach that is not in this kernel",
    "verifier": "the verifier's rule",
    "cpu": "made for another CPU or byte order",
    "object": "no object that libbpf could load",
    "limit": "time or memory ran out",
    "test": "it loads, and its test fails",
    "refused": "refused otherwise",
}
UNKNOWN_HELPER = re.compile(
    r"(?:unknown func|invalid func) (\S+?)#(\d+)|invalid func (\d+)|program of this type cannot use helper (\S+?)#(\d+)"
)
FAILED_MAP = re.compile(r"map '([^']+)': failed to create")
FAILED_PROGRAM = re.compile(r"prog '([^']+)'")
LOST_FIELD = re.compile(r"no matching targets found for <(\w+)>.*?\[\d+\] (?:struct|union|enum|typedef)? ?([\w.<>]+)")
# What libbpf says of abilities, and since when kernels have them.
FEATURES = {
    "kernel doesn't support global data": "global data needs 5.2",
    "failed to find valid kernel BTF": "the kernel's own types (BTF) need 5.2 and CONFIG_DEBUG_INFO_BTF",
    "BTF is required": "the object needs BTF: compile it with -g",
}
NO_SUCH_FUNCTION = "failed to find kernel BTF type ID"  # asked for when a program is loaded
HOOK_WORDS = (
    "openat",
    "failed to open ELF binary",
    "failed to create kprobe",
    "no function matches",
    "failed to create tracepoint",
    "perf event",
    "failed to attach",
    "attach_btf",
    "failed to find kernel BTF type",
)


@dataclass(frozen=True)
class Reason:
    """A class of KINDS and a sentence."""

    kind: str
    text: str


def classify(error: LoadError | KernelError, obj: BpfObject | None, version: KernelVersion, attaching: bool) -> Reason:
    """What a refusal comes to."""
    text = error.why if isinstance(error, (LoadError, KernelError)) else str(error)
    log = error.log if isinstance(error, LoadError) else ""
    if "endian" in text:
        return Reason("cpu", text)
    if obj is None:
        return Reason("object", text)
    feature = next((said for words, said in FEATURES.items() if words in text), "")
    if feature:
        return Reason("feature", feature)
    return (
        newer_map(text, obj, version)
        or newer_program(text, obj, version)
        or missing_helper(log, obj, text, version)
        or missing_hook(error, text, attaching)
        or verdict(log)
        or Reason("refused", text)
    )


def newer_map(text: str, obj: BpfObject, version: KernelVersion) -> Reason | None:
    """A map that could not be made, of a type from later."""
    match = FAILED_MAP.search(text)
    if match is None or match[1] not in obj.maps:
        return None
    row = MAP_TYPES.get(obj.maps[match[1]].definition.type)
    if row is not None and version.before(row.since):
        return Reason("map type", f"map {match[1]}: {row.name} needs {row.since}")
    definition = obj.maps[match[1]].definition
    if not definition.max_entries or not definition.value_size:
        return Reason(
            "refused", f"map {match[1]}: its size is not in the object, the tool's own half sets it before loading"
        )
    return None


def newer_program(text: str, obj: BpfObject, version: KernelVersion) -> Reason | None:
    """A program of a type from later."""
    match = FAILED_PROGRAM.search(text)
    program = obj.programs.get(match[1]) if match else None
    row = PROGRAM_TYPES.get(program.prog_type) if program is not None else None
    if row is not None and version.before(row.since):
        return Reason("program type", f"{program.name if program else ''}: {row.name} needs {row.since}")
    return None


def missing_helper(log: str, obj: BpfObject, text: str, version: KernelVersion) -> Reason | None:
    """A helper from later; or the place where a relocation found nothing, which reads as a helper that does not exist."""
    if FOUND_NOTHING in log:
        return lost_field(obj, text)
    match = UNKNOWN_HELPER.search(log)
    if match is None:
        return None
    number = int(match[2] or match[3] or match[5])
    if number == BAD_RELO:
        return lost_field(obj, text)
    row = HELPERS.get(number)
    if row is not None and row.since and version.before(row.since):
        return Reason("helper", f"{row.name} needs {row.since}")
    return Reason("helper", f"{match[1] or match[4] or number} is not for this program type")


def lost_field(obj: BpfObject, text: str) -> Reason:
    """The member that the kernel's types do not have, from the loader's messages."""
    program = FAILED_PROGRAM.search(text)
    head = f"prog '{program[1]}'" if program else "prog"
    for message in obj.messages:
        if message.startswith(head) and "no matching targets found for" in message:
            return Reason("field", f"not in this kernel: {message.partition('found for ')[2]}")
    return Reason("field", "a member that this program reads is not in this kernel")


def missing_hook(error: LoadError | KernelError, text: str, attaching: bool) -> Reason | None:
    """Nothing of that name to attach to."""
    if NO_SUCH_FUNCTION in text or (
        any(word in text for word in HOOK_WORDS) and (attaching or error.errno in (ENOENT, EOPNOTSUPP))
    ):
        return Reason("hook", text)
    return None


def verdict(log: str) -> Reason | None:
    """The verifier's last words."""
    found = explain(log) if log.strip() else None
    if found is None or not found.message:
        return None
    return Reason("verifier", found.message + (f" (at {found.step.insn}: {found.step.text})" if found.step else ""))
