"""Exceptions, since 6.7: bpf_throw() ends the program where it is, and a function of the program, or nobody, says what that returns.

bpf_find_exception_callback_insn_off() of kernel/bpf/verifier.c; what is refused where something is thrown is with the ends of programs.
"""

from __future__ import annotations

from typing import Final

from arch.abi.errno import EEXIST, EINVAL, ENOENT
from bpf.btf.codec import GLOBAL, Kind
from bpf.verifier.domain.types import ARG_ANYTHING
from bpf.verifier.env import Env

THROW: Final = "bpf_throw"
_CALLBACK_TAG: Final = "exception_callback:"


def callback_start(env: Env) -> int:
    """Where the function begins that the main function's tag names; 0: there is none."""
    records = env.request.func_info
    if not records or env.btf is None:
        return 0
    main = records[0][1]
    if not 0 < main < len(env.btf.types):
        env.reject(EINVAL, "invalid btf id for main subprog in func_info")
    tags = [
        t.name.removeprefix(_CALLBACK_TAG)
        for t in env.btf.types
        if t.kind is Kind.DECL_TAG and t.type == main and t.component_idx == -1 and t.name.startswith(_CALLBACK_TAG)
    ]
    if not tags:
        return 0
    if len(tags) > 1:
        env.reject(EEXIST, "multiple exception callback tags for main subprog")
    number = env.btf.find(tags[0], Kind.FUNC)
    if not number:
        env.reject(ENOENT, f"exception callback '{tags[0]}' could not be found in BTF")
    if env.btf[number].linkage != GLOBAL:
        env.reject(EINVAL, f"exception callback '{tags[0]}' must have global linkage")
    start = -1
    for insn, type_id in records:
        if type_id == number:
            if not insn:
                env.reject(EINVAL, "invalid exception callback insn_off in func_info: 0")
            start = insn
    if start < 0:
        env.reject(EINVAL, "exception callback type id not found in func_info")
    return start


def check_callback_arguments(env: Env, number: int) -> None:
    """What is thrown is one number."""
    if not env.subprogs[number].is_exception_cb:
        return
    args = env.subprogs[number].args or []
    if len(args) != 1 or args[0].arg_type != ARG_ANYTHING:
        env.reject(EINVAL, "exception cb only supports single integer argument")
