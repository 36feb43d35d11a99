"""Which prototype a program gets for a helper it calls, or none.

Mirrors the get_func_proto() member of each bpf_verifier_ops: kernel/bpf/helpers.c, kernel/bpf/cgroup.c,
kernel/bpf/bpf_lsm.c, kernel/trace/bpf_trace.c, net/core/filter.c of Linux 6.1.  The prototypes are rows of
the helpers (bpf/helpers/rows.py) and the plain answers tables of by_type.py; what depends on more than the helper is here.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Protocol

from arch.abi.version import NEWEST, KernelVersion
from arch.records import dataclass
from bpf import uapi
from bpf.helpers.table import PROTOS, ROWS, FuncProto, has_helper
from bpf.verifier.protos import by_type as tables
from bpf.verifier.protos.by_version import added, is_given, of_version
from bpf.versions.attach_groups import ALWAYS_ONE, AROUND_FUNCTIONS
from bpf.versions.features import has_attach_type
from bpf.versions.program_types import program_types

__all__ = ["DEBIAN_6_1", "FULL_CONFIG", "FuncProto", "Program", "get_func_proto", "helper_allowed", "helper_proto"]

ALL_CAPS = frozenset({"sys_admin", "bpf", "perfmon", "net_admin", "sys_boot"})

# Kernel options that decide whether a helper or a program type is there.  Debian's 6.1 has none of these two.
FULL_CONFIG = frozenset({"BPF_KPROBE_OVERRIDE", "BPF_LIRC_MODE2"})
DEBIAN_6_1: frozenset[str] = frozenset()


class Target(Protocol):
    """The program that another one replaces a function of."""

    @property
    def prog_type(self) -> int: ...


class Program(Protocol):
    """What a rule may ask of a program: struct bpf_prog with its aux, before the check."""

    @property
    def prog_type(self) -> int: ...
    @property
    def expected_attach_type(self) -> int: ...
    @property
    def caps(self) -> Collection[str]: ...
    @property
    def attach_func_name(self) -> str | None: ...
    @property
    def attach_member(self) -> str | None: ...
    @property
    def attach_prog(self) -> Target | None: ...
    @property
    def version(self) -> KernelVersion: ...
    @property
    def sleepable(self) -> bool: ...
    @property
    def config(self) -> frozenset[str]:
        """Kernel options that Debian's kernel lacks."""


@dataclass(frozen=True, slots=True)
class ProgramFacts:
    """A Program made of plain values, for questions that no real program asks (feature probes, tests)."""

    prog_type: int
    expected_attach_type: int = 0
    caps: Collection[str] = ALL_CAPS
    attach_func_name: str | None = None
    attach_member: str | None = None
    attach_prog: Target | None = None
    version: KernelVersion = NEWEST
    config: frozenset[str] = DEBIAN_6_1
    sleepable: bool = False


Rule = Callable[[str, Program], "FuncProto | None"]


def bpf_capable(prog: Program) -> bool:
    """CAP_BPF or CAP_SYS_ADMIN.  include/linux/capability.h."""
    return "bpf" in prog.caps or "sys_admin" in prog.caps


def perfmon_capable(prog: Program) -> bool:
    """CAP_PERFMON or CAP_SYS_ADMIN.  include/linux/capability.h."""
    return "perfmon" in prog.caps or "sys_admin" in prog.caps


def _base(helper: str, prog: Program) -> FuncProto | None:
    """kernel/bpf/helpers.c:bpf_base_func_proto()."""
    if proto := tables.BASE_ANYONE.get(helper):
        return proto
    if proto := added(helper, "anyone", 0, prog.version):
        return proto
    if not bpf_capable(prog):
        return None
    if proto := tables.BASE_BPF.get(helper) or added(helper, "bpf", 0, prog.version):
        return proto
    if not perfmon_capable(prog):
        return None
    return tables.BASE_PERFMON.get(helper) or added(helper, "perfmon", 0, prog.version)


def _sk_base(helper: str, prog: Program) -> FuncProto | None:
    """net/core/filter.c:bpf_sk_base_func_proto(): casts of sockets need CAP_PERFMON."""
    proto = tables.BPF_SK_BASE.get(helper)
    if proto is None:
        return _base(helper, prog)
    if helper == "ktime_get_coarse_ns" or perfmon_capable(prog):
        return proto
    return None


def _then(table: dict[str, FuncProto], rest: Rule) -> Rule:
    """The rule of a switch whose default asks another."""
    return lambda helper, prog: table.get(helper) or rest(helper, prog)


# -- tracing: kernel/trace/bpf_trace.c -------------------------------------------------------------

_tracing = _then(tables.BPF_TRACING, _base)

_AT_ONE = {
    "get_func_ip": "bpf_get_func_ip_proto_kprobe",
    "get_attach_cookie": "bpf_get_attach_cookie_proto_trace",
}
_AT_KERNEL_FUNCTIONS = {
    "get_func_ip": "bpf_get_func_ip_proto_kprobe_multi",
    "get_attach_cookie": "bpf_get_attach_cookie_proto_kmulti",
}
_AT_USER_FUNCTIONS = {
    "get_func_ip": "bpf_get_func_ip_proto_uprobe_multi",
    "get_attach_cookie": "bpf_get_attach_cookie_proto_umulti",
}
_AT_MANY = {
    uapi.BPF_TRACE_KPROBE_MULTI: _AT_KERNEL_FUNCTIONS,
    uapi.BPF_TRACE_KPROBE_SESSION: _AT_KERNEL_FUNCTIONS,
    uapi.BPF_TRACE_UPROBE_MULTI: _AT_USER_FUNCTIONS,
    uapi.BPF_TRACE_UPROBE_SESSION: _AT_USER_FUNCTIONS,
}


def _kprobe(helper: str, prog: Program) -> FuncProto | None:
    attach = prog.expected_attach_type
    at = _AT_MANY.get(attach, _AT_ONE) if has_attach_type(prog.version, attach) else _AT_ONE
    if helper in at:
        return PROTOS[at[helper]]
    if helper == "override_return" and "BPF_KPROBE_OVERRIDE" not in prog.config:
        return None
    return tables.KPROBE_PROG.get(helper) or _tracing(helper, prog)


_raw_tp = _then(tables.RAW_TP_PROG, _tracing)

_ITER_ONLY = {f"seq_{name}": PROTOS[f"bpf_seq_{name}_proto"] for name in ("printf", "write", "printf_btf")}
_TRAMPOLINE_ONLY = {
    "get_func_arg": PROTOS["bpf_get_func_arg_proto"],
    "get_func_ret": PROTOS["bpf_get_func_ret_proto"],
    "get_func_arg_cnt": PROTOS["bpf_get_func_arg_cnt_proto"],
    "get_attach_cookie": PROTOS["bpf_get_attach_cookie_proto_tracing"],
}
_ITER_TARGETS = {"bpf_iter_unix": tables.BPF_ITER_UNIX_GET, "bpf_iter_tcp": tables.BPF_ITER_TCP_GET}


def has_trampoline(prog: Program) -> bool:
    """The program runs from a trampoline.  kernel/bpf/trampoline.c:bpf_prog_has_trampoline()."""
    if prog.prog_type == uapi.BPF_PROG_TYPE_TRACING:
        return prog.expected_attach_type in (*AROUND_FUNCTIONS, uapi.BPF_MODIFY_RETURN)
    return prog.prog_type == uapi.BPF_PROG_TYPE_LSM and prog.expected_attach_type == uapi.BPF_LSM_MAC


def _tracing_prog(helper: str, prog: Program) -> FuncProto | None:
    is_iter = prog.expected_attach_type == uapi.BPF_TRACE_ITER
    if proto := _ITER_ONLY.get(helper):
        return proto if is_iter else None
    if proto := _TRAMPOLINE_ONLY.get(helper):
        return proto if has_trampoline(prog) else None
    if proto := tables.TRACING_PROG.get(helper) or _raw_tp(helper, prog):
        return proto
    return _ITER_TARGETS.get(prog.attach_func_name or "", {}).get(helper) if is_iter else None


# -- kernel/bpf/bpf_lsm.c, kernel/bpf/syscall.c ----------------------------------------------------

_LOCKED_SOCKOPT_HOOKS = {"bpf_lsm_sock_graft", "bpf_lsm_inet_csk_clone", "bpf_lsm_inet_conn_established"}
_UNLOCKED_SOCKOPT_HOOKS = {"bpf_lsm_socket_post_create", "bpf_lsm_socket_socketpair"}


def _lsm_sockopt(helper: str, prog: Program) -> FuncProto | None:
    if prog.expected_attach_type != uapi.BPF_LSM_CGROUP:
        return None
    if prog.attach_func_name in _LOCKED_SOCKOPT_HOOKS:
        return PROTOS[f"bpf_sk_{helper}_proto"]
    if prog.attach_func_name in _UNLOCKED_SOCKOPT_HOOKS:
        return PROTOS[f"bpf_unlocked_sk_{helper}_proto"]
    return None


def _lsm(helper: str, prog: Program) -> FuncProto | None:
    if prog.expected_attach_type == uapi.BPF_LSM_CGROUP and (proto := _cgroup_common(helper, prog)):
        return proto
    if helper == "get_attach_cookie":
        return PROTOS["bpf_get_attach_cookie_proto"] if has_trampoline(prog) else None
    if helper in ("setsockopt", "getsockopt"):
        return _lsm_sockopt(helper, prog)
    return tables.BPF_LSM.get(helper) or _tracing_prog(helper, prog)


def _syscall(helper: str, prog: Program) -> FuncProto | None:
    if helper == "sys_bpf":
        return PROTOS["bpf_sys_bpf_proto"] if perfmon_capable(prog) else None
    return tables.SYSCALL_PROG.get(helper) or _tracing_prog(helper, prog)


# -- control groups: kernel/bpf/cgroup.c, net/core/filter.c ----------------------------------------

_NO_RETVAL = {
    uapi.BPF_CGROUP_INET_INGRESS,
    uapi.BPF_CGROUP_INET_EGRESS,
    uapi.BPF_CGROUP_SOCK_OPS,
    *ALWAYS_ONE,
}

_SOCK_ADDR_SOCKOPT = {
    uapi.BPF_CGROUP_INET4_BIND,
    uapi.BPF_CGROUP_INET6_BIND,
    uapi.BPF_CGROUP_INET4_CONNECT,
    uapi.BPF_CGROUP_INET6_CONNECT,
    uapi.BPF_CGROUP_UDP4_RECVMSG,
    uapi.BPF_CGROUP_UDP6_RECVMSG,
    uapi.BPF_CGROUP_UDP4_SENDMSG,
    uapi.BPF_CGROUP_UDP6_SENDMSG,
    uapi.BPF_CGROUP_INET4_GETPEERNAME,
    uapi.BPF_CGROUP_INET6_GETPEERNAME,
    uapi.BPF_CGROUP_INET4_GETSOCKNAME,
    uapi.BPF_CGROUP_INET6_GETSOCKNAME,
    uapi.BPF_CGROUP_UNIX_CONNECT,
    uapi.BPF_CGROUP_UNIX_SENDMSG,
    uapi.BPF_CGROUP_UNIX_RECVMSG,
}


def _cgroup_common(helper: str, prog: Program) -> FuncProto | None:
    """get_local_storage, and the return value where the hook has one.  cgroup_common_func_proto()."""
    if helper in ("get_retval", "set_retval"):
        return None if prog.expected_attach_type in _NO_RETVAL else PROTOS[f"bpf_{helper}_proto"]
    return tables.CGROUP_COMMON.get(helper)


def _cgroup(table: dict[str, FuncProto], rest: Rule, current: bool) -> Rule:
    """A control group's rule: the common helpers first, those of the current task if the hook runs in one."""

    def rule(helper: str, prog: Program) -> FuncProto | None:
        if proto := _cgroup_common(helper, prog):
            return proto
        if current and (proto := tables.CGROUP_CURRENT.get(helper)):
            return proto
        return table.get(helper) or rest(helper, prog)

    return rule


_sk_filter = _then(tables.SK_FILTER, _sk_base)
_sock_addr_rest = _cgroup(tables.SOCK_ADDR, _sk_base, current=True)
_cg_sockopt_rest = _cgroup(tables.CG_SOCKOPT, _base, current=True)


def _sock_addr(helper: str, prog: Program) -> FuncProto | None:
    attach = prog.expected_attach_type
    if helper == "bind":
        connect = (uapi.BPF_CGROUP_INET4_CONNECT, uapi.BPF_CGROUP_INET6_CONNECT)
        return PROTOS["bpf_bind_proto"] if attach in connect else None
    if helper in ("setsockopt", "getsockopt"):
        return PROTOS[f"bpf_sock_addr_{helper}_proto"] if attach in _SOCK_ADDR_SOCKOPT else None
    return _sock_addr_rest(helper, prog)


def _cg_sockopt(helper: str, prog: Program) -> FuncProto | None:
    if helper in ("setsockopt", "getsockopt"):
        is_set = prog.expected_attach_type == uapi.BPF_CGROUP_SETSOCKOPT
        return PROTOS[f"bpf_sk_{helper}_proto"] if is_set else None
    return _cg_sockopt_rest(helper, prog)


# -- network: net/core/filter.c, net/ipv4/bpf_tcp_ca.c, drivers/media/rc/bpf-lirc.c ------------------

_lwt_out = _then(tables.LWT_OUT, _sk_base)


def _struct_ops(helper: str, prog: Program) -> FuncProto | None:
    """tcp_congestion_ops; a program for release() may not set or read socket options."""
    if helper in ("setsockopt", "getsockopt"):
        return None if prog.attach_member == "release" else PROTOS[f"bpf_sk_{helper}_proto"]
    return tables.BPF_TCP_CA_GET.get(helper) or _base(helper, prog)


def _lirc_mode2(helper: str, prog: Program) -> FuncProto | None:
    if helper == "trace_printk" and perfmon_capable(prog):
        return PROTOS["bpf_trace_printk_proto"]
    return tables.LIRC_MODE2.get(helper)


_SLEEPING = ("copy_from_user", "copy_from_user_task")
_tc_cls_act = _then(tables.TC_CLS_ACT, _sk_base)

# By the *_func_proto() function of the kernel that a program type's row names.
FUNC_PROTOS: dict[str, Rule] = {
    "sk_filter": _sk_filter,
    "kprobe_prog": _kprobe,
    "tc_cls_act": _tc_cls_act,
    "tp_prog": _then(tables.TP_PROG, _tracing),
    "xdp": _then(tables.XDP, _sk_base),
    "pe_prog": _then(tables.PE_PROG, _tracing),
    "cg_skb": _cgroup(tables.CG_SKB, _sk_filter, current=False),
    "sock_filter": _cgroup(tables.SOCK_FILTER, _base, current=True),
    "lwt_in": _then(tables.LWT_IN, _lwt_out),
    "lwt_out": _lwt_out,
    "lwt_xmit": _then(tables.LWT_XMIT, _lwt_out),
    "sock_ops": _cgroup(tables.SOCK_OPS, _sk_base, current=False),
    "sk_skb": _then(tables.SK_SKB, _sk_base),
    "cgroup_dev": _cgroup(tables.CGROUP_DEV, _base, current=True),
    "sk_msg": _then(tables.SK_MSG, _sk_base),
    "raw_tp_prog": _raw_tp,
    "sock_addr": _sock_addr,
    "lwt_seg6local": _then(tables.LWT_SEG6LOCAL, _lwt_out),
    "lirc_mode2": _lirc_mode2,
    "sk_reuseport": _then(tables.SK_REUSEPORT, _base),
    "flow_dissector": _then(tables.FLOW_DISSECTOR, _sk_base),
    "sysctl": _cgroup(tables.SYSCTL, _base, current=True),
    "cg_sockopt": _cg_sockopt,
    "tracing_prog": _tracing_prog,
    "bpf_tcp_ca_get": _struct_ops,
    "bpf_lsm": _lsm,
    "sk_lookup": _then(tables.SK_LOOKUP, _sk_base),
    "syscall_prog": _syscall,
    "nf": _base,
}
SWITCHES = {row.number: row.helpers for row in program_types() if row.helpers}


def get_func_proto(func_id: int, prog: Program) -> FuncProto | None:
    """The prototype this program sees for this helper; None: "unknown func".

    A program that replaces another's function (BPF_PROG_TYPE_EXT) sees what the other one sees; `attach_prog` is it.
    """
    if not has_helper(prog.version, func_id):
        return None
    prog_type = prog.prog_type
    if prog_type == uapi.BPF_PROG_TYPE_EXT:
        target = prog.attach_prog
        prog_type = target.prog_type if target is not None else prog_type
    switch = SWITCHES.get(prog_type)
    if switch is None:
        return None
    helper, attach = ROWS[func_id].name, prog.expected_attach_type
    proto = FUNC_PROTOS[switch](helper, prog)
    if proto is None:
        return added(helper, switch, attach, prog.version)
    if not is_given(helper, switch, attach, prog.version) or not _may_sleep(helper, prog):
        return None
    return of_version(proto, prog.version)


def _may_sleep(helper: str, prog: Program) -> bool:
    """Before helpers said that they sleep (6.1, 01685c5bddaa), only sleepable programs were given those."""
    return helper not in _SLEEPING or prog.sleepable or prog.version.at_least("6.1")


def helper_proto(
    func_id: int,
    prog_type: int,
    expected_attach_type: int = 0,
    caps: Collection[str] = ALL_CAPS,
    version: KernelVersion = NEWEST,
    attach_func_name: str | None = None,
    config: frozenset[str] = DEBIAN_6_1,
) -> FuncProto | None:
    """get_func_proto() for a program that is only thought of."""
    facts = ProgramFacts(prog_type, expected_attach_type, caps, attach_func_name, version=version, config=config)
    return get_func_proto(func_id, facts)


# -- the `allowed` member ----------------------------------------------------------------------------

# kernel/trace/bpf_trace.c:btf_allowlist_d_path
D_PATH_FUNCTIONS = {
    "security_file_permission",
    "security_inode_getattr",
    "security_file_open",
    "security_path_truncate",
    "vfs_truncate",
    "vfs_fallocate",
    "dentry_open",
    "vfs_getattr",
    "filp_close",
}


def helper_allowed(proto: FuncProto, prog: Program) -> bool:
    """Whether the place where the program attaches permits the helper; else "helper call is not allowed in probe"."""
    if proto.allowed is None:
        return True
    return _ALLOWED[proto.allowed](prog)


def _d_path_allowed(prog: Program) -> bool:
    """kernel/trace/bpf_trace.c:bpf_d_path_allowed()."""
    is_iter = prog.prog_type == uapi.BPF_PROG_TYPE_TRACING and prog.expected_attach_type == uapi.BPF_TRACE_ITER
    if is_iter and prog.version.at_least("5.13"):  # 3d06f34aa89e
        return True
    if prog.prog_type == uapi.BPF_PROG_TYPE_LSM and prog.version.at_least("5.11"):  # 6f100640ca5b
        return _sleepable_hook(prog)
    return prog.attach_func_name in D_PATH_FUNCTIONS


def _sleepable_hook(prog: Program) -> bool:
    """kernel/bpf/bpf_lsm.c:bpf_lsm_is_sleepable_hook()."""
    from bpf.verifier.protos.attach_rules import sleepable_lsm_hooks

    return prog.attach_func_name in sleepable_lsm_hooks(prog.version)


def _sk_storage_tracing_allowed(prog: Program) -> bool:
    """net/core/bpf_sk_storage.c:bpf_sk_storage_tracing_allowed()."""
    if prog.attach_prog is not None:
        return False
    attach = prog.expected_attach_type
    if attach in (uapi.BPF_TRACE_ITER, uapi.BPF_TRACE_RAW_TP):
        return True
    if attach in AROUND_FUNCTIONS:
        return not (prog.attach_func_name or "").startswith("bpf_sk_storage")
    return False


_ALLOWED: dict[str, Callable[[Program], bool]] = {
    "d_path": _d_path_allowed,
    "ima_inode_hash": _sleepable_hook,
    "sk_storage_tracing": _sk_storage_tracing_allowed,
}
