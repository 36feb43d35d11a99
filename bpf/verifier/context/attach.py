"""What a tracing, LSM or extension program attaches to: check_attach_btf_id() of kernel/bpf/verifier.c."""

from __future__ import annotations

from typing import Final, NoReturn

from arch.abi.errno import EINVAL, ENOENT, ENOTSUPP
from arch.architecture import syscall_wrappers
from bpf import uapi
from bpf.btf.codec import COMPOSITES, GLOBAL, MODIFIERS, SIZED, Btf, BtfType, Kind
from bpf.verifier.context import struct_ops
from bpf.verifier.context.btf_walk import is_any_enum, kind_text, type_by_id
from bpf.verifier.context.ctx_rule import CtxArg
from bpf.verifier.domain.types import MEM_RDONLY, PTR_MAYBE_NULL, PTR_TO_BTF_ID, PTR_TO_BUF, PTR_TRUSTED
from bpf.verifier.env import Env
from bpf.verifier.protos import attach_rules
from bpf.versions.attach_groups import AROUND_FUNCTIONS, MANY_FUNCTIONS
from bpf.versions.features import has_attach_type

MAX_BPF_FUNC_ARGS: Final = uapi.MAX_BPF_FUNC_ARGS
_TRACE_PREFIX: Final = "btf_trace_"
_TRAMPOLINE_ATTACH: Final = frozenset(
    {
        uapi.BPF_MODIFY_RETURN,
        uapi.BPF_LSM_MAC,
        uapi.BPF_LSM_CGROUP,
        *AROUND_FUNCTIONS,
    }
)
_MAY_SLEEP: Final = (uapi.BPF_PROG_TYPE_TRACING, uapi.BPF_PROG_TYPE_LSM, uapi.BPF_PROG_TYPE_KPROBE)
_TRACEPOINTS: Final = (uapi.BPF_PROG_TYPE_TRACEPOINT, uapi.BPF_PROG_TYPE_RAW_TRACEPOINT)
_SLEEPING_TRACING: Final = (*AROUND_FUNCTIONS, uapi.BPF_MODIFY_RETURN, uapi.BPF_TRACE_ITER)


def check_attach_btf_id(env: Env) -> None:
    """The target exists, and such a program may be attached to it."""
    kind = env.request.prog_type
    if kind == uapi.BPF_PROG_TYPE_SYSCALL:
        if not env.sleepable:
            env.reject(EINVAL, "Syscall programs can only be sleepable")
        return
    if env.sleepable and kind == uapi.BPF_PROG_TYPE_KPROBE and not env.rules.sleepable_kprobes:
        env.reject(EINVAL, "Only fentry/fexit/fmod_ret and lsm programs can be sleepable")
    if env.sleepable and not _can_sleep(env):
        _refuse_sleep(env)
    if env.sleepable and kind == uapi.BPF_PROG_TYPE_LSM and env.expected_attach_type == uapi.BPF_LSM_CGROUP:
        env.reject(EINVAL, "BPF_LSM_CGROUP programs cannot be sleepable")
    if kind == uapi.BPF_PROG_TYPE_STRUCT_OPS:
        _check_struct_ops(env)
        return
    if kind not in (uapi.BPF_PROG_TYPE_TRACING, uapi.BPF_PROG_TYPE_LSM, uapi.BPF_PROG_TYPE_EXT):
        return
    name, proto = _check_target(env)
    env.facts.attach_func_proto = proto
    env.facts.attach_func_name = name
    target = env.attach_prog
    if target is not None and kind == uapi.BPF_PROG_TYPE_EXT:
        env.prog_type = target.prog_type
        env.expected_attach_type = target.expected_attach_type
    if env.expected_attach_type == uapi.BPF_TRACE_RAW_TP:
        env.facts.attach_btf_trace = True
    elif env.expected_attach_type == uapi.BPF_TRACE_ITER:
        if name.removeprefix("bpf_iter_") not in _ITERATORS or not name.startswith("bpf_iter_"):
            env.reject(EINVAL)
        env.facts.ctx_arg_info = iter_ctx_args(env, name)
    elif kind == uapi.BPF_PROG_TYPE_LSM:
        _check_lsm(env, name)
    elif kind == uapi.BPF_PROG_TYPE_TRACING and name in attach_rules.BTF_ID_DENY:
        env.reject(EINVAL)


def _can_sleep(env: Env) -> bool:
    """can_be_sleepable()."""
    kind, attach = env.request.prog_type, env.expected_attach_type
    if kind == uapi.BPF_PROG_TYPE_TRACING and env.rules.sleepable_by_attach:
        if attach == uapi.BPF_TRACE_RAW_TP:
            return env.rules.sleepable_tracepoints
        return attach in _SLEEPING_TRACING and has_attach_type(env.version, attach)
    if kind == uapi.BPF_PROG_TYPE_STRUCT_OPS:
        return env.rules.sleepable_by_attach
    return kind in _MAY_SLEEP or (kind in _TRACEPOINTS and env.rules.sleepable_tracepoints)


def _refuse_sleep(env: Env) -> NoReturn:
    if env.rules.sleepable_tracepoints:
        env.reject(EINVAL, "Program of this type cannot be sleepable")
    which = ", lsm, and kprobe/uprobe" if env.rules.sleepable_kprobes else " and lsm"
    if env.rules.sleepable_by_attach:
        which = ", lsm, iter, uprobe, and struct_ops"
    env.reject(EINVAL, f"Only fentry/fexit/fmod_ret{which} programs can be sleepable")


# ---- tables ----

# Functions whose failure may be faked: ALLOW_ERROR_INJECTION() of Linux 6.1, all system calls aside.
_ERROR_INJECTABLE: Final = frozenset(
    [
        "bpf_fentry_test1",
        "bpf_modify_return_test",
        "should_failslab",
        "should_fail_alloc_page",
        "should_fail_bio",
        "__filemap_add_folio",
        "open_ctree",
        "btrfs_cow_block",
        "btrfs_search_slot",
    ]
)


_NO_LSM_HOOKS: Final = frozenset(  # of all versions
    {
        "bpf_lsm_find_cgroup_shim",
        "bpf_lsm_func_proto",
        "bpf_lsm_get_retval_range",
        "bpf_lsm_has_d_inode_locked",
        "bpf_lsm_hook_returns_errno",
        "bpf_lsm_init",
        "bpf_lsm_is_sleepable_hook",
        "bpf_lsm_is_trusted",
        "bpf_lsm_verify_prog",
    }
)


def is_error_injectable(env: Env, name: str) -> bool:
    """within_error_injection_list(): empty in a kernel without CONFIG_FUNCTION_ERROR_INJECTION, as Debian's is."""
    if name.startswith(syscall_wrappers()) and env.rules.system_calls_modified:
        return True
    if "FUNCTION_ERROR_INJECTION" not in env.config:
        return False
    return name in _ERROR_INJECTABLE or name.startswith(syscall_wrappers())


_OR_NULL: Final = PTR_TO_BTF_ID | PTR_MAYBE_NULL
_BUF: Final = PTR_TO_BUF | PTR_MAYBE_NULL
# iterator: (offset of the argument, register type, struct)
_ITERATORS: Final[dict[str, tuple[tuple[int, int, str], ...]]] = {
    "task": ((8, _OR_NULL, "task_struct"),),
    "task_file": ((8, _OR_NULL, "task_struct"), (24, _OR_NULL, "file")),
    "task_vma": ((8, _OR_NULL, "task_struct"), (16, _OR_NULL, "vm_area_struct")),
    "bpf_map": ((8, _OR_NULL, "bpf_map"),),
    "bpf_prog": ((8, _OR_NULL, "bpf_prog"),),
    "bpf_link": ((8, _OR_NULL, "bpf_link"),),
    "cgroup": ((8, _OR_NULL, "cgroup"),),
    "bpf_map_elem": ((16, _BUF | MEM_RDONLY, ""), (24, _BUF, "")),
    "bpf_sk_storage_map": ((16, _OR_NULL, "sock"), (24, _BUF, "")),
    "sockmap": ((16, _BUF | MEM_RDONLY, ""), (24, _OR_NULL, "sock")),
    "tcp": ((8, _OR_NULL, "sock_common"),),
    "udp": ((8, _OR_NULL, "udp_sock"),),
    "unix": ((8, _OR_NULL, "unix_sock"),),
    "netlink": ((8, _OR_NULL, "netlink_sock"),),
    "ipv6_route": ((8, _OR_NULL, "fib6_info"),),
    "ksym": ((8, _OR_NULL, "kallsym_iter"),),
    "kmem_cache": ((8, _OR_NULL, "kmem_cache"),),
    "dmabuf": ((8, _OR_NULL, "dma_buf"),),
}


# iterators whose objects may be relied on, since
_TRUSTED_ITERATORS: Final = {
    "bpf_map": "6.6",
    "task": "6.7",
    "cgroup": "6.7",
    "tcp": "6.5",
    "udp": "6.5",
    "kmem_cache": "6.13",
}


def iter_ctx_args(env: Env, name: str) -> tuple[CtxArg, ...]:
    """What bpf_iter_prog_supported() copies from the iterator's target."""
    rows = _ITERATORS[name.removeprefix("bpf_iter_")]
    trusted = _TRUSTED_ITERATORS.get(name.removeprefix("bpf_iter_"))
    trust = PTR_TRUSTED if trusted is not None and env.version.at_least(trusted) else 0
    return tuple(
        CtxArg(offset, word | trust, env.vmlinux.find(struct, Kind.STRUCT) if struct else 0)
        for offset, word, struct in rows
    )


# ---- LSM and struct_ops ----


def _check_lsm(env: Env, name: str) -> None:
    """bpf_lsm_verify_prog()."""
    if not env.request.gpl_compatible:
        env.reject(EINVAL, "LSM programs must have a GPL compatible license")
    btf_id = env.request.attach_btf_id
    if name in attach_rules.disabled_lsm_hooks(env.version):
        env.reject(EINVAL, f"attach_btf_id {btf_id} points to disabled hook {name}")
    if not name.startswith("bpf_lsm_") or name in _NO_LSM_HOOKS:
        env.reject(EINVAL, f"attach_btf_id {btf_id} points to wrong type name {name}")


def _check_struct_ops(env: Env) -> None:
    """check_struct_ops_btf_id(): a member of one of the structs of functions that programs can supply."""
    if not env.request.gpl_compatible:
        env.reject(EINVAL, "struct ops programs must have a GPL compatible license")
    btf: Btf | None = env.vmlinux
    btf_id = env.request.attach_btf_id
    t = type_by_id(btf, btf_id) if btf is not None else None
    if btf is None or t is None or t.kind is not Kind.STRUCT or t.name not in struct_ops.STRUCTS:
        env.reject(ENOTSUPP, f"attach_btf_id {btf_id} is not a supported struct")
    index = env.expected_attach_type
    if index >= len(t.members):
        env.reject(EINVAL, f"attach to invalid member idx {index} of struct {t.name}")
    member = t.members[index]
    pointer = btf.resolved(member.type)
    proto = btf.resolved(pointer.type) if pointer.kind is Kind.PTR else None
    if proto is None or proto.kind is not Kind.FUNC_PROTO:
        env.reject(EINVAL, f"attach to invalid member {member.name}(@idx {index}) of struct {t.name}")
    if member.name in struct_ops.STRUCTS[t.name]:
        env.reject(ENOTSUPP, f"attach to unsupported member {member.name} of struct {t.name}")
    env.facts.attach_func_proto = proto
    env.facts.attach_func_name = member.name
    env.attach_member = member.name
    env.struct_ops = t.name


# ---- targets ----


def _check_target(env: Env) -> tuple[str, BtfType | None]:
    """bpf_check_attach_target(): name and prototype; None: all arguments are plain numbers."""
    request = env.request
    target = env.attach_prog
    extension = request.prog_type == uapi.BPF_PROG_TYPE_EXT
    btf_id = request.attach_btf_id
    if not btf_id:
        env.reject(EINVAL, "Tracing programs must provide btf_id")
    btf: Btf | None = target.prog_btf if target is not None else env.attach_btf
    if btf is None:
        env.reject(EINVAL, "FENTRY/FEXIT program can only be attached to another program annotated with BTF")
    env.attach_btf = btf
    t = type_by_id(btf, btf_id)
    if t is None:
        env.reject(EINVAL, f"attach_btf_id {btf_id} is invalid")
    unreliable = _check_target_prog(env, t, btf_id) if target is not None else False
    if target is None and extension:
        env.reject(EINVAL, "Cannot replace kernel functions")
    attach = env.expected_attach_type
    if attach == uapi.BPF_TRACE_RAW_TP:
        return _check_raw_tp(env, btf, t, btf_id)
    if attach == uapi.BPF_TRACE_ITER:
        proto = _function_prototype(env, btf, t, btf_id)
        check_func_model(env, btf, proto, t.name)
        return t.name, proto
    if (attach not in _TRAMPOLINE_ATTACH or not has_attach_type(env.version, attach)) and not extension:
        env.reject(EINVAL)
    if t.kind is Kind.FUNC and extension:
        _check_same_type(env, btf, t)
    proto = _function_prototype(env, btf, t, btf_id)
    known: BtfType | None = None if unreliable else proto
    check_func_model(env, btf, known, t.name)
    address = 1
    if target is None:
        symbol = request.kernel_symbol
        address = (symbol(t.name) or 0) if symbol is not None else 1
        if not address:
            env.reject(ENOENT, f"The address of function {t.name} cannot be found")
    if env.sleepable and attach not in MANY_FUNCTIONS:
        _check_sleepable(env, t.name)
    elif attach == uapi.BPF_MODIFY_RETURN:
        if target is not None:
            env.reject(EINVAL, "can't modify return codes of BPF programs")
        if not is_error_injectable(env, t.name) and not t.name.startswith("security_"):
            env.reject(EINVAL, f"{t.name}() is not modifiable")
    return t.name, known


def _function_prototype(env: Env, btf: Btf, t: BtfType, btf_id: int) -> BtfType:
    if t.kind is not Kind.FUNC:
        env.reject(EINVAL, f"attach_btf_id {btf_id} is not a function")
    proto = type_by_id(btf, t.type)
    if proto is None or proto.kind is not Kind.FUNC_PROTO:
        env.reject(EINVAL)
    return proto


def _check_raw_tp(env: Env, btf: Btf, t: BtfType, btf_id: int) -> tuple[str, BtfType]:
    if env.attach_prog is not None:
        env.reject(EINVAL, "Only FENTRY/FEXIT progs are attachable to another BPF prog")
    if t.kind is not Kind.TYPEDEF:
        env.reject(EINVAL, f"attach_btf_id {btf_id} is not a typedef")
    if not t.name.startswith(_TRACE_PREFIX):
        env.reject(EINVAL, f"attach_btf_id {btf_id} points to wrong type name {t.name}")
    pointer = btf[t.type]
    proto = btf[pointer.type] if pointer.kind is Kind.PTR else None
    if proto is None or proto.kind is not Kind.FUNC_PROTO:
        env.reject(EINVAL)
    name = t.name.removeprefix(_TRACE_PREFIX)
    if env.sleepable and env.rules.sleepable_tracepoints and name not in attach_rules.FAULTABLE_TRACEPOINTS:
        env.reject(EINVAL, f"Sleepable program cannot attach to non-faultable tracepoint {name}")
    return name, proto


def _check_target_prog(env: Env, t: BtfType, btf_id: int) -> bool:
    """Another program is the target.  True: nothing is known about its function's arguments."""
    target = env.attach_prog
    extension = env.request.prog_type == uapi.BPF_PROG_TYPE_EXT
    functions = [row[1] for row in target.func_info]
    if btf_id not in functions:
        env.reject(EINVAL, f"Subprog {t.name} doesn't exist")
    unreliable = functions.index(btf_id) in target.attach_info.get("unreliable", ())
    if extension and unreliable:
        env.reject(EINVAL, "Cannot replace static functions")
    if target.prog_type == env.request.prog_type:
        env.reject(EINVAL, "Cannot recursively attach")
    if target.prog_type == uapi.BPF_PROG_TYPE_TRACING and extension and target.expected_attach_type in AROUND_FUNCTIONS:
        env.reject(EINVAL, "Cannot extend fentry/fexit")
    return unreliable


def _check_same_type(env: Env, btf: Btf, theirs: BtfType) -> None:
    """An extension has the type of the function it replaces: btf_check_type_match()."""
    if not env.has_func_info:
        env.reject(EINVAL, "Program extension requires BTF")
    ours = type_by_id(env.btf, env.subprogs[0].type_id)
    if ours is None or ours.kind is not Kind.FUNC:
        env.reject(EINVAL)
    for func in (ours, theirs):
        if func.linkage != GLOBAL:
            env.reject(EINVAL, f"{func.name}() is not a global function")
    proto, other = env.btf[ours.type], btf[theirs.type]
    if len(proto.params) != len(other.params):
        env.reject(
            EINVAL,
            f"{ours.name}() has {len(proto.params)} args while {theirs.name}() has {len(other.params)} args",
        )
    t1, t2 = env.btf.resolved(proto.type), btf.resolved(other.type)
    if not _same_info(t1, t2):
        env.reject(
            EINVAL,
            f"Return type {kind_text(t1)} of {ours.name}() doesn't match type {kind_text(t2)} of {theirs.name}()",
        )
    for i, (param, wanted) in enumerate(zip(proto.params, other.params)):
        t1, t2 = env.btf.resolved(param.type), btf.resolved(wanted.type)
        _check_same_arg(env, btf, (ours.name, theirs.name), i, t1, t2)


def _same_info(a: BtfType, b: BtfType) -> bool:
    """btf_type.info: kind, number of members and the flag."""
    return (a.kind, a.vlen, a.kflag) == (b.kind, b.vlen, b.kflag)


def _check_same_arg(env: Env, btf: Btf, names: tuple[str, str], i: int, t1: BtfType, t2: BtfType) -> None:
    ours, theirs = names
    if not _same_info(t1, t2):
        env.reject(EINVAL, f"arg{i} in {ours}() is {kind_text(t1)} while {theirs}() has {kind_text(t2)}")
    if t1.kind in SIZED and t1.size != t2.size:
        env.reject(EINVAL, f"arg{i} in {ours}() has size {t1.size} while {theirs}() has {t2.size}")
    if t1.kind is Kind.INT or is_any_enum(t1):
        return
    if t1.kind is not Kind.PTR:
        env.reject(EINVAL, f"arg{i} in {ours}() has unrecognized type")
    t1, t2 = env.btf.resolved(t1.type), btf.resolved(t2.type)
    for name, target in ((ours, t1), (theirs, t2)):
        if target.kind not in COMPOSITES:
            env.reject(EINVAL, f"arg{i} in {name}() is not a pointer to context")
    if t1.name != t2.name:
        env.reject(
            EINVAL,
            f"arg{i} {ours}(struct {t1.name} *) doesn't match {theirs}(struct {t2.name} *)",
        )


_SLEEPING_TARGETS: Final = ("bpf_fentry_test1",)  # results may be modified, KF_SLEEPABLE: bpf_test_modify_return_ids


def _check_sleepable(env: Env, name: str) -> None:
    kind = env.request.prog_type
    if kind == uapi.BPF_PROG_TYPE_TRACING:
        fine = name not in attach_rules.NON_SLEEPABLE_ERROR_INJECT and is_error_injectable(env, name)
        fine = fine or (name in _SLEEPING_TARGETS and env.rules.test_function_sleeps)
    else:
        fine = kind == uapi.BPF_PROG_TYPE_LSM and name in attach_rules.sleepable_lsm_hooks(env.version)
    if not fine:
        env.reject(EINVAL, f"{name} is not sleepable")


def _type_size(btf: Btf, type_id: int) -> tuple[int, BtfType]:
    """__get_type_size(): (bytes or -1, the type)."""
    t = type_by_id(btf, type_id)
    while t is not None and t.kind in MODIFIERS:
        t = type_by_id(btf, t.type)
    if t is None:
        return -1, btf[0]
    if t.kind is Kind.VOID:
        return 0, t
    if t.kind is Kind.PTR:
        return 8, t
    if t.kind in (Kind.INT, Kind.STRUCT) or is_any_enum(t):
        return t.size, t
    return -1, t


def check_func_model(env: Env, btf: Btf, proto: BtfType | None, name: str) -> None:
    """A trampoline can pass such arguments: btf_distill_func_proto()."""

    def reject(text: str) -> NoReturn:
        env.reject(EINVAL, f"The function {name} {text}")

    if proto is None:
        return
    nargs = len(proto.params)
    if nargs > MAX_BPF_FUNC_ARGS:
        reject(f"has {nargs} arguments. Too many.")
    size, t = _type_size(btf, proto.type)
    if size < 0 or t.kind is Kind.STRUCT:
        reject(f"return type {kind_text(t)} is unsupported.")
    for i, param in enumerate(proto.params):
        if i == nargs - 1 and param.type == 0:
            reject("with variable args is unsupported.")
        size, t = _type_size(btf, param.type)
        if size < 0 or size > 16 or (t.kind is Kind.STRUCT and not env.rules.struct_arguments):
            reject(f"arg{i} type {kind_text(t)} is unsupported.")
        if size == 0:
            reject("has malformed void argument.")
