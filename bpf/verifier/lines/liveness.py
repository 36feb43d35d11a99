"""What the analyses before the walk tell at level 2: functions in order, pointers into the stack, what is read and written of
it, registers that will be read.

arg_track_log(), print_subprog_arg_access(), print_instance() of kernel/bpf/liveness.c and sort_subprogs_topo() of
kernel/bpf/verifier.c, Linux 7.2.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from bpf.isa.insn import BPF_CALL, BPF_JMP, BPF_LD_IMM64, BPF_LDX, BPF_REG_FP, BPF_STX
from bpf.verifier.domain.stack_tracks import NO_POINTER, SOME_FRAME, Instance, Point, Slots, Track
from bpf.verifier.domain.state import BPF_REG_SIZE, MAX_BPF_STACK
from bpf.verifier.env import Env
from bpf.verifier.lines.insn_text import insn_text
from bpf.verifier.lines.state import padding

_SLOTS: Final = MAX_BPF_STACK // BPF_REG_SIZE
_RUN: Final = 3  # whole slots in a row that are told as one
_LIST_ROOM: Final = 319  # characters of a list of slots: TMP_STR_BUF_LEN less its NUL


def track_text(track: Track) -> str:
    """verbose_arg_track()."""
    if track is None:
        return "?"
    if not track:
        return "_"
    frame, offsets = track
    if frame == SOME_FRAME:
        return f"IMP{offsets[0]:x}"
    return "|".join(f"fp{frame}{off:+d}" for off in offsets) if offsets else f"fp{frame} ?"


def slots_text(frame: int, mask: int) -> str:
    """Halves of slots, "h" behind one that is alone: fmt_spis_mask()."""
    words: list[str] = []
    whole = [mask >> 2 * slot & 3 == 3 for slot in range(_SLOTS)]
    slot = 0
    while slot < _SLOTS:
        off = -(slot + 1) * BPF_REG_SIZE
        halves = mask >> 2 * slot & 3
        if halves == 3 and whole[slot : slot + _RUN] == [True] * _RUN:
            while slot + 1 < _SLOTS and whole[slot + 1]:
                slot += 1
            words.append(f"fp{frame}{off}..{-(slot + 1) * BPF_REG_SIZE}")
        elif halves == 3:
            words.append(f"fp{frame}{off}")
        elif halves:
            words.append(f"fp{frame}{off + BPF_REG_SIZE // 2 if halves & 1 else off}h")
        slot += 1
    return " ".join(words)


def _slot(number: int) -> str:
    return f"fp{-(number + 1) * BPF_REG_SIZE:+d}"


def tell_order(env: Env, order: Sequence[int]) -> None:
    """Functions, each behind those it calls."""
    for place, number in enumerate(order):
        env.verbose(f"topo_order[{place}] = {env.subprog_name(number)}\n")


class LivenessLines:
    """The lines of one program's analyses; made where somebody reads them."""

    def __init__(self, env: Env) -> None:
        self.env = env

    def _subprog(self, number: int) -> str:
        name = self.env.subprog_name(number)
        return f"subprog#{number}{f' {name}' if name else ''}"

    def _insns(self, subprog: int) -> Iterable[int]:
        insns, idx = self.env.insns, self.env.subprogs[subprog].start
        while idx < self.env.subprogs[subprog + 1].start:
            yield idx
            idx += 2 if insns[idx].code == BPF_LD_IMM64 else 1

    def _insn(self, idx: int) -> str:
        return f"{idx:3d}: {insn_text(self.env, idx)}"

    def analyzing(self, subprog: int, depth: int) -> None:
        """A function is followed."""
        self.env.verbose(f"subprog#{subprog}: analyzing (depth {depth})...\n")

    def changed(self, idx: int, before: Point, after: Point) -> None:
        """What an instruction does to pointers: arg_track_log()."""
        said = [
            f"\tr{r}: {track_text(old)} -> {track_text(new)}"
            for r, (old, new) in enumerate(zip(before.regs, after.regs))
            if old != new
        ]
        for slot in sorted(before.slots.keys() | after.slots.keys()):
            was, now = before.slots.get(slot, NO_POINTER), after.slots.get(slot, NO_POINTER)
            if was != now:
                said.append(f"\t{_slot(slot)}: {track_text(was)} -> {track_text(now)}")
        if said:
            self.env.log.write_state(f"{self._insn(idx)}{''.join(said)}\n")

    def joined(self, idx: int, there: int, known: Point, after: Point, both: Point) -> None:
        """What a path brings to an instruction that others have come to."""
        start = f"arg JOIN insn {idx} -> {there} "
        for r, (old, new, now) in enumerate(zip(known.regs, after.regs, both.regs)):
            if old != now:
                self.env.verbose(f"{start}r{r}: {track_text(old)} + {track_text(new)} => {track_text(now)}\n")
        for slot in sorted(both.slots):
            held, came = known.slots.get(slot, NO_POINTER), after.slots.get(slot, NO_POINTER)
            result = both.slots[slot]
            if held != result:
                words = f"{track_text(held)} + {track_text(came)} => {track_text(result)}"
                self.env.verbose(f"{start}{_slot(slot)}: {words}\n")

    def pointers(self, subprog: int, points: Mapping[int, Point]) -> None:
        """A function with the pointers before what can use them: print_subprog_arg_access()."""
        insns = self.env.insns
        self.env.verbose(f"{self._subprog(subprog)}:\n")
        for idx in self._insns(subprog):
            text = self._insn(idx)
            point = points.get(idx)
            if point is not None and (insns[idx].cls in (BPF_LDX, BPF_STX) or insns[idx].code == BPF_JMP | BPF_CALL):
                said = [f" r{r}={track_text(track)}" for r, track in enumerate(point.regs[:BPF_REG_FP]) if track]
                said += [f" {_slot(slot)}={track_text(track)}" for slot, track in spilled(point.slots)]
                text += f" //{''.join(said)}" if said else ""
            self.env.log.write_state(f"{text}\n")

    def accesses(self, instances: Mapping[tuple[int, int], Instance]) -> None:
        """What each call of a function reads and writes of the stack: print_instances()."""
        for depth, callsite in sorted(instances, key=lambda key: (key[1], key[0])):
            instance = instances[depth, callsite]
            self.env.verbose(f"stack use/def {self._subprog(instance.subprog)} (d{depth},cs{callsite}):\n")
            for idx in self._insns(instance.subprog):
                text = self._insn(idx)
                told = _accesses(" use: ", instance.may_read, depth, idx) + _accesses(
                    " def: ", instance.must_write, depth, idx
                )
                self.env.log.write_state(f"{text}{padding(len(text))};{told}\n" if told else f"{text}\n")

    def registers(self, live: Sequence[int], loops: Sequence[int]) -> None:
        """The registers that will be read, and the loop an instruction is in."""
        self.env.verbose("Live regs before insn:\n")
        for subprog in range(self.env.subprog_cnt):
            for idx in self._insns(subprog):
                loop = f"{loops[idx]:3d} " if loops[idx] else "    "
                regs = "".join(str(r) if live[idx] >> r & 1 else "." for r in range(BPF_REG_FP))
                self.env.verbose(f"{loop}{idx:3d}: {regs} {insn_text(self.env, idx)}\n")


def spilled(slots: Slots) -> list[tuple[int, Track]]:
    """The slots that hold pointers, in order."""
    return [(slot, slots[slot]) for slot in sorted(slots) if slots[slot]]


def _accesses(head: str, masks: Mapping[int, Mapping[int, int]], depth: int, idx: int) -> str:
    found = [(frame, masks[frame].get(idx, 0)) for frame in range(depth, -1, -1) if frame in masks]
    words = [
        f"{' ' if n else ''}{slots_text(frame, mask)}"[:_LIST_ROOM]
        for n, (frame, mask) in enumerate((frame, mask) for frame, mask in found if mask)
    ]
    return head + "".join(words) if words else ""
