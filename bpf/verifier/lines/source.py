"""Source lines in the log, when the program brings line_info: verbose_linfo() of kernel/bpf/verifier.c."""

from __future__ import annotations

from bpf.verifier.env import Env


def verbose_linfo(env: Env, insn_idx: int, prefix: str) -> None:
    """The source line an instruction belongs to, unless it was printed last."""
    if not env.line_info or not env.log.level or env.log.full or insn_idx >= len(env.insns):
        return
    number = 0
    while number + 1 < len(env.line_info) and insn_idx >= env.line_info[number + 1][0]:
        number += 1
    if number == env.prev_linfo:
        return
    if prefix:
        env.verbose(prefix)
    env.verbose(env.btf.string(env.line_info[number][2]).lstrip(" \t\n\v\f\r") + "\n")
    env.prev_linfo = number
