"""Compiled programs on a probe: a hit that goes from the CPU to the programs without Python."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from functools import cache

from arch.abi.limits import U32_MAX
from arch.native import Native, Word
from arch.native.handler import NO_FRAME, NO_GUARDS, READ_ONLY, NativeCode, NativeHandler, all_guards, all_sights
from arch.native.library import Library
from arch.native.subset import Words, attempt, decline, native, shared
from tracing.record.recorder import Firing, Recorder, holds

# Words of a handler: where the counter of hits is and who runs on which CPU, which bits of the answers matter, how many
# programs there are, where these words and run_programs() are, what the place of the event holds (recorder.py:holds()), and of each program function, data, cookie and address of the probed function.
COUNTER, ACTIVE, ANSWER, PROGRAMS, SELF, RUN, HELD, FIRST = range(8)
PROGRAM_WORDS = 4


def counter() -> ctypes.Array[ctypes.c_uint64]:
    """A number that native code can count."""
    return (ctypes.c_uint64 * 1)()


@native
def count(m: Words) -> int:
    m[0] += 1
    return 0


@native
def at(m: Words, index: int) -> int:
    return m[index]


@native
def set_busy(active: Words, cpu: int, busy: int) -> int:
    active[cpu] = busy
    return 0


@native
def run_programs(d: Words, regs: int) -> int:
    """A hit, and trace_call_bpf(): all programs run, and their answers are and-ed."""
    if at(d[ACTIVE], shared[Word.CPU]):
        decline()
    count(d[COUNTER])
    set_busy(d[ACTIVE], shared[Word.CPU], 1)
    shared[Word.FIRING] = d[SELF]
    answer = 1
    for i in range(d[PROGRAMS]):
        first = FIRST + PROGRAM_WORDS * i
        shared[Word.COOKIE] = d[first + 2]
        shared[Word.ENTRY_IP] = d[first + 3]
        answer &= attempt(d[first], d[first + 1], regs)
        if shared[Word.NATIVE_STATUS]:
            break
    shared[Word.FIRING] = 0
    set_busy(d[ACTIVE], shared[Word.CPU], 0)
    return answer & d[ANSWER]


NO_ANSWER = 2  # no answer of programs: one of them did not end well


@native
def run_for_python(d: Words, context: int) -> int:
    """The same where Python has put the context together."""
    answer = attempt(d[RUN], d[SELF], context)
    if shared[Word.NATIVE_STATUS] == Native.RAISED:
        shared[Word.NATIVE_STATUS] = Native.DONE
        return NO_ANSWER
    return answer


@cache
def library(big_endian: bool) -> Library:
    """Compiled when the first program is."""
    return Library([run_programs, run_for_python], big_endian)


def handler(
    hits: ctypes.Array[ctypes.c_uint64],
    codes: Sequence[NativeCode | None],
    after: Callable[[int], object],
    recorder: Recorder,
    answer: bool = True,
    event: Firing | None = None,
) -> NativeHandler | None:
    """The compiled form of a hit that counts and runs these programs; None if one of them is not compiled.

    `answer`: something follows if they let the event through.  `event`: whose programs they are.
    """
    known = [code for code in codes if code is not None]
    flat = [word for code in known for word in (code.function, code.data, code.cookie, code.entry_ip)]
    if not codes or len(known) != len(codes):
        return None
    function = library(recorder.host.mem.byteorder == "big").address["run_programs"]
    active = recorder.running.active if event is None else event.programs_active
    data = (ctypes.c_uint64 * (FIRST + len(flat)))(
        ctypes.addressof(hits), ctypes.addressof(active), U32_MAX if answer else 0, len(codes), 0, function,
        0 if event is None else holds(event), *flat,
    )  # fmt: skip
    data[SELF] = ctypes.addressof(data)
    if event is not None:
        recorder.running.handlers[ctypes.addressof(data)] = event
    blind = all(code.blind for code in known)
    flags = READ_ONLY | (NO_FRAME if blind else 0)
    keep = (data, hits, tuple(codes))
    guards = all_guards(code.guards for code in known)
    sight = None if guards is None else all_sights(code.sight for code in known)
    elsewhere = any(code.elsewhere for code in known)
    return NativeHandler(
        function, ctypes.addressof(data), after, keep, flags, sight, elsewhere, guards=guards or NO_GUARDS
    )


class Runner:
    """Compiled programs of an event, for contexts that are in kernel memory."""

    def __init__(self, made: NativeHandler, codes: Sequence[NativeCode], recorder: Recorder) -> None:
        self.made, self.codes = made, codes
        self.data = made.data
        self.closed = all(code.closed for code in codes)
        self.guards = all_guards(code.guards for code in codes)
        self.words = recorder.host.block.words
        self.call = library(recorder.host.mem.byteorder == "big").builtin("run_for_python", recorder.host.block)

    def __call__(self, context: int) -> int | None:
        """Their answer; None: Python has to run them."""
        if self.words[Word.FALLBACK]:
            return None
        answer = self.call(self.data, context)
        if answer == NO_ANSWER:
            self.failed()
        return answer

    def failed(self) -> None:
        """Raises what ended one of them."""
        for code in self.codes:
            code.failed()


def runner(codes: Sequence[NativeCode | None], recorder: Recorder, event: Firing) -> Runner | None:
    """What runs these programs; None if one is not compiled."""
    made = handler(counter(), codes, lambda regs: None, recorder, event=event)
    return None if made is None else Runner(made, [code for code in codes if code is not None], recorder)
