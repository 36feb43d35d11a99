"""Which versions give which helper to which programs, where that is not as in Linux 6.1.

The rows of helpers (bpf/helpers/rows.py) and choose.py say who is given what by 6.1.  A `Given` row says that a version gave
it later than the helper itself came, or until when; an `Added` row what programs got after 6.1.  All were compared with real
kernels by a call of every helper in every kind of program (5.10, 6.1, 6.12, 7.2).
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from arch.abi.version import KernelVersion
from arch.records import dataclass
from bpf import uapi
from bpf.helpers.rows import parse_type
from bpf.helpers.table import PROTOS, FuncProto

TRACING = "kprobe_prog tp_prog pe_prog raw_tp_prog tracing_prog bpf_lsm syscall_prog"
ON_TRAMPOLINES = "tracing_prog bpf_lsm syscall_prog"
CURRENT = "cgroup_dev sysctl cg_sockopt"
OTHERS_WITH_STRTOL = (
    "sk_filter kprobe_prog tc_cls_act tp_prog xdp pe_prog cg_skb sock_filter lwt_in lwt_out lwt_xmit sock_ops sk_skb cgroup_dev "
    "sk_msg raw_tp_prog sock_addr lwt_seg6local sk_reuseport flow_dissector cg_sockopt tracing_prog bpf_tcp_ca_get bpf_lsm "
    "sk_lookup syscall_prog"
)


@dataclass(frozen=True, slots=True)
class Given:
    """Since and until when the *_func_proto() functions of `switches` give the helpers."""

    helpers: str
    switches: str
    since: str = ""
    until: str = ""
    commit: str = "-"


# fmt: off
GIVEN = (
    Given("sk_storage_get sk_storage_delete", "tracing_prog syscall_prog", "5.11", commit="8e4597c627fb"),
    Given("get_socket_cookie", ON_TRAMPOLINES, "5.12", commit="c5dbb89fc2ac"),
    Given("get_socket_cookie", "sk_reuseport", "5.14", commit="e061047684af"),
    Given("get_current_ancestor_cgroup_id", TRACING, "5.15", commit="95b861a7935b"),
    Given("spin_lock spin_unlock", TRACING, "5.15"),
    Given("get_netns_cookie", "sock_ops", "5.15", commit="6cf1770d63dd"),
    Given("get_netns_cookie", "sk_msg", "5.15", commit="fab60e29fcc6"),
    Given("get_netns_cookie", "cg_sockopt", "5.15", commit="f1248dee954c"),
    Given("setsockopt getsockopt", "cg_sockopt", "5.15", commit="2c531639deb5"),
    Given("setsockopt getsockopt", "tracing_prog", "5.15", commit="3cee6fb8e69e"),
    Given("setsockopt getsockopt", "bpf_tcp_ca_get", "5.15", commit="eb18b49ea758"),
    Given("get_current_pid_tgid get_current_comm get_cgroup_classid get_current_ancestor_cgroup_id", CURRENT, "6.1", commit="bed89185af0d"),
    Given("strtol strtoul", OTHERS_WITH_STRTOL, "6.1", commit="8a67f2de9b1d"),
    Given("skb_pull_data", "lwt_seg6local", until="6.1"),
)
# fmt: on
_GIVEN = {(helper, switch): row for row in GIVEN for helper in row.helpers.split() for switch in row.switches.split()}

# socket addresses: the hooks whose programs have options of sockets (beecf11bc218; the others 073f4ec124bb, 62476cc1bf24)
_CONNECT = (uapi.BPF_CGROUP_INET4_CONNECT, uapi.BPF_CGROUP_INET6_CONNECT)
_SOCKOPT_EVERYWHERE = "5.12"


def is_given(helper: str, switch: str, attach_type: int, version: KernelVersion) -> bool:
    """Whether what 6.1 gives was given then."""
    if switch == "sock_addr" and helper in ("setsockopt", "getsockopt"):
        return attach_type in _CONNECT or version.at_least(_SOCKOPT_EVERYWHERE)
    row = _GIVEN.get((helper, switch))
    return row is None or version.within(row.since or None, row.until or None)


@dataclass(frozen=True, slots=True)
class Added:
    """Helpers that programs got after 6.1: those of some `switches`, at some hooks, or all with a capability."""

    helpers: str
    switches: str
    since: str
    commit: str
    attach_types: tuple[int, ...] = ()
    proto: str = ""  # where it is not bpf_NAME_proto


# fmt: off
_CGROUP_CURRENT = "cgroup_dev sysctl cg_sockopt sock_filter sock_addr"
ADDED = (
    Added("current_task_under_cgroup", _CGROUP_CURRENT, "6.10", "-"),
    Added("get_attach_cookie", "raw_tp_prog", "6.10", "68ca5d4eebb8", proto="bpf_get_attach_cookie_proto_tracing"),
    Added("get_attach_cookie", "tracing_prog", "6.10", "68ca5d4eebb8", (uapi.BPF_TRACE_RAW_TP,), "bpf_get_attach_cookie_proto_tracing"),
    Added("get_netns_cookie", "sk_filter tc_cls_act cg_skb", "6.15", "eb62f49de7ec"),
    Added("get_func_arg get_func_arg_cnt", "tracing_prog", "7.0", "-", (uapi.BPF_TRACE_RAW_TP,)),
    Added("setsockopt", "sock_filter", "6.18", "-", (uapi.BPF_CGROUP_INET_SOCK_CREATE,), "bpf_sock_create_setsockopt_proto"),
    Added("getsockopt", "sock_filter", "6.18", "-", (uapi.BPF_CGROUP_INET_SOCK_CREATE,), "bpf_sock_create_getsockopt_proto"),
    Added("get_current_pid_tgid get_ns_current_pid_tgid", "anyone", "6.10", "eb166e522c77"),
    Added("get_current_uid_gid", "anyone", "6.16", "ee971630f20f"),
    Added("get_current_cgroup_id get_current_ancestor_cgroup_id", "bpf", "6.12", "-"),
    Added("current_task_under_cgroup task_storage_get task_storage_delete", "bpf", "6.16", "ee971630f20f"),
    Added("get_cgroup_classid", "bpf", "6.16", "ee971630f20f", proto="bpf_get_cgroup_classid_curr_proto"),
    Added("get_current_comm copy_from_user copy_from_user_task perf_event_read_value perf_event_read send_signal send_signal_thread "
          "get_task_stack get_branch_snapshot find_vma", "perfmon", "6.16", "ee971630f20f"),
)
# fmt: on
_ADDED: dict[tuple[str, str], Added] = {
    (helper, switch): row for row in ADDED for helper in row.helpers.split() for switch in row.switches.split()
}


def added(helper: str, switch: str, attach_type: int, version: KernelVersion) -> FuncProto | None:
    """What a version after 6.1 gives to programs of a switch (or to "anyone", "bpf", "perfmon")."""
    row = _ADDED.get((helper, switch))
    if row is None or not version.at_least(row.since) or (row.attach_types and attach_type not in row.attach_types):
        return None
    return PROTOS[row.proto or f"bpf_{helper}_proto"]


@dataclass(frozen=True, slots=True)
class Changed:
    """An argument (from 1) of prototypes that is of another type since a version after 6.1."""

    protos: str  # without bpf_, and _proto at the end
    arg: int
    kind: str
    since: str
    commit: str = "-"


# fmt: off
CHANGED = (
    Changed("strncmp", 1, "PTR_TO_MEM|MEM_RDONLY", "6.3"),
    Changed("inode_storage_get inode_storage_delete task_storage_get task_storage_delete sk_storage_get_tracing sk_storage_delete_tracing",
            2, "PTR_TO_BTF_ID_OR_NULL", "6.4"),
    Changed("get_socket_ptr_cookie", 1, "PTR_TO_BTF_ID_SOCK_COMMON|PTR_MAYBE_NULL", "6.4"),
    Changed("tcp_raw_gen_syncookie_ipv4 tcp_raw_gen_syncookie_ipv6", 3, "CONST_SIZE_OR_ZERO", "6.8"),
    Changed("kallsyms_lookup_name", 1, "PTR_TO_MEM|MEM_RDONLY", "7.1"),
    Changed("tcp_raw_gen_syncookie_ipv4 tcp_raw_gen_syncookie_ipv6", 2, "PTR_TO_MEM|MEM_RDONLY", "7.1"),
    Changed("d_path sysctl_get_name xdp_fib_lookup skb_fib_lookup", 2, "PTR_TO_MEM|MEM_WRITE", "7.1"),
    Changed("snprintf_btf", 1, "PTR_TO_MEM|MEM_WRITE", "7.1"),
    Changed("read_branch_records", 2, "PTR_TO_MEM_OR_NULL|MEM_WRITE", "7.1"),
    Changed("snprintf", 1, "PTR_TO_MEM_OR_NULL|MEM_WRITE", "7.1"),
    Changed("get_stack_proto_raw_tp", 2, "PTR_TO_UNINIT_MEM", "7.1"),
)
# fmt: on
_CHANGED: dict[str, list[Changed]] = {}
for _row in CHANGED:
    for _name in _row.protos.split():
        _known = f"bpf_{_name}_proto"
        _CHANGED.setdefault(_known if _known in PROTOS else f"bpf_{_name}", []).append(_row)


def of_version(proto: FuncProto, version: KernelVersion) -> FuncProto:
    """The prototype with the arguments it had then."""
    return _of_version(proto, version) if proto.proto in _CHANGED else proto


@cache
def _of_version(proto: FuncProto, version: KernelVersion) -> FuncProto:
    arg_types = list(proto.arg_types)
    for row in _CHANGED[proto.proto]:
        if version.at_least(row.since):
            arg_types[row.arg - 1] = parse_type("ARG_", row.kind)[0]
    return replace(proto, arg_types=tuple(arg_types))
