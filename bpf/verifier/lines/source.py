"""Source lines in the log, when the program brings line_info: verbose_linfo() of kernel/bpf/verifier.c."""

from __future__ import annotations

from bpf.verifier.env import Env


def verbose_linfo(env: Env, insn_idx: int, prefix: str) -> None:
    """The source line an instruction belongs to, unless it was printed last."""
    if not env.line_info or not env.log.level or env.log.full or insn_idx >= len(env.insns):
        return
    found = env.line_info[0]
    for row in env.line_info[1:]:
        if insn_idx < row[0]:
            break
        found = row
    if found is env.prev_linfo:
        return
    if prefix:
        env.verbose(prefix)
    env.verbose(env.btf.string(found[2]).lstrip(" \t\n\v\f\r") + "\n")
    env.prev_linfo = found
