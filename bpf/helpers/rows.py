"""The row of a helper: everything about it that is not code.  struct bpf_func_proto, include/linux/bpf.h of Linux 6.1.

One `@prototype(...)` stands above the body for each struct bpf_func_proto that the body serves.  The first one of a helper
also says its number, the version that brought it, and the only map types it takes.  From the rows come the verifier's
prototypes, what each kind of program may call, check_map_func_compatibility(), feature tables and docs/bpf-tables.md.

Types are written as in the kernel without RET_ and ARG_: "PTR_TO_MEM|MEM_RDONLY"; behind a colon stands the struct of a
PTR_TO_BTF_ID or the bytes of a PTR_TO_FIXED_SIZE_MEM.  `given` names the *_func_proto() functions of the kernel that
answer with the prototype (bpf/verifier/protos/by_type.py); what depends on more than the helper's number is in
bpf/verifier/protos/choose.py.
"""

from __future__ import annotations

from arch.records import dataclass
from bpf import uapi
from bpf.verifier.domain import types

FLAGS = ("gpl_only", "pkt_access", "might_sleep", "changes_pkt_data")


@dataclass(frozen=True, slots=True)
class FuncProto:
    """One prototype; several may share a helper number, each for other program types."""

    proto: str  # the kernel's name of this struct
    func: str  # the kernel function that runs; empty where the verifier always rewrites the call
    ret_type: int
    arg_types: tuple[int, ...]  # five words of bpf/verifier/domain/types.py
    gpl_only: bool = False
    pkt_access: bool = False
    might_sleep: bool = False
    arg_btf_ids: tuple[str | None, ...] = (None,) * 5  # names of structs of the kernel's BTF
    arg_sizes: tuple[int, ...] = (0,) * 5  # bytes, of MEM_FIXED_SIZE arguments
    ret_btf_id: str | None = None
    allowed: str | None = None  # a rule of protos.helper_allowed()
    changes_pkt_data: bool = False  # bpf_helper_changes_pkt_data(): packet pointers are lost
    func_id: int = 0
    name: str = ""  # as the log prints it, "bpf_map_lookup_elem"


@dataclass(frozen=True, slots=True)
class HelperRow:
    """One helper number: enum bpf_func_id."""

    number: int
    name: str  # "map_lookup_elem"
    since: str
    maps: frozenset[str] | None  # the only map types it takes, "QUEUE"; None: no matter
    missing: str  # what of it is not simulated


ROWS: dict[int, HelperRow] = {}
NUMBERS: dict[str, int] = {}
PROTOS: dict[str, FuncProto] = {}
GIVEN: dict[str, dict[str, FuncProto]] = {}  # *_func_proto() of the kernel -> helper -> its prototype


def parse_type(prefix: str, text: str) -> tuple[int, str]:
    """`PTR_TO_MEM|MEM_RDONLY:16` as a type word and what stands behind the colon."""
    words, _, extra = text.partition(":")
    first, *flags = words.split("|")
    return sum((vars(types)[flag] for flag in set(flags)), start=0) | vars(types)[prefix + first], extra


def declare(
    name: str,
    number: int = 0,
    since: str = "",
    *,
    returns: str = "INTEGER",
    args: str = "",
    flags: str = "",
    func: str | None = None,
    proto: str | None = None,
    given: str = "",
    allowed: str | None = None,
    maps: str = "",
    missing: str = "",
) -> FuncProto:
    """Enter a row; the prototype it stands for.  `func` and `proto` where they are not bpf_NAME and bpf_NAME_proto."""
    if number:
        assert number not in ROWS and name not in NUMBERS, f"two helpers {number}, {name}"
        assert uapi.HELPER_NAMES.get(number) == name, f"include/bpf.h does not call helper {number} {name}"
        only = frozenset(maps.split()) or None
        ROWS[number] = HelperRow(number, name, since, only, missing)
        NUMBERS[name] = number
    ret, ret_extra = parse_type("RET_", returns)
    parsed = [parse_type("ARG_", text) for text in args.split()]
    parsed += [(0, "")] * (5 - len(parsed))
    words = flags.split()
    assert set(words) <= set(FLAGS), f"{name}: {flags}"
    row = FuncProto(
        proto or f"bpf_{name}_proto",
        f"bpf_{name}" if func is None else func,
        ret,
        tuple(word for word, _ in parsed),
        arg_btf_ids=tuple(extra if extra and not extra.isdigit() else None for _, extra in parsed),
        arg_sizes=tuple(int(extra) if extra.isdigit() else 0 for _, extra in parsed),
        ret_btf_id=ret_extra or None,
        allowed=allowed,
        gpl_only="gpl_only" in words,
        pkt_access="pkt_access" in words,
        might_sleep="might_sleep" in words,
        changes_pkt_data="changes_pkt_data" in words,
        func_id=NUMBERS[name],
        name=f"bpf_{name}",
    )
    assert row.proto not in PROTOS, f"two prototypes {row.proto}"
    PROTOS[row.proto] = row
    for switch in given.split():
        GIVEN.setdefault(switch, {})[name] = row
    return row
