"""State lines: print_verifier_state() and print_insn_state() of kernel/bpf/verifier.c."""

from __future__ import annotations

from typing import Final

from bpf.verifier.domain.state import FuncState, VerifierState
from bpf.verifier.env import Env

_MIN_ALIGNMENT: Final = 8
_ALIGNMENT: Final = 40


def print_verifier_state(env: Env, frame: FuncState, print_all: bool, state: VerifierState | None = None) -> None:
    """All of a frame, or what the last instruction touched; `state`: whose it is, where that is not the path's own."""
    whose = state or env.cur
    known = whose.frames[-1].refs if env.rules.locks_among_references and state is not None else frame.refs
    refs = [ref[0] for ref in known]
    for outer, one in enumerate(reversed(whose.held.locks()) if env.rules.locks_among_references else ()):
        older = sum(ref[0] in one.before_lock for ref in known) + outer
        refs.insert(older if env.rules.references_in_order else len(refs), one.lock_id)
    if print_all:
        env.log.write_state(env.style.state_text(frame, -1, -1, refs))
    else:
        env.log.write_state(env.style.state_text(frame, env.scratched_regs, env.scratched_stack_slots, refs))
        env.scratched_regs = 0
        env.scratched_stack_slots = 0


def padding(position: int) -> str:
    """Blanks between an instruction that ends at this column and what is said of it: bpf_vlog_alignment()."""
    column = max(position + _MIN_ALIGNMENT // 2, _ALIGNMENT)
    column = (column + _MIN_ALIGNMENT - 1) // _MIN_ALIGNMENT * _MIN_ALIGNMENT
    return " " * (column - position - 1)


def print_insn_state(env: Env, frame: FuncState) -> None:
    """What an instruction did: on its own line if nothing was printed since, else on a line of its own."""
    log = env.log
    if env.prev_log_len and env.prev_log_len == log.used:
        log.reset(env.prev_log_len - 1)
        log.write(padding(env.prev_insn_print_len) + ";")
    else:
        log.write(f"{env.insn_idx}:")
    print_verifier_state(env, frame, False)


def print_after_jump(env: Env, decided: bool) -> None:
    """What a conditional jump taught; before 5.17 nothing where only one way was possible."""
    if env.rules.state_after_insn:
        print_insn_state(env, env.frame)
    elif not decided:
        print_verifier_state(env, env.frame, True)
