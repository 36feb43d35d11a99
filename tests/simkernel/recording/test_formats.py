"""Every format is read back, by the tool it is for where there is one, and compared with what was recorded."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import xml.etree.ElementTree as ET
from collections import Counter
from pathlib import Path

import pytest

import simkernel
from simkernel.recording.formats import FORMATS, writer
from simkernel.recording.model import Recording
from simkernel.recording.needs import MissingPackage, module
from tests.simkernel.recording.conftest import ROOT, Run

FOREIGN = ("arm64", "s390x", "i386")


def perf(*args: object) -> str:
    """Debian's perf."""
    found = shutil.which("perf")
    if not found:
        pytest.skip("linux-perf is not installed")
    done = subprocess.run([found, *map(str, args)], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def written(recording: Recording, name: str) -> bytes:
    return b"".join(writer(name)(recording))


@pytest.fixture(scope="module")
def perf_file(run: Run, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("perf") / "perf.data"
    path.write_bytes(written(run.recording, "perf.data"))
    return path


def plain(line: str) -> str:
    """A frame of a file that perf does not find is shown by its place in the file: that is not compared."""
    return re.sub(r"^\t *[0-9a-f]+ (\[unknown\]|\S+) \(.*\)$", r"\t\1", line)


def test_perf_script_prints_what_we_print(run: Run, perf_file: Path) -> None:
    theirs = perf("script", "-i", perf_file).splitlines()
    ours = written(run.recording, "perf-script").decode().splitlines()
    assert len(theirs) == len(ours) > 300
    events = [(mine, other) for mine, other in zip(ours, theirs) if not mine.startswith("\t")]
    assert [mine for mine, _ in events] == [other for _, other in events]
    kernel = [(plain(mine), plain(other)) for mine, other in zip(ours, theirs) if "kallsyms" in mine]
    assert [mine for mine, _ in kernel] == [other for _, other in kernel]


def test_perf_report_counts_the_samples(run: Run, perf_file: Path) -> None:
    said = perf("report", "-i", perf_file, "--stdio", "--no-children", "-g", "none", "-F", "sample,comm", "-s", "comm")
    rows = {
        comm: int(count)
        for count, comm in re.findall(r"^ +(\d+) +(\S+)", said.partition("cpu-clock")[2].partition("Samples:")[0], re.M)
    }
    counted = Counter(sample.comm for sample in run.recording.samples)
    assert rows == dict(counted)


def test_perf_sched_knows_the_tasks(run: Run, perf_file: Path) -> None:
    said = perf("sched", "latency", "-i", perf_file)
    assert re.search(r"writer:\d+ ", said)
    assert "INFO" not in said, said  # lost events, or switches that do not follow each other


def test_perf_header_says_which_machine(run: Run, perf_file: Path) -> None:
    said = perf("report", "-i", perf_file, "--header-only")
    assert f"os release : {run.recording.meta.release}" in said
    assert "nrcpus online : 2" in said


@pytest.mark.parametrize("arch", FOREIGN)
def test_perf_reads_the_other_cpus_too(arch: str, tmp_path: Path) -> None:
    """Big endian, and pointers of four bytes."""
    machine = simkernel.boot(arch=arch)
    guest = machine.install(ROOT / "samples" / "bin" / arch / "writer")
    for event in ("syscalls:sys_enter_write", "p:one vfs_write"):
        machine.enable_event(event)
    machine.record(20_000)
    machine.run([guest])
    recording = machine.recording()
    (tmp_path / "perf.data").write_bytes(written(recording, "perf.data"))
    theirs = [line for line in perf("script", "-i", tmp_path / "perf.data").splitlines() if not line.startswith("\t")]
    ours = [line for line in written(recording, "perf-script").decode().splitlines() if not line.startswith("\t")]
    assert ours == theirs
    assert sum("one:" in line for line in ours) >= 92


def test_folded_stacks_add_up(run: Run) -> None:
    lines = written(run.recording, "folded").decode().splitlines()
    assert sum(int(line.rpartition(" ")[2]) for line in lines) == len(run.recording.samples)
    assert all(line.count(";") >= 1 for line in lines) and any(line.startswith("writer;") for line in lines)


def test_the_flame_graph_is_one_svg(run: Run) -> None:
    root = ET.fromstring(written(run.recording, "flamegraph"))
    boxes = [box for box in root.iter("{http://www.w3.org/2000/svg}g")]
    whole = next(box for box in boxes if box.get("data-n") == "all")
    assert f"({len(run.recording.samples):,} samples, 100.00%)" in "".join(whole.itertext())
    assert all(0 <= float(box.get("data-x", "9")) <= 1 for box in boxes)
    assert b"http" not in written(run.recording, "flamegraph").replace(b"http://www.w3.org/2000/svg", b"")


def test_json_lines_have_everything(run: Run) -> None:
    rows = [json.loads(line) for line in written(run.recording, "jsonl").decode().splitlines()]
    kinds = Counter(row["kind"] for row in rows)
    assert kinds["event"] == len(run.recording.events) and kinds["sample"] == len(run.recording.samples)
    assert kinds["slice"] == len(run.recording.slices)
    times = [row["ts"] for row in rows if "ts" in row]
    assert times == sorted(times)


def test_parquet_by_pyarrow(run: Run, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    (tmp_path / "events.parquet").write_bytes(written(run.recording, "parquet"))
    table = parquet.read_table(tmp_path / "events.parquet")
    assert table.num_rows == len(run.recording.events)
    assert Counter(table.column("event").to_pylist()) == Counter(run.recording.events.counts())
    counts = [event.fields.get("count") for event in run.recording.events]
    assert table.column("count").to_pylist() == counts
    assert table.schema.metadata[b"seed"] == b"7"


def test_pandas(run: Run) -> None:
    pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    frame = run.result.events.to_pandas()
    mine = frame[frame["event"] == "kprobes:returned"]
    assert int(mine["ret"].sum()) == sum(int(event.fields["ret"]) for event in run.result.events.named("returned"))
    assert str(frame["ts"].dtype) == "int64" and str(frame["count"].dtype) == "Int64"


def test_perfetto_by_its_package(run: Run) -> None:
    protos = pytest.importorskip("perfetto.protos.perfetto.trace.perfetto_trace_pb2")
    trace = protos.Trace.FromString(written(run.recording, "perfetto"))
    recording = run.recording
    switches = [(bundle.ftrace_events.cpu, event.timestamp, event.sched_switch.next_pid)
                for bundle in trace.packet if bundle.HasField("ftrace_events")
                for event in bundle.ftrace_events.event if event.HasField("sched_switch")]  # fmt: skip
    assert {(each.cpu, each.begin, each.pid) for each in recording.slices} <= set(switches)
    kinds = Counter(packet.track_event.type for packet in trace.packet if packet.HasField("track_event"))
    known = recording.events.counts()
    writes = known["syscalls:sys_enter_write"]
    assert kinds[protos.TrackEvent.TYPE_SLICE_BEGIN] == kinds[protos.TrackEvent.TYPE_SLICE_END] == writes
    others = len(recording.events) - known["sched:sched_switch"] - 2 * writes
    assert kinds[protos.TrackEvent.TYPE_INSTANT] == others
    assert kinds[protos.TrackEvent.TYPE_COUNTER] >= 2
    assert sum(packet.HasField("perf_sample") for packet in trace.packet) == len(recording.samples)
    names = {process.cmdline[0] for packet in trace.packet for process in packet.process_tree.processes}
    assert names >= {"writer", "init"}
    stacks = {row.iid for packet in trace.packet for row in packet.interned_data.callstacks}
    assert stacks >= {packet.perf_sample.callstack_iid for packet in trace.packet if packet.HasField("perf_sample")}


def test_kallsyms_names_the_kernels_functions(run: Run) -> None:
    rows = [line.split() for line in written(run.recording, "kallsyms").decode().splitlines()]
    for address, _, name in rows:
        assert run.machine.kernel.symbols[name].address == int(address, 16)
    assert any(name == "entry_SYSCALL_64_after_hwframe" for _, _, name in rows)


def test_nothing_recorded_is_said() -> None:
    for name in ("perf.data", "folded", "flamegraph"):
        with pytest.raises(ValueError, match="record"):
            written(Recording(), name)


def test_every_format_takes_an_empty_recording_or_says_why() -> None:
    for name, row in FORMATS.items():
        if name not in ("perf.data", "folded", "flamegraph"):
            if row.needs:
                pytest.importorskip(row.needs)
            written(Recording(), name)


def test_a_missing_package_is_one_sentence() -> None:
    with pytest.raises(MissingPackage, match=r"pip install 'simkernel\[export\]'"):
        module("nosuchpackage_of_ours.part")
