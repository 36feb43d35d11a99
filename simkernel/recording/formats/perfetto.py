"""A trace for ui.perfetto.dev: who ran on which CPU, events on the tracks of their tasks, counters, CPU samples.

Protocol buffers of the Python package perfetto.  The scheduler's part is written as ftrace events, from which Perfetto makes
the tracks of CPUs and the states of tasks; all other events are instants, system calls with both ends are slices.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING

from simkernel.recording.latency import CALL_ENTER, CALL_EXIT
from simkernel.recording.model import Recording
from simkernel.recording.needs import module
from simkernel.recording.rows import Event, Frame, Slice, Stack

if TYPE_CHECKING:
    from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import FtraceEventBundle, TracePacket

SEQUENCE = 1
STATE_BITS = {"R": 0, "R+": 0x100, "S": 1, "D": 2, "T": 4, "t": 8, "X": 16, "Z": 32, "P": 64, "I": 128}
PRIO = 120
CPU_TRACK, TASK_TRACK, BUSY_TRACK = 1 << 40, 1 << 41, 1 << 42  # uuids: numbers of our own


class Builder:
    """One trace."""

    def __init__(self, recording: Recording) -> None:
        self.protos = module("perfetto.protos.perfetto.trace.perfetto_trace_pb2")
        self.recording = recording
        self.out = self.protos.Trace()
        self.tgids = {task.pid: task.tgid for task in recording.tasks}
        self.described: set[int] = set()
        self.numbers: dict[str, dict[object, int]] = {}

    def packet(self, ts: int | None = None) -> TracePacket:
        """A new one, at a time."""
        packet = self.out.packet.add()
        packet.trusted_packet_sequence_id = SEQUENCE
        if ts is not None:
            packet.timestamp = ts
        return packet

    # Tasks and the scheduler

    def first(self) -> None:
        """What follows refers to nothing before; and who is who."""
        packet = self.packet()
        packet.incremental_state_cleared, packet.first_packet_on_sequence = True, True
        packet.sequence_flags = self.protos.TracePacket.SEQ_INCREMENTAL_STATE_CLEARED
        packet = self.packet(self.recording.meta.begin)
        packet.system_info.utsname.sysname = "Linux"
        packet.system_info.utsname.release = self.recording.meta.release
        packet.system_info.utsname.machine = self.recording.meta.machine
        tree = self.packet(self.recording.meta.begin).process_tree
        for task in self.recording.tasks:
            if task.pid == task.tgid:
                process = tree.processes.add()
                process.pid, process.ppid = task.pid, task.ppid
                process.cmdline.append(task.comm)
            else:
                thread = tree.threads.add()
                thread.tid, thread.tgid, thread.name = task.pid, task.tgid, task.comm

    def scheduler(self) -> None:
        """sched_switch and sched_waking, a bundle for each CPU."""
        by_cpu: dict[int, list[Slice]] = {}
        for each in self.recording.slices:
            by_cpu.setdefault(each.cpu, []).append(each)
        for cpu, slices in sorted(by_cpu.items()):
            bundle = self.packet().ftrace_events
            bundle.cpu = cpu
            self.switch(bundle, slices[0].begin, 0, "", slices[0].pid)
            for before, each in pairwise(slices):
                if before.end < each.begin:  # the idle task was between
                    self.switch(bundle, before.end, before.pid, before.state, 0)
                    self.switch(bundle, each.begin, 0, "", each.pid)
                else:
                    self.switch(bundle, each.begin, before.pid, before.state, each.pid)
            if slices[-1].state:
                self.switch(bundle, slices[-1].end, slices[-1].pid, slices[-1].state, 0)
        for woken in self.recording.wakeups:
            bundle = self.packet().ftrace_events
            bundle.cpu = woken.cpu
            event = bundle.event.add()
            event.timestamp, event.pid = woken.ts, 0
            waking = event.sched_waking
            waking.comm, waking.pid = self.recording.comm_of(woken.pid), woken.pid
            waking.prio, waking.success, waking.target_cpu = PRIO, 1, woken.cpu

    def switch(self, bundle: FtraceEventBundle, ts: int, prev: int, state: str, following: int) -> None:
        """One sched_switch."""
        event = bundle.event.add()
        event.timestamp, event.pid = ts, prev
        switch = event.sched_switch
        switch.prev_comm, switch.prev_pid, switch.prev_prio = self.recording.comm_of(prev), prev, PRIO
        switch.prev_state = STATE_BITS.get(state, 0) if prev else 0
        switch.next_comm, switch.next_pid, switch.next_prio = self.recording.comm_of(following), following, PRIO

    def busy(self) -> None:
        """A counter: how many CPUs run a task."""
        if not self.recording.slices:
            return
        track = self.packet().track_descriptor
        track.uuid, track.name = BUSY_TRACK, "CPUs that run a task"
        track.counter.unit = self.protos.CounterDescriptor.UNIT_COUNT
        changes: dict[int, int] = {}
        for each in self.recording.slices:
            changes[each.begin] = changes.get(each.begin, 0) + 1
            changes[each.end] = changes.get(each.end, 0) - 1
        count = 0
        for ts, change in sorted(changes.items()):
            if change:
                count += change
                event = self.packet(ts).track_event
                event.type, event.track_uuid = self.protos.TrackEvent.TYPE_COUNTER, BUSY_TRACK
                event.counter_value = count

    # Events

    def track_of(self, event: Event) -> int:
        """The track of its task; of the idle task's, one of the CPU."""
        uuid = TASK_TRACK + event.pid if event.pid else CPU_TRACK + event.cpu
        if uuid not in self.described:
            self.described.add(uuid)
            track = self.packet().track_descriptor
            track.uuid = uuid
            if event.pid:
                track.thread.pid, track.thread.tid = self.tgids.get(event.pid, event.pid), event.pid
                track.thread.thread_name = self.recording.comm_of(event.pid) or event.comm
            else:
                track.name = f"CPU {event.cpu}: events while idle"
        return uuid

    def events(self) -> None:
        """Every event but sched_switch, which the tracks of the CPUs show."""
        shown = bool(self.recording.slices)
        begun: dict[int, list[str]] = {}  # task -> the system calls that it is in
        kinds = self.protos.TrackEvent
        for event in self.recording.events:
            if shown and event.name == "sched:sched_switch":
                continue
            track = self.track_of(event)
            name, kind = event.name, kinds.TYPE_INSTANT
            inside = begun.setdefault(event.pid, [])
            if name.startswith(CALL_ENTER):
                name, kind = name.removeprefix(CALL_ENTER), kinds.TYPE_SLICE_BEGIN
                inside.append(name)
            elif name.startswith(CALL_EXIT) and inside and inside[-1] == name.removeprefix(CALL_EXIT):
                name, kind = inside.pop(), kinds.TYPE_SLICE_END
            packet = self.packet(event.ts)
            what = packet.track_event
            what.type, what.track_uuid, what.name = kind, track, name
            what.categories.append(event.name.partition(":")[0])
            for field, value in event.fields.items():
                note = what.debug_annotations.add()
                note.name = field
                if isinstance(value, int) and -(1 << 63) <= value < 1 << 63:
                    note.int_value = value
                elif isinstance(value, int):
                    note.uint_value = value
                else:
                    note.string_value = value if isinstance(value, str) else str(list(value))

    # Samples

    def samples(self) -> None:
        """perf samples; functions, files, frames and stacks are told once."""
        for sample in self.recording.samples:
            packet = self.packet(sample.ts)
            packet.sequence_flags = self.protos.TracePacket.SEQ_NEEDS_INCREMENTAL_STATE
            stack = self.stack(packet, sample.stack)
            what = packet.perf_sample
            what.cpu, what.pid, what.tid, what.callstack_iid = sample.cpu, sample.tgid, sample.pid, stack

    def stack(self, packet: TracePacket, stack: Stack) -> int:
        """The number of a stack, bottom frame first."""
        frames = [self.frame(packet, frame) for frame in reversed(stack)]
        number, new = self.number("stack", tuple(frames))
        if new:
            row = packet.interned_data.callstacks.add()
            row.iid = number
            row.frame_ids.extend(frames)
        return number

    def frame(self, packet: TracePacket, frame: Frame) -> int:
        """The number of a frame."""
        file = frame.file or ("[kernel.kallsyms]" if frame.symbol else "[unknown]")
        path, new_path = self.number("path", file)
        mapping, new_mapping = self.number("mapping", file)
        function, new_function = self.number("function", frame.name)
        number, new = self.number("frame", (frame.name, frame.ip))
        data = packet.interned_data
        if new_path:
            row = data.mapping_paths.add()
            row.iid, row.str = path, file.encode()
        if new_mapping:
            row = data.mappings.add()
            row.iid = mapping
            row.path_string_ids.append(path)
        if new_function:
            row = data.function_names.add()
            row.iid, row.str = function, frame.name.encode()
        if new:
            row = data.frames.add()
            row.iid, row.function_name_id, row.mapping_id, row.rel_pc = number, function, mapping, frame.ip
        return number

    def number(self, kind: str, what: object) -> tuple[int, bool]:
        """(its number, from 1; whether it is new)."""
        known = self.numbers.setdefault(kind, {})
        new = what not in known
        return known.setdefault(what, len(known) + 1), new


def trace(recording: Recording) -> Iterator[bytes]:
    """The file."""
    builder = Builder(recording)
    builder.first()
    builder.scheduler()
    builder.busy()
    builder.events()
    builder.samples()
    serialized: bytes = builder.out.SerializeToString()
    yield serialized
