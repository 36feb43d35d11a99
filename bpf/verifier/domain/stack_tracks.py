"""Where pointers into the stack are, and what instructions do with them: what the analysis of stack liveness counts with.

struct arg_track, struct func_instance of kernel/bpf/liveness.c, Linux 7.2.  Frames have numbers, 0 the outermost; half h of
a frame is the four bytes that end 4 * h below its pointer.
"""

from __future__ import annotations

from typing import Final

MANY_OFFSETS: Final = 4

# A pointer into the stack: (frame, its possible offsets; none: any); or (-1, frames as bits): nobody knows into which.
# () is no such pointer, None what no path has brought yet.
Track = tuple[int, tuple[int, ...]] | tuple[()] | None
NO_POINTER: Final[Track] = ()
SOME_FRAME: Final = -1


def some_frame(mask: int) -> Track:
    """A pointer into one of these frames."""
    return SOME_FRAME, (mask,)


def frames_of(track: Track) -> int:
    """The frames it may point into, as bits."""
    if not track:
        return 0
    return track[1][0] if track[0] == SOME_FRAME else 1 << track[0]


def _merge_offsets(frame: int, a: tuple[int, ...], b: tuple[int, ...]) -> Track:
    both = tuple(sorted({*a, *b}))
    return frame, both if len(both) <= MANY_OFFSETS else ()


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
    return some_frame(frames_of(a) | frames_of(b))


def moved(track: Track, delta: int) -> Track:
    """Something known is added."""
    if not track or track[0] == SOME_FRAME or not track[1]:
        return track
    offsets = tuple(off + delta for off in track[1])
    return track[0], offsets if all(-(1 << 15) <= off < 1 << 15 for off in offsets) else ()


def mixed(dst: Track, src: Track) -> Track:
    """An operation of two registers."""
    if dst and dst[0] >= 0 and (not src or src[0] == dst[0]):
        return dst[0], ()
    if src and src[0] >= 0 and not dst:
        return src[0], ()
    return some_frame(frames_of(dst) | frames_of(src)) if dst or src else NO_POINTER


Slots = dict[int, Track]  # slot -> what is spilled there; others hold no pointer


class Point:
    """Registers and slots before one instruction; which registers hold pointers, as bits."""

    __slots__ = ("held", "regs", "slots")

    def __init__(self, regs: list[Track], slots: Slots, held: int | None = None) -> None:
        self.regs, self.slots = regs, slots
        self.held = sum(1 << regno for regno, track in enumerate(regs) if track) if held is None else held


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
