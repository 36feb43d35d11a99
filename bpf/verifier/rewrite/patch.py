"""Replacing and removing instructions, with all jumps, calls, functions and line numbers kept right.

kernel/bpf/core.c:bpf_patch_insn_single(), bpf_remove_insns(); kernel/bpf/verifier.c:bpf_patch_insn_data(),
verifier_remove_insns().  Linux patches one instruction at a time; here a pass hands over all its patches and they
are applied at once, which gives the same program: a jump goes to the first instruction of what replaced its target.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from itertools import accumulate

from arch.abi.errno import ENOMEM
from bpf.isa.insn import (
    BPF_CALL,
    BPF_EXIT,
    BPF_GOTOX,
    BPF_JA,
    BPF_JMP,
    BPF_JMP32,
    BPF_LD_IMM64,
    BPF_LOAD_ACQ,
    BPF_PSEUDO_CALL,
    BPF_PSEUDO_FUNC,
    BPF_TAIL_CALL,
    Insn,
)
from bpf.maps.info import GONE
from bpf.verifier.env import Env, InsnAux, SubprogInfo, _wide_operands

BPF_STX_CLASS = 3
BPF_ATOMIC_MODE = 0xC0
BPF_CMPXCHG_OP = 0xF1

Patches = Mapping[int, Sequence[Insn]]


def insn_def_regno(insn: Insn) -> int:
    """The register an instruction writes; -1: none.  insn_def_regno()."""
    class_ = insn.cls
    if class_ in (BPF_JMP, BPF_JMP32, 2):
        return -1
    if class_ == BPF_STX_CLASS:
        if insn.mode == BPF_ATOMIC_MODE and insn.imm == BPF_LOAD_ACQ:
            return insn.dst_reg
        if insn.mode == BPF_ATOMIC_MODE and insn.imm & 1:
            return 0 if insn.imm == BPF_CMPXCHG_OP else insn.src_reg
        return -1
    return insn.dst_reg


def insn_has_def32(insn: Insn) -> bool:
    """The instruction writes the low half of a register and clears the rest.  insn_has_def32()."""
    return insn_def_regno(insn) != -1 and not _wide_operands(insn)[1]


def _jump_kind(insn: Insn) -> str:
    """Which member holds a relative target: "off", "imm", or none."""
    code = insn.code
    if code == BPF_LD_IMM64:
        return "imm" if insn.src_reg == BPF_PSEUDO_FUNC else ""
    class_, op = insn.cls, insn.op
    if class_ not in (BPF_JMP, BPF_JMP32) or op == BPF_EXIT:
        return ""
    if op == BPF_CALL:
        return "imm" if insn.src_reg == BPF_PSEUDO_CALL else ""
    if code == BPF_JMP32 | BPF_JA:
        return "imm"
    return "" if code in (BPF_JMP | BPF_TAIL_CALL, BPF_GOTOX) else "off"


def _retarget(insn: Insn, old: int, new: int, place: Sequence[int]) -> Insn | None:
    """The instruction moved from `old` to `new`; None if its target is out of reach."""
    kind = _jump_kind(insn)
    if not kind:
        return insn
    target = old + 1 + (insn.off if kind == "off" else insn.imm)
    if not 0 <= target < len(place):
        return insn  # a trap's jump to itself was handled by the caller; nothing else points outside
    delta = place[target] - new - 1
    if kind == "imm":
        return insn.replace(imm=delta)
    if not -(1 << 15) <= delta < 1 << 15:
        return None
    return insn.replace(off=delta)


def patch_insns(env: Env, patches: Patches) -> None:
    """Replace instructions, each by one or more.  bpf_patch_insn_data() for each of them.

    The last instruction of a patch takes over what is known about the replaced one.
    """
    if not patches:
        return
    lengths = [len(patches[i]) if i in patches else 1 for i in range(len(env.insns))]
    place = [0, *accumulate(lengths)]
    insns: list[Insn] = []
    aux: list[InsnAux] = []
    for old, insn in enumerate(env.insns):
        patch = patches.get(old)
        info = env.aux[old]
        if patch is None:
            moved = _retarget(insn, old, place[old], place)
            if moved is None:
                _out_of_reach(env, patches)
            else:
                insns.append(moved)
            aux.append(info)
            continue
        insns.extend(patch)
        if patch[-1] is insn:  # something was put before it
            moved = _retarget(insn, old, place[old] + len(patch) - 1, place)
            if moved is None:
                _out_of_reach(env, patches)
            else:
                insns[-1] = moved
        aux.extend(InsnAux(0, seen=info.seen, zext_dst=insn_has_def32(extra)) for extra in patch[:-1])
        info.zext_dst = insn_has_def32(patch[-1])
        aux.append(info)
    env.insns, env.aux = insns, aux
    for subprog in env.subprogs:
        subprog.start = place[subprog.start]
    for table in env.jump_tables:
        table.places = [there if there == GONE else place[there] for there in table.places]
    env.line_info = [(place[row[0]], *row[1:]) for row in env.line_info]


def _out_of_reach(env: Env, patches: Patches) -> None:
    """Find the patch that pushes a jump out of 16 bits, applying them in order as Linux does."""
    for last in sorted(patches):
        lengths = [len(patches[i]) if i in patches and i <= last else 1 for i in range(len(env.insns))]
        place = [0, *accumulate(lengths)]
        for old, insn in enumerate(env.insns):
            if (old not in patches or old > last or patches[old][-1] is insn) and _retarget(
                insn, old, place[old], place
            ) is None:
                text = f"insn {env.aux[last].orig_idx} cannot be patched due to 16-bit range"
                env.reject(ENOMEM, text)
    raise AssertionError("no jump is out of reach")


def remove_insns(env: Env, doomed: Sequence[bool]) -> None:
    """Remove instructions.  verifier_remove_insns() for each run of them."""
    if not any(doomed):
        return
    place = [0, *accumulate(0 if gone else 1 for gone in doomed)]
    kept = [i for i, gone in enumerate(doomed) if not gone]
    insns = []
    for old in kept:
        moved = _retarget(env.insns[old], old, place[old], place)
        assert moved is not None  # jumps only become shorter
        insns.append(moved)
    for table in env.jump_tables:
        table.places = [GONE if there == GONE or doomed[there] else place[there] for there in table.places]
    _move_line_info(env, doomed, place)
    env.insns, env.aux = insns, [env.aux[i] for i in kept]
    _move_subprogs(env, doomed, place)


def _move_subprogs(env: Env, doomed: Sequence[bool], place: Sequence[int]) -> None:
    """Functions all of whose instructions are gone go too.  adjust_subprog_starts_after_remove()."""
    kept: list[SubprogInfo] = []
    for i, subprog in enumerate(env.subprogs[:-1]):
        end = env.subprogs[i + 1].start
        if place[subprog.start] != place[end] or end == subprog.start:
            kept.append(subprog)
    kept.append(env.subprogs[-1])
    for subprog in kept:
        subprog.start = place[subprog.start]
    env.subprogs = kept


def _move_line_info(env: Env, doomed: Sequence[bool], place: Sequence[int]) -> None:
    """Lines of removed instructions go; the last of them serves what follows if that has none of its own."""
    rows = list(env.line_info)
    if not rows:
        return
    starts = [row[0] for row in rows]
    moved: dict[int, tuple[int, ...]] = {}
    for row in rows:
        index = row[0]
        if not doomed[index]:
            moved[place[index]] = row
            continue
        after = index
        while after < len(doomed) and doomed[after]:
            after += 1
        following = bisect_left(starts, after)
        if after < len(doomed) and (following == len(starts) or starts[following] != after):
            moved[place[after]] = row
    env.line_info = [(index, row[1], row[2], row[3]) for index, row in sorted(moved.items())]
