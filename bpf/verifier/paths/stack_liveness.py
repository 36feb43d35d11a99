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
    BPF_K,
    BPF_LD_IMM64,
    BPF_LDX,
    BPF_LOAD_ACQ,
    BPF_MEM,
    BPF_MOV,
    BPF_PSEUDO_CALL,
    BPF_PSEUDO_FUNC,
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
from bpf.verifier.domain.state import MAX_BPF_STACK, VerifierState
from bpf.verifier.env import Env
from bpf.verifier.paths.flow import Registers, helper_proto, postorder, successors
from bpf.verifier.paths.stack_bytes import stack_bytes

_EVERYTHING: Final = (1 << 128) - 1  # halves of a frame's slots
_HALF: Final = 4  # bytes
_MANY_OFFSETS: Final = 4
_MANY_ANALYSES: Final = 10_000
_CALL: Final = BPF_JMP | BPF_CALL

# helper: (register of the callback, of what it gets, the callback's register for that)
_CALLBACKS: Final = {
    uapi.BPF_FUNC_loop: (2, 3, 2),
    uapi.BPF_FUNC_for_each_map_elem: (2, 3, 4),
    uapi.BPF_FUNC_find_vma: (3, 4, 3),
    uapi.BPF_FUNC_user_ringbuf_drain: (2, 3, 2),
}
_KFUNC_CALLBACK: Final = (3, 0, 0)  # bpf_rbtree_add(): its callback gets nothing of the caller's

# A pointer into the stack: (frame, its possible offsets; none: any); or (-1, frames as bits): nobody knows into which.
# () is no such pointer, None what no path has brought yet.
Track = tuple[int, tuple[int, ...]] | tuple[()] | None
NO_POINTER: Final[Track] = ()
_SOME_FRAME: Final = -1


def _some_frame(mask: int) -> Track:
    return _SOME_FRAME, (mask,)


def _frames_of(track: Track) -> int:
    if not track:
        return 0
    return track[1][0] if track[0] == _SOME_FRAME else 1 << track[0]


def _merge_offsets(frame: int, a: tuple[int, ...], b: tuple[int, ...]) -> Track:
    both = tuple(sorted({*a, *b}))
    return frame, both if len(both) <= _MANY_OFFSETS else ()


def join(a: Track, b: Track) -> Track:
    """What holds where two paths meet."""
    if a is None or b is None:
        return b if a is None else a
    if a and b and a[0] == b[0] >= 0:
        return _merge_offsets(a[0], a[1], b[1]) if a[1] and b[1] else (a[0], ())
    if not a and not b:
        return NO_POINTER
    if not a or not b:
        one = a or b
        assert one
        if one[0] >= 0:
            # the offset 0 beside the only one: a store through it is not sure to write there
            return _merge_offsets(one[0], one[1], (0,)) if len(one[1]) == 1 else one
    return _some_frame(_frames_of(a) | _frames_of(b))


def _moved(track: Track, delta: int) -> Track:
    if not track or track[0] == _SOME_FRAME or not track[1]:
        return track
    offsets = tuple(off + delta for off in track[1])
    return track[0], offsets if all(-(1 << 15) <= off < 1 << 15 for off in offsets) else ()


def _mixed(dst: Track, src: Track) -> Track:
    """An operation of two registers."""
    if dst and dst[0] >= 0 and (not src or src[0] == dst[0]):
        return dst[0], ()
    if src and src[0] >= 0 and not dst:
        return src[0], ()
    return _some_frame(_frames_of(dst) | _frames_of(src)) if dst or src else NO_POINTER


def _slot_of(off: int) -> int | None:
    return -off // 8 - 1 if -MAX_BPF_STACK <= off < 0 and off % 8 == 0 else None


Slots = dict[int, Track]  # slot -> what is spilled there; others hold no pointer


class _Point:
    """Registers and slots before one instruction."""

    __slots__ = ("regs", "slots")

    def __init__(self, regs: list[Track], slots: Slots) -> None:
        self.regs, self.slots = regs, slots


class Instance:
    """A function as one call of it sees the stack; masks by frame and instruction."""

    def __init__(self, subprog: int, depth: int) -> None:
        self.subprog, self.depth = subprog, depth
        self.may_read: dict[int, dict[int, int]] = {}
        self.must_write: dict[int, dict[int, int]] = {}
        self.live: dict[int, dict[int, int]] = {}
        self.finished = False

    def read(self, frame: int, idx: int, mask: int) -> None:
        """The instruction may read these halves."""
        row = self.may_read.setdefault(frame, {})
        row[idx] = row.get(idx, 0) | mask
        self.must_write.setdefault(frame, {})

    def write(self, frame: int, idx: int, mask: int) -> None:
        """The instruction overwrites these halves."""
        row = self.must_write.setdefault(frame, {})
        row[idx] = row.get(idx, 0) | mask
        self.may_read.setdefault(frame, {})

    def merge(self, other: Instance) -> None:
        """The same call, reached with other pointers: reads of either, writes of both."""
        for frame, row in other.may_read.items():
            mine = self.may_read.setdefault(frame, {})
            for idx, mask in row.items():
                mine[idx] = mine.get(idx, 0) | mask
            theirs, ours = other.must_write.get(frame, {}), self.must_write.get(frame, {})
            self.must_write[frame] = {idx: mask & theirs.get(idx, 0) for idx, mask in ours.items()}
        for frame in self.must_write.keys() - other.must_write.keys():
            self.must_write[frame] = {}


class StackLiveness:
    """The analysis of one program."""

    def __init__(self, env: Env, constants: list[Registers]) -> None:
        self.env, self.constants = env, constants
        self.instances: dict[tuple[int, int], Instance] = {}
        self.orders = [postorder(env.insns, subprog.start) for subprog in env.subprogs[:-1]]
        self.calls = 0
        self.at_calls: dict[int, Slots] = {}
        self.analysed: set[int] = set()
        for number in self._callers_first():
            if number not in self.analysed or env.is_global(number):
                self._analyse(self._instance(0, env.subprogs[number].start, number), None, [])

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

    def _callers_first(self) -> list[int]:
        """All functions, each before those it calls: sort_subprogs_topo(), backwards."""
        env = self.env
        done: list[int] = []
        seen: set[int] = set()

        def visit(number: int) -> None:
            seen.add(number)
            for idx in sorted(self.orders[number]):
                callee = self._callee(idx)
                if callee is not None and callee >= 0 and callee not in seen:
                    visit(callee)
            done.append(number)

        for number in range(env.subprog_cnt):
            if number not in seen:
                visit(number)
        return done[::-1]

    def _callee(self, idx: int) -> int | None:
        """Number of the function an instruction calls or names."""
        insn = self.env.insns[idx]
        is_call = insn.code == _CALL and insn.src_reg == BPF_PSEUDO_CALL
        is_name = insn.code == BPF_LD_IMM64 and insn.src_reg == BPF_PSEUDO_FUNC
        return self.env.find_subprog(idx + insn.imm + 1) if is_call or is_name else None

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
            if idx in points:
                self._analyse_call(again, idx, points[idx], callsites)
        if again is not instance:
            instance.merge(again)
        self._settle(instance)

    def _analyse_call(self, caller: Instance, idx: int, point: _Point, callsites: list[int]) -> None:
        insn = self.env.insns[idx]
        arguments: list[Track] = [NO_POINTER] * MAX_BPF_REG
        if insn.code == _CALL and insn.src_reg == BPF_PSEUDO_CALL:
            callee = self._callee(idx)
            arguments[1:6] = point.regs[1:6]
        elif self.env.aux[idx].calls_callback:
            kfunc = self.env.kfunc_name(insn)
            func_reg, given_reg, gets_reg = _KFUNC_CALLBACK if kfunc else _CALLBACKS[insn.imm]
            known = self.constants[idx][func_reg]
            if known is None or known.kind != "function":
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
        insns, order = self.env.insns, self.orders[instance.subprog]
        following = [(idx, successors(insns[idx], idx)) for idx in order]
        for frame, reads in instance.may_read.items():
            writes, live = instance.must_write[frame], instance.live.setdefault(frame, {})
            changed = True
            while changed:
                changed = False
                for idx, after in following:
                    if not after:
                        continue
                    mask = 0
                    for there in after:
                        mask |= live.get(there, 0)
                    mask = mask & ~writes.get(idx, 0) | reads.get(idx, 0)
                    if mask != live.get(idx, 0):
                        live[idx] = mask
                        changed = True

    # ---- forward: where pointers into the stack are ----

    def _follow(self, instance: Instance, entry: list[Track] | None, callsites: list[int]) -> dict[int, _Point]:
        insns, subprog = self.env.insns, self.env.subprogs[instance.subprog]
        regs: list[Track] = list(entry) if entry is not None else [NO_POINTER] * MAX_BPF_REG
        regs[BPF_REG_FP] = instance.depth, (0,)
        points = {subprog.start: _Point(regs, {})}
        order = self.orders[instance.subprog][::-1]
        changed = True
        while changed:
            changed = False
            for idx in order:
                point = points.get(idx)
                if point is None:
                    continue
                after = _Point(point.regs[:], dict(point.slots))
                self._step(insns[idx], after, instance.depth, callsites)
                for there in successors(insns[idx], idx):
                    changed |= _arrive(points, there, after)
        for idx in order:
            if idx in points:
                self._note_accesses(instance, idx, points[idx])
        return points

    def _step(self, insn: Insn, at: _Point, depth: int, callsites: list[int]) -> None:
        """What an instruction does to pointers: arg_track_xfer()."""
        class_, regs = insn.cls, at.regs
        if class_ == BPF_ALU64:
            regs[insn.dst_reg] = _alu_result(insn, regs)
        elif class_ == BPF_ALU or insn.code == BPF_LD_IMM64:
            regs[insn.dst_reg] = NO_POINTER
        elif insn.code == _CALL:
            regs[:6] = [NO_POINTER] * 6
        elif class_ == BPF_LDX:
            regs[insn.dst_reg] = self._filled(insn, at, depth, callsites)
        elif class_ == BPF_STX:
            local = _may_be_local(insn.dst_reg, regs[insn.dst_reg], depth)
            if insn.mode == BPF_MEM and local:
                _spill(insn, at)
            elif insn.mode == BPF_ATOMIC:
                if local and insn.imm != BPF_LOAD_ACQ:
                    _overwrite(insn, at)
                if insn.imm == BPF_LOAD_ACQ:
                    regs[insn.dst_reg] = NO_POINTER
                elif insn.imm & BPF_FETCH and insn.imm != BPF_STORE_REL:
                    regs[BPF_REG_0 if insn.imm == BPF_CMPXCHG else insn.src_reg] = NO_POINTER
        elif class_ == BPF_ST and _may_be_local(insn.dst_reg, regs[insn.dst_reg], depth):
            _overwrite(insn, at)

    def _filled(self, insn: Insn, at: _Point, depth: int, callsites: list[int]) -> Track:
        src = at.regs[insn.src_reg]
        if SIZE_BYTES[insn.size] != 8 or insn.mode != BPF_MEM:
            return NO_POINTER
        if _may_be_local(insn.src_reg, src, depth):
            return _fill(insn, src, at.slots, depth)
        if src and 0 <= src[0] < depth:
            return _fill(insn, src, self.at_calls[callsites[src[0]]], src[0])
        return src if src and src[0] == _SOME_FRAME else NO_POINTER

    # ---- what instructions read and write ----

    def _note_accesses(self, instance: Instance, idx: int, point: _Point) -> None:
        insn = self.env.insns[idx]
        class_ = insn.cls
        if class_ in (BPF_LDX, BPF_STX, BPF_ST):
            size: int = SIZE_BYTES[insn.size]
            atomic = class_ == BPF_STX and insn.mode == BPF_ATOMIC
            loads = class_ == BPF_LDX or (atomic and insn.imm == BPF_LOAD_ACQ)
            reads = loads or (atomic and insn.imm != BPF_STORE_REL)
            track = _moved(point.regs[insn.src_reg if loads else insn.dst_reg], insn.off)
            self._note(instance, idx, track, size if reads else -size)
        elif insn.code == _CALL and insn.src_reg != BPF_PSEUDO_CALL:
            for arg in range(self._parameters(insn)):
                track = point.regs[arg + 1]
                if track:
                    self._note(instance, idx, track, stack_bytes(self.env, insn, arg, self.constants[idx]))
        if (insn.code == _CALL and insn.src_reg == BPF_PSEUDO_CALL) or self.env.aux[idx].calls_callback:
            self.at_calls[idx] = point.slots

    def _parameters(self, insn: Insn) -> int:
        proto = helper_proto(self.env, insn)
        if proto is not None:
            return next((i for i, arg in enumerate(proto.arg_types) if not arg), 5)
        known = self.env.kfuncs.get((insn.imm, insn.off)) if insn.src_reg else None
        return min(len(known.proto.params), 5) if known is not None else 5

    def _note(self, instance: Instance, idx: int, track: Track, size: int | None) -> None:
        if not track or size == 0:
            return
        reads = size is None or size > 0
        if track[0] == _SOME_FRAME:
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
        return _mixed(dst, src)
    if insn.op == BPF_MOV:
        return NO_POINTER
    if not dst or dst[0] == _SOME_FRAME:
        return dst
    if insn.op in (BPF_ADD, BPF_SUB):
        return _moved(dst, insn.imm if insn.op == BPF_ADD else -insn.imm)
    return dst[0], ()


def _may_be_local(regno: int, track: Track, depth: int) -> bool:
    """It may point into the innermost frame."""
    if regno == BPF_REG_FP:
        return True
    return bool(track) and bool(_frames_of(track) >> depth & 1)


def _arrive(points: dict[int, _Point], there: int, after: _Point) -> bool:
    """A path comes to an instruction; whether that is news."""
    known = points.get(there)
    if known is None:
        points[there] = _Point(after.regs[:], dict(after.slots))
        return True
    changed = False
    for r, track in enumerate(after.regs):
        both = join(known.regs[r], track)
        if both != known.regs[r]:
            known.regs[r] = both
            changed = True
    for slot in known.slots.keys() | after.slots.keys():
        old = known.slots.get(slot, NO_POINTER)
        both = join(old, after.slots.get(slot, NO_POINTER))
        if both != old:
            known.slots[slot] = both
            changed = True
    return changed


def _fill(insn: Insn, src: Track, slots: Slots, depth: int) -> Track:
    """A pointer read back from the stack."""
    lost = _some_frame((1 << depth + 1) - 1)
    offsets = (0,) if insn.src_reg == BPF_REG_FP else src[1] if src and src[0] >= 0 else ()
    result: Track = NO_POINTER
    for number, off in enumerate(offsets):
        slot = _slot_of(off + insn.off)
        if slot is None:
            return lost
        found = slots.get(slot, NO_POINTER)
        result = found if number == 0 and insn.src_reg == BPF_REG_FP else join(result, found)
    return result if offsets else lost


def _spill(insn: Insn, at: _Point) -> None:
    """A store that may put a pointer into slots."""
    new = at.regs[insn.src_reg] if SIZE_BYTES[insn.size] == 8 else NO_POINTER
    dst = at.regs[insn.dst_reg]
    offsets = (0,) if insn.dst_reg == BPF_REG_FP else dst[1] if dst and dst[0] >= 0 else ()
    if not offsets:
        for slot in range(MAX_BPF_STACK // 8):
            at.slots[slot] = join(at.slots.get(slot, NO_POINTER), new)
        return
    for off in offsets:
        place = _slot_of(off + insn.off)
        if place is not None:
            at.slots[place] = new if len(offsets) == 1 else join(at.slots.get(place, NO_POINTER), new)


def _overwrite(insn: Insn, at: _Point) -> None:
    """A store of something else over slots."""
    dst, size = at.regs[insn.dst_reg], SIZE_BYTES[insn.size]
    offsets = (0,) if insn.dst_reg == BPF_REG_FP else dst[1] if dst and dst[0] >= 0 else ()
    for slot in list(at.slots):
        low = -8 * (slot + 1)
        if not offsets:
            at.slots[slot] = join(at.slots[slot], NO_POINTER)
        for off in offsets:
            if low < off + insn.off + size and low + 8 > off + insn.off:
                at.slots[slot] = NO_POINTER if len(offsets) == 1 else join(at.slots[slot], NO_POINTER)


def _range(low: int, high: int) -> int:
    return (1 << high + 1) - (1 << low)


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
