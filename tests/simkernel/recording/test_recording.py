"""What a recording holds is what the machine did, and watching changes nothing."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import pytest

import simkernel
from arch.abi.errno import EBADF
from arch.hosttime import HOST
from simkernel.machine import Machine
from simkernel.recording.formats.text import trace_pipe
from simkernel.recording.latency import WAITING, intervals, percentiles
from simkernel.recording.model import Recording
from simkernel.recording.page.timeline import extent
from simkernel.recording.rows import Frame, MappedFile
from simkernel.recording.store import RecordingError, load, save
from simkernel.recording.symbols import FileSymbols, UserSymbols
from simkernel.recording.take import take
from tests.simkernel.recording.conftest import ROOT, WRITER, Run


def by_name(run: Run, name: str) -> int:
    calls = run.counters["syscalls_by_name"]
    assert isinstance(calls, dict)
    return calls[name]


def test_events_are_those_that_trace_pipe_prints(run: Run) -> None:
    """To the byte, though they were read before; what follows in trace_pipe is the tool's own reading."""
    mine = b"".join(trace_pipe(run.recording)).decode()
    assert run.trace.startswith(mine)
    assert len(mine) > 0.5 * len(run.trace)
    assert run.recording.lost == []


def test_the_first_events_are_there_when_the_time_is_up(run: Run) -> None:
    with HOST.limit(0):
        cut = take(run.machine.kernel, {})
    assert len(cut.events) == 0
    assert any(line.startswith("the first 0 of ") for line in cut.lost)


def test_a_result_keeps_its_events_though_the_buffer_is_emptied() -> None:
    """They are copied at the run's end and read when somebody looks."""
    machine = simkernel.boot()
    machine.enable_event("p:vfs_write")
    result = machine.run([machine.install(WRITER)])
    machine.session.write_file("/sys/kernel/tracing/trace", "")
    assert result.events.counts()["kprobes:p_vfs_write_0"] == sum(range(1, 14)) + 2  # as below


def test_fields_are_typed_by_the_format(run: Run) -> None:
    counts = run.recording.events.counts()
    of_writer = [event for event in run.recording.events.named("kprobes:entered") if event.comm == "writer"]
    returned = [event for event in run.recording.events.named("returned") if event.comm == "writer"]
    assert [event.fields["ret"] for event in returned][:-2] == [event.fields["count"] for event in of_writer][:-2]
    assert returned[-2].fields["ret"] == -EBADF, "the descriptor that is open for reading only"
    assert sum(int(event.fields["count"]) for event in of_writer) >= 8000
    assert counts["syscalls:sys_enter_write"] == counts["syscalls:sys_exit_write"]
    switch = next(event for event in run.recording.events if event.name == "sched:sched_switch")
    assert isinstance(switch.fields["prev_comm"], str) and isinstance(switch.fields["next_pid"], int)


def test_the_writes_of_the_program_are_all_there(run: Run) -> None:
    """As many as the machine's own counter says, the tool's writes beside them."""
    asked = [event for event in run.recording.events.named("syscalls:sys_enter_write") if event.comm == "writer"]
    tool = [event for event in run.recording.events.named("syscalls:sys_enter_write") if event.comm == "simkernel"]
    before = by_name(run, "write") - len(asked) - len(tool)
    assert 0 <= before <= 12, "writes before sys_enter_write was on: those that turned the other events on"
    assert len(asked) == sum(range(1, 14)) + 2  # 1 of 1 byte ... 13 of 4096, one that fails, one line


def test_a_result_has_its_own_events(run: Run) -> None:
    names = run.result.events.counts()
    assert names["kprobes:entered"] == sum(event.comm == "writer" for event in run.recording.events.named("entered"))
    assert run.result.events[0].ts >= run.recording.meta.begin
    assert [event.ts for event in run.result.events] == sorted(event.ts for event in run.result.events)
    assert run.result.events[:3].all == run.result.events.all[:3]


def test_slices_add_up(run: Run) -> None:
    """On one CPU no two overlap; their ends are the switches that were traced."""
    recording = run.recording
    for cpu in range(2):
        mine = [each for each in recording.slices if each.cpu == cpu]
        assert all(before.end <= after.begin for before, after in pairwise(mine))
    switched = {(event.cpu, event.ts) for event in recording.events.named("sched:sched_switch")}
    ended = {(each.cpu, each.end) for each in recording.slices if each.state}
    assert ended and ended <= switched
    traced = {(event.fields["pid"], event.ts) for event in recording.events.named("sched:sched_wakeup")}
    assert {(each.pid, each.ts) for each in recording.wakeups} >= {
        row for row in traced if row[1] >= recording.meta.begin
    }


def test_tasks_have_a_beginning_a_name_and_an_end(run: Run) -> None:
    task = next(task for task in run.recording.tasks if task.comm == "writer")
    assert task.end is not None and run.recording.meta.begin <= task.begin < task.end
    assert run.recording.comm_of(task.pid) == "writer"
    assert next(task for task in run.recording.tasks if task.pid == 1).end is None


def test_samples_have_names(run: Run) -> None:
    samples = run.recording.samples
    assert samples and {sample.comm for sample in samples} >= {"writer"}
    assert all(sample.period == 1_000_000_000 // 50_000 for sample in samples)
    functions = {frame.symbol for sample in samples for frame in sample.stack}
    assert functions >= {"entry_SYSCALL_64_after_hwframe", "do_syscall_64"}
    assert {frame.file for sample in samples if sample.comm == "writer" for frame in sample.user[:1]} == {"/bin/writer"}
    ran = sum(each.end - each.begin for each in run.recording.slices)
    assert 0.5 * ran <= sum(sample.period for sample in samples) <= 1.5 * ran


def test_user_code_gets_its_names_from_the_file() -> None:
    """By the file's own symbols, through where it is mapped, and for a child through its parent."""
    data = (ROOT / "samples" / "bin" / "x86_64" / "server").read_bytes()
    found = FileSymbols(data)
    start, (size, name) = next((at, row) for at, row in zip(found.starts, found.functions) if row[1] == "answer")
    assert found.at(start + size - 1) == ("answer", size - 1) and found.at(start + size)[0] != name
    assert found.at(0) == ("", 0) and FileSymbols(b"\x7fELF junk").at(5) == ("", 0)
    mapped = [MappedFile(10, 5, 0x400000, 0x2000, start & ~0xFFF, "/bin/server")]
    users = UserSymbols(mapped, {6: (5, 20)}, lambda path: data)
    inside = 0x400000 + start - (start & ~0xFFF) + 2
    assert users.frame(5, 15, inside) == users.frame(6, 30, inside) == Frame(inside, "answer", 2, "/bin/server")
    assert users.frame(5, 5, inside) == Frame(inside), "before it was mapped"
    assert users.frame(7, 30, inside) == Frame(inside), "somebody else"


def test_maps_and_verifier(run: Run) -> None:
    maps = {each.name: each for each in run.recording.maps}
    assert maps["by_process"].type == "hash"
    writes = {key: value for key, value in maps["by_process"].entries}
    assert any(isinstance(value, dict) and value["writes"] >= 91 for value in writes.values())
    assert all("processed " in program.log for program in run.recording.programs) and run.recording.programs


def test_latencies(run: Run) -> None:
    found = intervals(run.recording)
    assert len(found["probed functions"]) == run.recording.events.counts()["kprobes:returned"]
    assert len(found["system calls"]) == run.recording.events.counts()["syscalls:sys_exit_write"]
    assert all(each.ns >= 0 for kind in found.values() for each in kind)
    assert percentiles(found["system calls"])["p50"] <= percentiles(found["system calls"])["max"]
    assert WAITING in found


def test_saved_and_loaded_it_is_the_same(run: Run, tmp_path: Path) -> None:
    save(run.recording, tmp_path / "run")
    back = load(tmp_path / "run")
    assert back.events.all == run.recording.events.all
    for name in (
        "meta",
        "samples",
        "tasks",
        "slices",
        "wakeups",
        "files",
        "maps",
        "programs",
        "counters",
        "formats",
        "lost",
    ):
        assert vars(back)[name] == vars(run.recording)[name], name
    first = json.loads((tmp_path / "run" / "events.jsonl").read_text().splitlines()[0])
    assert set(first) >= {"ts", "cpu", "pid", "comm", "event", "fields", "text", "raw"}


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("recording.json", "{", "damaged"),
        ("recording.json", '{"schema": 99}', "schema 1"),
        ("recording.json", "[]", "not a recording"),
        ("events.jsonl", "[1]\n", "damaged"),
        ("events.jsonl", '{"ts": 1}\n', "damaged"),
        ("samples.jsonl", "null\n", "damaged"),
    ],
)
def test_a_damaged_directory_is_refused(run: Run, tmp_path: Path, name: str, content: str, sentence: str) -> None:
    save(run.recording, tmp_path)
    (tmp_path / name).write_text(content)
    with pytest.raises(RecordingError, match=sentence):
        load(tmp_path)


def test_no_directory_no_recording(tmp_path: Path) -> None:
    with pytest.raises(RecordingError, match="no such directory"):
        load(tmp_path / "nosuch")
    with pytest.raises(RecordingError, match=r"simkernel run --out"):
        load(tmp_path)


def watched(watch: bool) -> tuple[bytes, int, object, str]:
    machine = simkernel.boot(seed=3)
    guest = machine.install(WRITER)
    machine.enable_event("sched:sched_wakeup")
    if watch:
        machine.record()
    result = machine.run([guest])
    machine.settle()
    return result.stdout, machine.kernel.clock.now_ns, result.counters, machine.trace_pipe()


def test_nothing_inside_can_tell_that_it_is_watched() -> None:
    assert watched(True) == watched(False)


def test_lost_events_are_told() -> None:
    machine = simkernel.boot()
    guest = machine.install(WRITER)
    machine.enable_event("p:one vfs_write")
    machine.session.write_file("/sys/kernel/tracing/buffer_size_kb", "8")
    machine.run([guest, "20"])
    recording = machine.recording()
    overrun = machine.kernel.observer.tracing.trace_array.buffer.overruns
    assert overrun and recording.lost == [f"CPU 0: {overrun:,} events were overwritten by newer ones (buffer_size_kb)"]
    assert recording.events[0].lost == overrun
    assert machine.trace_pipe().startswith(b"".join(trace_pipe(recording)).decode())


def test_stacks_go_to_the_event_before_them() -> None:
    machine = simkernel.boot()
    guest = machine.install(WRITER)
    for option in ("stacktrace", "userstacktrace"):
        machine.session.write_file(f"/sys/kernel/tracing/options/{option}", "1")
    machine.enable_event("p:one vfs_write")
    machine.record()
    machine.run([guest])
    events = machine.recording().events
    probed = [event for event in events.named("one") if event.comm == "writer"]
    kernel = ("vfs_write", "ksys_write", "do_syscall_64", "entry_SYSCALL_64_after_hwframe")  # __x64_sys_write jumps
    assert {tuple(frame.symbol for frame in event.kernel_stack) for event in probed} == {kernel}
    assert {place.file for event in probed for place in event.user_stack} == {guest}
    assert len(events.named("ftrace:kernel_stack")) == len(events.named("one"))


def test_a_quiet_machine_has_an_empty_recording() -> None:
    machine: Machine = simkernel.boot()
    recording = machine.recording()
    assert len(recording.events) == 0 and isinstance(recording, Recording)
    assert extent(recording)[1] > extent(recording)[0]
