"""What each program type of the classic verifier may call and read, as tables.

kernel/bpf/helpers.c, net/core/filter.c and kernel/trace/bpf_trace.c of Linux 4.1; for the January 2015 patch set
(version 3.20-rfc) its own program types, helpers and `struct bpf_context`.  Types and helpers that came between 4.2
and 4.8 are added by version (`since`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from arch.abi.version import KernelVersion
from bpf import uapi
from bpf.versions import program_types

# enum bpf_arg_type
(
    ARG_DONTCARE,
    ARG_CONST_MAP_PTR,
    ARG_PTR_TO_MAP_KEY,
    ARG_PTR_TO_MAP_VALUE,
    ARG_PTR_TO_STACK,
    ARG_CONST_STACK_SIZE,
    ARG_ANYTHING,
    ARG_PTR_TO_CTX,
) = range(8)

# enum bpf_return_type
RET_INTEGER, RET_VOID, RET_PTR_TO_MAP_VALUE_OR_NULL = range(3)

_ARGUMENTS = {
    "map": ARG_CONST_MAP_PTR,
    "key": ARG_PTR_TO_MAP_KEY,
    "value": ARG_PTR_TO_MAP_VALUE,
    "stack": ARG_PTR_TO_STACK,
    "size": ARG_CONST_STACK_SIZE,
    "any": ARG_ANYTHING,
    "ctx": ARG_PTR_TO_CTX,
}


@dataclass(frozen=True, slots=True)
class Proto:
    """struct bpf_func_proto."""

    name: str
    args: tuple[int, ...]
    gpl_only: bool
    ret: int = RET_INTEGER
    since: str = "3.18"
    map_type: int = 0  # the only map type its map may have (check_map_func_compatibility), 0: see there


def _proto(
    name: str,
    args: str = "",
    *,
    gpl: bool = False,
    ret: int = RET_INTEGER,
    since: str = "3.18",
    map_type: int = 0,
) -> Proto:
    return Proto(name, tuple(_ARGUMENTS[word] for word in args.split()), gpl, ret, since, map_type)


MAP_LOOKUP = _proto("map_lookup_elem", "map key", ret=RET_PTR_TO_MAP_VALUE_OR_NULL)
MAP_UPDATE = _proto("map_update_elem", "map key value any")
MAP_DELETE = _proto("map_delete_elem", "map key")
MAP_HELPERS = {1: MAP_LOOKUP, 2: MAP_UPDATE, 3: MAP_DELETE}

TAIL_CALL = _proto("tail_call", "ctx map any", ret=RET_VOID, since="4.2", map_type=uapi.BPF_MAP_TYPE_PROG_ARRAY)

_PERF_ARRAY = uapi.BPF_MAP_TYPE_PERF_EVENT_ARRAY

KPROBE_HELPERS = {
    **MAP_HELPERS,
    4: _proto("probe_read", "stack size any", gpl=True),
    5: _proto("ktime_get_ns", gpl=True),
    6: _proto("trace_printk", "stack size", gpl=True),
    8: _proto("get_smp_processor_id", since="4.2"),
    12: TAIL_CALL,
    14: _proto("get_current_pid_tgid", since="4.2"),
    15: _proto("get_current_uid_gid", since="4.2"),
    16: _proto("get_current_comm", "stack size", since="4.2"),
    22: _proto("perf_event_read", "map any", since="4.3", map_type=_PERF_ARRAY),
    25: _proto("perf_event_output", "ctx map any stack size", gpl=True, since="4.4", map_type=_PERF_ARRAY),
    27: _proto("get_stackid", "ctx map any", gpl=True, since="4.6", map_type=uapi.BPF_MAP_TYPE_STACK_TRACE),
}

SOCKET_HELPERS = {
    **MAP_HELPERS,
    5: _proto("ktime_get_ns", gpl=True, since="4.2"),
    6: _proto("trace_printk", "stack size", gpl=True, since="4.2"),
    7: _proto("get_prandom_u32", since="4.1"),
    8: _proto("get_smp_processor_id", since="4.1"),
    12: TAIL_CALL,
}

SCHED_HELPERS = {
    **SOCKET_HELPERS,
    9: _proto("skb_store_bytes", "ctx any stack size any"),
    10: _proto("l3_csum_replace", "ctx any any any any"),
    11: _proto("l4_csum_replace", "ctx any any any any"),
    13: _proto("clone_redirect", "ctx any any", since="4.2"),
    17: _proto("get_cgroup_classid", "ctx", since="4.3"),
    18: _proto("skb_vlan_push", "ctx any any", since="4.3"),
    19: _proto("skb_vlan_pop", "ctx", since="4.3"),
    23: _proto("redirect", "any any", since="4.4"),
    24: _proto("get_route_realm", "ctx", since="4.4"),
}

# The January 2015 patch set: one set of helpers for both of its program types.
RFC_HELPERS = {
    **MAP_HELPERS,
    4: _proto("fetch_ptr", "any"),
    5: _proto("fetch_u64", "any"),
    6: _proto("fetch_u32", "any"),
    7: _proto("fetch_u16", "any"),
    8: _proto("fetch_u8", "any"),
    9: _proto("memcmp", "any stack size"),
    10: _proto("dump_stack", ret=RET_VOID),
    11: _proto("printk", "stack size", gpl=True),
    12: _proto("ktime_get_ns", gpl=True),
}

SK_BUFF_SIZE_4_1 = 36  # sizeof(struct __sk_buff)
BPF_CONTEXT_FIELDS = 6  # struct bpf_context { u64 arg1 ... arg6; }
PT_REGS_SIZE_X86_64 = 168
PERF_MAX_TRACE_SIZE_4_1 = 2048


def pt_regs_access(ctx_size: int) -> Callable[[int, int], bool]:
    """kprobe_prog_is_valid_access(): aligned reads anywhere inside struct pt_regs."""
    return lambda off, size: 0 <= off < ctx_size and off % size == 0


def trace_record_access(off: int, size: int) -> bool:
    """tp_prog_is_valid_access(): aligned reads of the record behind the pointer to struct pt_regs."""
    return 8 <= off < PERF_MAX_TRACE_SIZE_4_1 and off % size == 0


def sk_buff_access(off: int, size: int) -> bool:
    """sk_filter_is_valid_access(): whole words of struct __sk_buff."""
    return 0 <= off < SK_BUFF_SIZE_4_1 and off % 4 == 0 and size == 4


def bpf_context_access(off: int, size: int) -> bool:
    """Tracing filters of January 2015: each argument only as a whole."""
    return 0 <= off < 8 * BPF_CONTEXT_FIELDS and off % 8 == 0 and size == 8


@dataclass(frozen=True, slots=True)
class ProgramType:
    """struct bpf_verifier_ops of one program type."""

    name: str
    helpers: dict[int, Proto]
    readable: Callable[[int, int], bool]  # (offset, size) of a context load
    may_access_skb: bool  # LD_ABS and LD_IND
    rewrites_context: bool


# The January 2015 patch set was made for what was to be 3.20; no kernel of that number was released.


def program_type(number: int, version: KernelVersion, ctx_size: int | None) -> ProgramType | None:
    """The operations of a program type in this kernel version; None if it does not exist there.

    A behaviour by version: this and `func_limit` are the only places of the classic verifier that read it.
    """
    row = program_types.program_type(version, number)
    if row is None:
        return None
    name = row.name.lower()
    pt_regs = pt_regs_access(PT_REGS_SIZE_X86_64 if ctx_size is None else ctx_size)
    match row.name:
        case "SOCKET_FILTER":
            helpers = MAP_HELPERS if version.is_rfc else SOCKET_HELPERS
            return ProgramType(name, helpers, sk_buff_access, True, True)
        case "SCHED_CLS" | "SCHED_ACT":
            return ProgramType(name, SCHED_HELPERS, sk_buff_access, True, True)
        case "KPROBE":
            return ProgramType(name, KPROBE_HELPERS, pt_regs, False, False)
        case "TRACEPOINT":
            return ProgramType(name, KPROBE_HELPERS, trace_record_access, False, False)
        case "TRACING_FILTER":
            return ProgramType(name, RFC_HELPERS, bpf_context_access, False, False)
        case "KPROBE_FILTER":
            return ProgramType(name, RFC_HELPERS, pt_regs, False, False)
    return None  # XDP of 4.8


# __BPF_FUNC_MAX_ID by version: a larger number is `invalid func`, a smaller one `unknown func`.
_FUNC_MAX_ID = (
    #  version  first number that does not exist
    ("4.8", 37),
    ("4.6", 31),
    ("4.5", 27),
    ("4.4", 26),
    ("4.3", 23),
    ("4.2", 17),
    ("4.1", 12),
    ("3.19", 4),
    ("3.18", 4),
)


def func_limit(version: KernelVersion) -> int:
    """__BPF_FUNC_MAX_ID of this version."""
    if version.is_rfc:
        return 13
    for since, limit in _FUNC_MAX_ID:
        if version.at_least(since):
            return limit
    return 1


def available(proto: Proto, version: KernelVersion) -> bool:
    """The helper exists in this version."""
    return version.is_rfc or version.at_least(proto.since)
