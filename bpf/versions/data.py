"""When each number of linux/bpf.h came: 3.18 to 6.1.

Source: include/uapi/linux/bpf.h of the released versions and the commits named; docs/kernel-versions.md of
iovisor/bcc (2026-08), corrected where the order of an enum shows that a number cannot be older than the one before it.  Map types and helpers are rows beside their bodies (bpf/maps/, bpf/helpers/),
program types and attach types rows of program_types.py,
context fields are in verifier/context/ctx_layout.py.  tests/bpf/tables/test_features.py holds every table against the numbers of uapi.py.

A row is `name since [commit]`.  Rows stand in the order of their numbers.
"""

from __future__ import annotations

from arch.records import dataclass

__all__ = [
    "COMMANDS",
    "FLAGS",
    "LINK_TYPES",
    "Feature",
]


@dataclass(frozen=True, slots=True)
class Feature:
    """One thing a kernel has from a version on."""

    name: str
    since: str
    commit: str = ""
    what: str = ""


def _rows(text: str, prefix: str = "") -> tuple[Feature, ...]:
    rows = []
    for line in text.strip().split("\n"):
        name, version, *rest = line.split(None, 3)
        commit = rest[0] if rest and rest[0] != "-" else ""
        rows.append(Feature(prefix + name, version, commit, rest[1] if len(rest) > 1 else ""))
    return tuple(rows)


# enum bpf_link_type; links themselves came with 5.7, their numbers with 5.8
LINK_TYPES = _rows(
    """
    UNSPEC         5.8
    RAW_TRACEPOINT 5.8
    TRACING        5.8
    CGROUP         5.8
    ITER           5.8
    NETNS          5.8
    XDP            5.9
    PERF_EVENT     5.15
    KPROBE_MULTI   5.18
    STRUCT_OPS     5.19
    NETFILTER      6.4
    TCX            6.6
    UPROBE_MULTI   6.6
    NETKIT         6.7
    SOCKMAP        6.10
    TRACING_MULTI  7.2
    """,
    "BPF_LINK_TYPE_",
)

# enum bpf_cmd
COMMANDS = _rows(
    """
    MAP_CREATE                  3.18 99c55f7d47c0
    MAP_LOOKUP_ELEM             3.18 db20fd2b0108
    MAP_UPDATE_ELEM             3.18 db20fd2b0108
    MAP_DELETE_ELEM             3.18 db20fd2b0108
    MAP_GET_NEXT_KEY            3.18 db20fd2b0108
    PROG_LOAD                   3.18 09756af46893
    OBJ_PIN                     4.4  b2197755b263
    OBJ_GET                     4.4  b2197755b263
    PROG_ATTACH                 4.10 f4324551489e
    PROG_DETACH                 4.10 f4324551489e
    PROG_TEST_RUN               4.12 1cf1cae963c2
    PROG_GET_NEXT_ID            4.13 34ad5580f8f9
    MAP_GET_NEXT_ID             4.13 34ad5580f8f9
    PROG_GET_FD_BY_ID           4.13 b16d9aa4c2b9
    MAP_GET_FD_BY_ID            4.13 bd5f5f4ecb78
    OBJ_GET_INFO_BY_FD          4.13 1e2709769086
    PROG_QUERY                  4.15 468e2f64d220
    RAW_TRACEPOINT_OPEN         4.17 c4f6699dfcb8
    BTF_LOAD                    4.18 69b693f0aefa
    BTF_GET_FD_BY_ID            4.18 78958fca7ead
    TASK_FD_QUERY               4.18 41bdc4b40ed6
    MAP_LOOKUP_AND_DELETE_ELEM  4.20 bd513cd08f10
    MAP_FREEZE                  5.2  87df15de441b
    BTF_GET_NEXT_ID             5.4  1b9ed84ecf26
    MAP_LOOKUP_BATCH            5.6  cb4d03ab499d
    MAP_LOOKUP_AND_DELETE_BATCH 5.6  057996380a42
    MAP_UPDATE_BATCH            5.6  aa2e93b8e58e
    MAP_DELETE_BATCH            5.6  aa2e93b8e58e
    LINK_CREATE                 5.7  af6eea57437a
    LINK_UPDATE                 5.7  0c991ebc8c69
    LINK_GET_FD_BY_ID           5.8  2d602c8cf40d
    LINK_GET_NEXT_ID            5.8  2d602c8cf40d
    ENABLE_STATS                5.8  d46edd671a14
    ITER_CREATE                 5.8  ac51d99bf81c
    LINK_DETACH                 5.9  73b11c2ab072
    PROG_BIND_MAP               5.10 ef15314aa5de
    TOKEN_CREATE                6.9  35f96de04127
    """,
    "BPF_",
)

# Flags, by the member of union bpf_attr or the helper argument that takes them.
FLAGS: dict[str, tuple[Feature, ...]] = {
    "map_flags": _rows(
        """
        NO_PREALLOC    4.6  6c9059817432
        NO_COMMON_LRU  4.10 29ba732acbee
        NUMA_NODE      4.14 96eabe7a40aa
        RDONLY         4.15 6e71b04a8224
        WRONLY         4.15 6e71b04a8224
        STACK_BUILD_ID 4.17 615755a77b24
        ZERO_SEED      5.0  96b3b6c9091d
        RDONLY_PROG    5.2  591fe9888d78
        WRONLY_PROG    5.2  591fe9888d78
        CLONE          5.4  8f51dfc73bf1
        MMAPABLE       5.5  fc9702273e2e
        PRESERVE_ELEMS 5.10 792caccc4526
        INNER_MAP      5.10 4a8f87e60f6d
        TOKEN_FD       6.9  a177fc2bf6fd
        SEGV_ON_FAULT  6.9  317460317a02
        NO_USER_CONV   6.9  317460317a02
        """,
        "BPF_F_",
    ),
    "prog_flags": _rows(
        """
        STRICT_ALIGNMENT 4.12 e07b98d9bffe
        ANY_ALIGNMENT    5.0  e9ee9efc0d17
        TEST_RND_HI32    5.3  c240eff63a1c
        TEST_STATE_FREQ  5.4  10d274e880eb
        SLEEPABLE        5.10 1e6c62a88215
        XDP_HAS_FRAGS    5.18 c2f2cdbeffda
        XDP_DEV_BOUND_ONLY 6.3 2b3486bc2d23
        TEST_REG_INVARIANTS 6.8 ff8867af01da
        TOKEN_FD         6.9  caf8f28e036c
        """,
        "BPF_F_",
    ),
    "btf_flags": _rows(
        """
        TOKEN_FD 6.9 9ea7c4bf17e3
        """,
        "BPF_F_",
    ),
}
