"""How many bytes of the stack a call reads or writes behind a pointer, as far as that is known before any path is walked.

bpf_helper_stack_access_bytes() and bpf_kfunc_stack_access_bytes() of kernel/bpf/verifier.c, Linux 7.2.
"""

from __future__ import annotations

from typing import Final

from bpf.btf import Kind
from bpf.isa.insn import Insn
from bpf.verifier.calls.kfunc import KfuncDesc
from bpf.verifier.calls.kfuncs import KF_ITER_NEW, kfunc_flags
from bpf.verifier.context.btf_walk import resolve_size
from bpf.verifier.domain.state import MAX_BPF_STACK
from bpf.verifier.domain.types import (
    ARG_CONST_MAP_PTR,
    ARG_CONST_SIZE,
    ARG_CONST_SIZE_OR_ZERO,
    ARG_PTR_TO_DYNPTR,
    ARG_PTR_TO_MAP_KEY,
    ARG_PTR_TO_MAP_VALUE,
    ARG_PTR_TO_MEM,
    ARG_PTR_TO_STACK,
    MEM_FIXED_SIZE,
    MEM_UNINIT,
    base_type,
)
from bpf.verifier.env import Env
from bpf.verifier.paths.flow import Registers, helper_proto, small_number

_UNKNOWN_SIZE: Final = None
_DYNPTR_SIZE: Final = 16
_DYNPTRS: Final = ("bpf_dynptr", "bpf_dynptr_kern")


def stack_bytes(env: Env, insn: Insn, arg: int, known: Registers) -> int | None:
    """Bytes that are read, or (negative) written; None: up to the frame's pointer, for all that is known.

    `arg` counts from 0; `known` is what registers hold before the call on every path.
    """
    if insn.src_reg == 0:
        return _helper_bytes(env, insn, arg, known)
    desc = env.look_up_kfunc(insn)
    return _kfunc_bytes(env, desc, arg, known) if desc is not None else _UNKNOWN_SIZE


def _helper_bytes(env: Env, insn: Insn, arg: int, known: Registers) -> int | None:
    proto = helper_proto(env, insn)
    if proto is None:
        return _UNKNOWN_SIZE
    word = proto.arg_types[arg]
    base = base_type(word)
    size: int | None
    if base in (ARG_PTR_TO_MAP_KEY, ARG_PTR_TO_MAP_VALUE):
        size = _map_bytes(env, proto.arg_types[:arg], known, base == ARG_PTR_TO_MAP_KEY)
    elif base == ARG_PTR_TO_MEM and word & MEM_FIXED_SIZE:
        size = proto.arg_sizes[arg]
    elif base == ARG_PTR_TO_MEM and arg < 4 and proto.arg_types[arg + 1] in (ARG_CONST_SIZE, ARG_CONST_SIZE_OR_ZERO):
        size = small_number(known[arg + 2])
        if size is None:
            return 0 if word & MEM_UNINIT else MAX_BPF_STACK
    elif base == ARG_PTR_TO_DYNPTR:
        return -_DYNPTR_SIZE if word & MEM_UNINIT else _DYNPTR_SIZE
    else:
        return 0 if base == ARG_PTR_TO_STACK else _UNKNOWN_SIZE
    return -size if size is not None and word & MEM_UNINIT else size


def _map_bytes(env: Env, before: tuple[int, ...], registers: Registers, key: bool) -> int | None:
    """Size of a key or value of the map among the arguments, or of the largest that there is."""
    maps = env.used_maps
    for arg, word in enumerate(before):
        if base_type(word) == ARG_CONST_MAP_PTR:
            known = registers[arg + 1]
            if known is not None and known.kind == "map":
                m = maps[known.map_index]
                return m.key_size if key else m.value_size
            break
    all_maps = [*maps, *(m.inner for m in maps if m.inner is not None)]
    return max((m.key_size if key else m.value_size for m in all_maps), default=0) or _UNKNOWN_SIZE


def _kfunc_bytes(env: Env, desc: KfuncDesc, arg: int, known: Registers) -> int | None:
    params, btf = desc.proto.params, env.vmlinux
    if arg >= len(params):
        return 0
    pointer = btf.resolved(params[arg].type)
    if pointer.kind is not Kind.PTR:
        return 0
    size: int | None
    target = btf.resolved(pointer.type)
    if target.kind is Kind.STRUCT and target.name in _DYNPTRS:
        size = _DYNPTR_SIZE
    elif arg + 1 < len(params) and params[arg + 1].name.endswith(("__sz", "__szk")):
        size = small_number(known[arg + 2])
        if size is None:
            return MAX_BPF_STACK
    else:
        resolved = resolve_size(btf, btf.skip(pointer.type))
        if resolved is None:
            return _UNKNOWN_SIZE
        size = resolved.size
    flags = kfunc_flags(desc.name, env.prog_type, env.version, env.expected_attach_type) or 0
    written = (arg == 0 and flags & KF_ITER_NEW) or params[arg].name.endswith("__uninit")
    return -size if written else size
