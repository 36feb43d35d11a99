"""Source lines in the log, when the program brings line_info: verbose_linfo() of kernel/bpf/verifier.c."""

from __future__ import annotations

from bisect import bisect_right
from operator import itemgetter

from bpf.verifier.env import Env


def verbose_linfo(env: Env, insn_idx: int, prefix: str) -> None:
    """The source line an instruction belongs to, unless it was printed last."""
    if not env.line_info or not env.log.level or (env.log.full and not env.log.rolls) or insn_idx >= len(env.insns):
        return
    number = max(0, bisect_right(env.line_info, insn_idx, key=itemgetter(0)) - 1)
    if number == env.prev_linfo:
        return
    row = env.line_info[number]
    if env.rules.lines_have_places and env.prev_linfo >= 0 and _same_line(env.line_info[env.prev_linfo], row):
        return
    if prefix:
        env.verbose(prefix)
    _, file, text, place = row
    where = ""
    if env.rules.lines_have_places:
        where = f" @ {env.btf.string(file).rpartition('/')[2]}:{place >> 10}"
    env.verbose(env.btf.string(text).lstrip(" \t\n\v\f\r") + where + "\n")
    env.prev_linfo = number


def _same_line(one: tuple[int, int, int, int], other: tuple[int, int, int, int]) -> bool:
    """Two places of a line."""
    return one[1:3] == other[1:3] and one[3] >> 10 == other[3] >> 10
