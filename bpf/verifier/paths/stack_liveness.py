"""Which bytes of the stack will be read, known before any path is walked, since 7.1: kernel/bpf/liveness.c of Linux 7.2.

First each function is followed forward for pointers into stack frames: in registers, in slots, through calls and into
callbacks.  Then what loads, stores and calls do with them gives, backwards, the halves of slots that are alive
before an instruction.  A function has an instance for each call that hands it such a pointer.  Frames have numbers,
0 the outermost; half h of a frame is the four bytes that end 4 * h below its pointer.
"""

from __future__ import annotations

from typing import Final

from arch.abi.errno import E2BIG, EINVAL
from bpf import uapi
from bpf.isa.insn import (
    BPF_ADD,
    BPF_ALU,
    BPF_ALU64,
    BPF_ATOMIC,
    BPF_CALL,
    BPF_CMPXCHG,
    BPF_FETCH,
    BPF_JMP,
    BPF_JMP32,
    BPF_K,
    BPF_LD_IMM64,
    BPF_LDX,
    BPF_LOAD_ACQ,
    BPF_MEM,
    BPF_MOV,
    BPF_PSEUDO_CALL,
    BPF_REG_0,
    BPF_REG_FP,
    BPF_ST,
    BPF_STORE_REL,
    BPF_STX,
    BPF_SUB,
    MAX_BPF_REG,
    SIZE_BYTES,
    Insn,
)
from bpf.verifier.domain.stack_tracks import (
    NO_POINTER,
    SOME_FRAME,
    Instance,
    Point,
    Slots,
    Track,
    frames_of,
    join,
    mixed,
    moved,
    some_frame,
)
from bpf.verifier.domain.state import MAX_BPF_STACK, VerifierState
from bpf.verifier.env import Env
from bpf.verifier.lines.liveness import LivenessLines
from bpf.verifier.log.log import BPF_LOG_LEVEL2
from bpf.verifier.paths.flow import Constants, Graph, helper_proto
from bpf.verifier.paths.stack_bytes import stack_bytes

_EVERYTHING: Final = (1 << 128) - 1  # halves of a frame's slots
_HALF: Final = 4  # bytes
_MANY_ANALYSES: Final = 10_000
_CALL: Final = BPF_JMP | BPF_CALL
_JUMPS: Final = (BPF_JMP, BPF_JMP32)
_MEMORY: Final = (BPF_LDX, BPF_STX, BPF_ST)

# helper: (register of the callback, of what it gets, the callback's register for that)
_CALLBACKS: Final = {
    uapi.BPF_FUNC_loop: (2, 3, 2),
    uapi.BPF_FUNC_for_each_map_elem: (2, 3, 4),
    uapi.BPF_FUNC_find_vma: (3, 4, 3),
    uapi.BPF_FUNC_user_ringbuf_drain: (2, 3, 2),
}
_KFUNC_CALLBACK: Final = (3, 0, 0)  # bpf_rbtree_add(): its callback gets nothing of the caller's


def _slot_of(off: int) -> int | None:
    return -off // 8 - 1 if -MAX_BPF_STACK <= off < 0 and off % 8 == 0 else None


class StackLiveness:
    """The analysis of one program."""

    def __init__(
        self,
        env: Env,
        constants: Constants,
        callers_last: list[int],
        graph: Graph,
        effects: list[tuple[int, int]],
    ) -> None:
        self.env, self.constants, self.graph = env, constants, graph
        self.following, self.orders = graph.following, graph.orders
        self.effects = effects
        self.touched = [
            used | written for used, written in effects
        ]  # most instructions touch no register with a pointer
        self.lines = LivenessLines(env) if env.level & BPF_LOG_LEVEL2 else None
        self.instances: dict[tuple[int, int], Instance] = {}
        self.calls = 0
        self.at_calls: dict[int, Slots] = {}
        self.analysed: set[int] = set()
        for number in reversed(callers_last):
            if number not in self.analysed or env.is_global(number):
                self._analyse(self._instance(0, env.subprogs[number].start, number), None, [])
        if self.lines is not None:
            self.lines.accesses(self.instances)

    # ---- asked while paths are walked ----

    def prepare(self, state: VerifierState) -> list[Instance | None]:
        """The instances of a state's frames: bpf_live_stack_query_init()."""
        return [self._instance_of(state, number) for number in range(len(state.frames))]

    def alive(self, state: VerifierState, insn_idx: int, found: list[Instance | None], frame: int) -> int:
        """The halves of a frame's slots that may be read from here on: bpf_stack_slot_alive()."""
        innermost, last = found[-1], len(found) - 1
        if innermost is None:
            return _EVERYTHING
        alive = 0
        own = frame + innermost.depth - last
        if own <= innermost.depth:
            alive = innermost.live.get(own, {}).get(insn_idx, 0)
        for number in range(frame, last):
            instance = found[number]
            if instance is None or frame + instance.depth - number > instance.depth:
                return _EVERYTHING
            callsite = state.frames[number + 1].callsite
            place = callsite if self.env.aux[callsite].calls_callback else callsite + 1
            alive |= instance.live.get(frame + instance.depth - number, {}).get(place, 0)
        return alive

    def _instance_of(self, state: VerifierState, number: int) -> Instance | None:
        frame = state.frames[number]
        for depth in range(number, -1, -1):
            key = frame.callsite if depth else self.env.subprogs[frame.subprogno].start
            found = self.instances.get((depth, key))
            if found is not None:
                return found
        return None

    # ---- the analysis ----

    def _instance(self, depth: int, key: int, subprog: int) -> Instance:
        return self.instances.setdefault((depth, key), Instance(subprog, depth))

    def _analyse(self, instance: Instance, entry: list[Track] | None, callsites: list[int]) -> None:
        """One function with these arguments, then what it calls: analyze_subprog()."""
        self.calls += 1
        if self.calls > _MANY_ANALYSES:
            self.env.reject(E2BIG, f"liveness analysis exceeded complexity limit ({self.calls} calls)")
        again = Instance(instance.subprog, instance.depth) if instance.finished else instance
        points = self._follow(again, entry, callsites)
        self.analysed.add(again.subprog)
        for idx in self.orders[again.subprog]:
            if self.env.insns[idx].code == _CALL and idx in points:
                self._analyse_call(again, idx, points[idx], callsites)
        if again is not instance:
            instance.merge(again)
        self._settle(instance)

    def _analyse_call(self, caller: Instance, idx: int, point: Point, callsites: list[int]) -> None:
        insn = self.env.insns[idx]
        arguments: list[Track] = [NO_POINTER] * MAX_BPF_REG
        if insn.code == _CALL and insn.src_reg == BPF_PSEUDO_CALL:
            callee: int | None = self.env.find_subprog(idx + insn.imm + 1)
            arguments[1:6] = point.regs[1:6]
        elif self.env.aux[idx].calls_callback:
            kfunc = self.env.kfunc_name(insn)
            func_reg, given_reg, gets_reg = _KFUNC_CALLBACK if kfunc else _CALLBACKS[insn.imm]
            known = self.constants.before(idx)[func_reg]
            if known.kind != "function":
                if given_reg and point.regs[given_reg]:
                    for frame in range(caller.depth + 1):
                        caller.read(frame, idx, _EVERYTHING)
                return
            callee = known.number
            if given_reg:
                arguments[gets_reg] = point.regs[given_reg]
        else:
            return
        if callee is None or callee < 0 or not any(arguments):
            return
        if caller.depth == self.env.call_frames - 1:
            self.env.reject(EINVAL)
        found = self._instance(caller.depth + 1, idx, callee)
        self._analyse(found, arguments, [*callsites, idx])
        start = self.env.subprogs[callee].start
        for frame in range(found.depth):
            if frame in found.live:
                caller.read(frame, idx, found.live[frame].get(start, 0))

    def _settle(self, instance: Instance) -> None:
        """What is alive before each instruction, from what is alive behind it: update_instance()."""
        instance.finished = True
        following = [(idx, self.following[idx]) for idx in self.orders[instance.subprog]]
        for frame, reads in instance.may_read.items():
            writes, live = instance.must_write[frame], instance.live.setdefault(frame, {})
            changed = True
            while changed:
                changed = False
                for idx, after in following:
                    if not live and idx not in reads:
                        continue
                    mask = 0
                    for there in after:
                        mask |= live.get(there, 0)
                    if mask or idx in reads:
                        mask = mask & ~writes.get(idx, 0) | reads.get(idx, 0)
                    if after and mask != live.get(idx, 0):
                        live[idx] = mask
                        changed = self.graph.comes_back

    # ---- forward: where pointers into the stack are ----

    def _follow(self, instance: Instance, entry: list[Track] | None, callsites: list[int]) -> dict[int, Point]:
        insns, subprog = self.env.insns, self.env.subprogs[instance.subprog]
        regs: list[Track] = list(entry) if entry is not None else [NO_POINTER] * MAX_BPF_REG
        regs[BPF_REG_FP] = instance.depth, (0,)
        points = {subprog.start: Point(regs, {})}
        order, following, touched = self.orders[instance.subprog][::-1], self.following, self.touched
        if self.lines is not None:
            self.lines.analyzing(instance.subprog, instance.depth)
        news, changed = {subprog.start}, True
        while changed:
            changed = False
            for idx in order:
                if self.lines is None and idx not in news:
                    continue  # nothing new came here since; but it would be told again
                point = points.get(idx)
                if point is None:
                    continue
                news.discard(idx)
                after = point
                if touched[idx] & point.held:
                    after = self._after(idx, point, instance.depth, callsites)
                if self.lines is not None:
                    self.lines.changed(idx, point, after)
                for there in following[idx]:
                    if there not in points and not after.slots:
                        points[there] = after
                    elif not self._arrive(points, idx, there, after):
                        continue
                    news.add(there)
                    changed = self.graph.comes_back or self.lines is not None
        for idx in order:
            insn = insns[idx]
            if insn.cls in _MEMORY:
                if idx in points and touched[idx] & points[idx].held:
                    self._note_access(instance, idx, points[idx])
            elif insn.code == _CALL and idx in points:
                self._note_call(instance, idx, points[idx])
        if self.lines is not None:
            self.lines.pointers(instance.subprog, points)
        return points

    def _after(self, idx: int, point: Point, depth: int, callsites: list[int]) -> Point:
        """Where pointers are behind an instruction that touches one; the same point if none has moved."""
        insn = self.env.insns[idx]
        _, written = self.effects[idx]
        if not written and not point.slots and (insn.cls == BPF_ST or not point.regs[insn.src_reg]):
            return point  # nothing to put anywhere, and nothing there
        regs, slots = point.regs[:], point.slots.copy()
        self._step(insn, regs, slots, depth, callsites)
        held = point.held & ~written
        if regs[insn.dst_reg]:
            held |= written & 1 << insn.dst_reg
        return Point(regs, slots, held)

    def _arrive(self, points: dict[int, Point], idx: int, there: int, after: Point) -> bool:
        """A path comes to an instruction; whether that is news.  Points that stand somewhere are never changed, so that several may be one."""
        known = points.get(there)
        if known is None:
            if all(after.slots.values()):
                points[there] = after
            else:
                points[there] = Point(after.regs, {slot: track for slot, track in after.slots.items() if track})
            return True
        if known is after:
            return False
        if known.regs == after.regs and known.slots == after.slots:
            return False
        slots: Slots = {}
        for slot in known.slots.keys() | after.slots.keys():
            track = join(known.slots.get(slot, NO_POINTER), after.slots.get(slot, NO_POINTER))
            if track:
                slots[slot] = track
        both = Point([join(old, new) for old, new in zip(known.regs, after.regs)], slots)
        if both.regs == known.regs and both.slots == known.slots:
            return False
        if self.lines is not None:
            self.lines.joined(idx, there, known, after, both)
        points[there] = both
        return True

    def _step(self, insn: Insn, regs: list[Track], slots: Slots, depth: int, callsites: list[int]) -> None:
        """What an instruction does to pointers: arg_track_xfer()."""
        class_ = insn.cls
        if class_ == BPF_ALU64:
            regs[insn.dst_reg] = _alu_result(insn, regs)
        elif class_ == BPF_ALU or insn.code == BPF_LD_IMM64:
            regs[insn.dst_reg] = NO_POINTER
        elif insn.code == _CALL:
            regs[:6] = [NO_POINTER] * 6
        elif class_ == BPF_LDX:
            regs[insn.dst_reg] = self._filled(insn, regs, slots, depth, callsites)
        elif class_ == BPF_STX:
            local = _may_be_local(insn.dst_reg, regs[insn.dst_reg], depth)
            if insn.mode == BPF_MEM and local:
                _spill(insn, regs, slots)
            elif insn.mode == BPF_ATOMIC:
                if local and insn.imm != BPF_LOAD_ACQ:
                    _overwrite(insn, regs[insn.dst_reg], slots)
                if insn.imm == BPF_LOAD_ACQ:
                    regs[insn.dst_reg] = NO_POINTER
                elif insn.imm & BPF_FETCH and insn.imm != BPF_STORE_REL:
                    regs[BPF_REG_0 if insn.imm == BPF_CMPXCHG else insn.src_reg] = NO_POINTER
        elif class_ == BPF_ST and _may_be_local(insn.dst_reg, regs[insn.dst_reg], depth):
            _overwrite(insn, regs[insn.dst_reg], slots)

    def _filled(self, insn: Insn, regs: list[Track], slots: Slots, depth: int, callsites: list[int]) -> Track:
        src = regs[insn.src_reg]
        if SIZE_BYTES[insn.size] != 8 or insn.mode != BPF_MEM:
            return NO_POINTER
        if _may_be_local(insn.src_reg, src, depth):
            return _fill(insn, src, slots, depth)
        if src and 0 <= src[0] < depth:
            return _fill(insn, src, self.at_calls[callsites[src[0]]], src[0])
        return src if src and src[0] == SOME_FRAME else NO_POINTER

    # ---- what instructions read and write ----

    def _note_access(self, instance: Instance, idx: int, point: Point) -> None:
        insn = self.env.insns[idx]
        atomic = insn.cls == BPF_STX and insn.mode == BPF_ATOMIC
        loads = insn.cls == BPF_LDX or (atomic and insn.imm == BPF_LOAD_ACQ)
        reads = loads or (atomic and insn.imm != BPF_STORE_REL)
        track = moved(point.regs[insn.src_reg if loads else insn.dst_reg], insn.off)
        size: int = SIZE_BYTES[insn.size]
        self._note(instance, idx, track, size if reads else -size)

    def _note_call(self, instance: Instance, idx: int, point: Point) -> None:
        insn = self.env.insns[idx]
        if insn.src_reg != BPF_PSEUDO_CALL:
            for arg in range(self._parameters(insn)):
                track = point.regs[arg + 1]
                if track:
                    self._note(instance, idx, track, stack_bytes(self.env, insn, arg, self.constants.before(idx)))
        if insn.src_reg == BPF_PSEUDO_CALL or self.env.aux[idx].calls_callback:
            self.at_calls[idx] = point.slots

    def _parameters(self, insn: Insn) -> int:
        proto = helper_proto(self.env, insn)
        if proto is not None:
            return next((i for i, arg in enumerate(proto.arg_types) if not arg), 5)
        known = self.env.look_up_kfunc(insn) if insn.src_reg else None
        return min(len(known.proto.params), 5) if known is not None else 5

    def _note(self, instance: Instance, idx: int, track: Track, size: int | None) -> None:
        if not track or size == 0:
            return
        reads = size is None or size > 0
        if track[0] == SOME_FRAME:
            for frame in range(instance.depth + 1):
                if track[1][0] >> frame & 1:
                    instance.read(frame, idx, _EVERYTHING)
        elif not track[1]:
            if reads:
                instance.read(track[0], idx, _EVERYTHING)
        elif reads or len(track[1]) == 1:
            for off in track[1]:
                _note_at(instance, idx, track[0], off, size)


def _alu_result(insn: Insn, regs: list[Track]) -> Track:
    dst, src = regs[insn.dst_reg], regs[insn.src_reg]
    if insn.src_kind != BPF_K:
        if insn.op == BPF_MOV:
            return src if not insn.off else NO_POINTER
        return mixed(dst, src)
    if insn.op == BPF_MOV:
        return NO_POINTER
    if not dst or dst[0] == SOME_FRAME:
        return dst
    if insn.op in (BPF_ADD, BPF_SUB):
        return moved(dst, insn.imm if insn.op == BPF_ADD else -insn.imm)
    return dst[0], ()


def _may_be_local(regno: int, track: Track, depth: int) -> bool:
    """It may point into the innermost frame."""
    if regno == BPF_REG_FP:
        return True
    return bool(track) and bool(frames_of(track) >> depth & 1)


def _fill(insn: Insn, src: Track, slots: Slots, depth: int) -> Track:
    """A pointer read back from the stack."""
    lost = some_frame((1 << depth + 1) - 1)
    offsets = (0,) if insn.src_reg == BPF_REG_FP else src[1] if src and src[0] >= 0 else ()
    result: Track = NO_POINTER
    for number, off in enumerate(offsets):
        slot = _slot_of(off + insn.off)
        if slot is None:
            return lost
        found = slots.get(slot, NO_POINTER)
        result = found if number == 0 and insn.src_reg == BPF_REG_FP else join(result, found)
    return result if offsets else lost


def _spill(insn: Insn, regs: list[Track], slots: Slots) -> None:
    """A store that may put a pointer into slots."""
    new = regs[insn.src_reg] if SIZE_BYTES[insn.size] == 8 else NO_POINTER
    dst = regs[insn.dst_reg]
    offsets = (0,) if insn.dst_reg == BPF_REG_FP else dst[1] if dst and dst[0] >= 0 else ()
    if not offsets:
        for slot in range(MAX_BPF_STACK // 8):
            slots[slot] = join(slots.get(slot, NO_POINTER), new)
        return
    for off in offsets:
        place = _slot_of(off + insn.off)
        if place is not None:
            slots[place] = new if len(offsets) == 1 else join(slots.get(place, NO_POINTER), new)


def _overwrite(insn: Insn, dst: Track, slots: Slots) -> None:
    """A store of something else over slots."""
    size = SIZE_BYTES[insn.size]
    offsets = (0,) if insn.dst_reg == BPF_REG_FP else dst[1] if dst and dst[0] >= 0 else ()
    for slot in list(slots):
        low = -8 * (slot + 1)
        if not offsets:
            slots[slot] = join(slots[slot], NO_POINTER)
        for off in offsets:
            if low < off + insn.off + size and low + 8 > off + insn.off:
                slots[slot] = NO_POINTER if len(offsets) == 1 else join(slots[slot], NO_POINTER)


def _range(low: int, high: int) -> int:
    return (1 << high + 1) - (1 << low) & _EVERYTHING


def _note_at(instance: Instance, idx: int, frame: int, off: int, size: int | None) -> None:
    """An access `size` bytes long, of unknown length (up to the frame's pointer), or (negative) a store."""
    if off >= 0:
        return  # out of bounds, and refused later
    high = (-off - 1) // _HALF
    if size is None:
        instance.read(frame, idx, _range(0, high))
    elif size > 0:
        low = max((-off - size) // _HALF if size <= -off else 0, 0)
        instance.read(frame, idx, _range(low, high))
    else:
        low, high = max((-off + size + _HALF - 1) // _HALF, 0), -off // _HALF - 1
        if low <= high:
            instance.write(frame, idx, _range(low, high))
