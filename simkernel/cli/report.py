"""What `simkernel run` tells at its end: trace, maps and counters, as text, JSON or files."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from arch.hosttime import HOST, HostStop, Limit, Why
from arch.hosttime import check as check_host_time
from simkernel.cli import present, silence
from simkernel.cli.options import Options
from simkernel.cli.outdir import OutDir
from simkernel.cli.usage import UsageError
from simkernel.usertask import TaskEnded

if TYPE_CHECKING:
    from bpf.loader.object import BpfObject
    from simkernel.kernel.hostio import HostOutput
    from simkernel.kernel.task import Crash
    from simkernel.machine import Counter, Machine, Result
    from simkernel.recording.model import Recording
    from simkernel.recording.take import Recorder

MAPS_S = TRACE_S = 0.12  # CPU time of the host for reading results when the run's time is up
RECORDING_S = 0.18  # the same for events, which are worth most
IMPORT_S = 2.0  # the same for reading modules


class Report:
    """Everything that is known at the end of a run, as text, JSON or files."""

    def __init__(
        self,
        machine: Machine,
        options: Options,
        status: int,
        result: Result,
        stdout: HostOutput,
        stderr: HostOutput,
    ) -> None:
        self.options = options
        self.machine = machine
        self.recorder: Recorder | None = None
        self.recording: Recording | None = None
        self.trace = ""
        self.maps: dict[str, dict[str, list[tuple[Any, Any]]]] = {}
        self.cut: list[str] = []  # what there was no time to read
        self.status = status
        self.result = result
        self.stdout, self.stderr = stdout, stderr

    def gather(self, objects: list[tuple[str, BpfObject]], tracing: bool, limit: Limit) -> None:
        """Read maps and trace.  A run whose time is up gets a little more for it; what it does not suffice for is said."""
        HOST.seen()
        self.take_recording(limit)
        with more_time(limit, MAPS_S):
            try:
                for _, obj in objects:
                    for link in reversed(obj.links):
                        link.destroy()  # what this tool does from here on is nobody's business
                    obj.links.clear()
                if objects:
                    from simkernel.recording.maps import object_maps
                for path, obj in objects:
                    self.maps[path] = object_maps(obj)
                    check_host_time()
            except HostStop:
                HOST.seen()
                self.cut.append("simkernel run: the maps are not complete: no time was left to read them")
        with more_time(limit, TRACE_S):
            pieces: list[str] = []
            try:
                room = self.options.collected
                for piece in self.machine.session.trace_pieces() if tracing else ():
                    room -= len(piece)
                    if room < 0:
                        self.cut.append(
                            f"simkernel run: the trace is not complete: more than {self.options.collected:,} bytes"
                        )
                        break
                    pieces.append(piece)
            except HostStop:
                HOST.seen()
                self.cut.append("simkernel run: the trace is not complete: no time was left to read it")
        self.trace = "".join(pieces)
        if self.machine.strace_lines.full:
            self.cut.append(f"simkernel run: strace is not complete: more than {self.options.collected:,} bytes")
        for name, stream in (("stdout", self.stdout), ("stderr", self.stderr)):
            if stream.refused:
                self.cut.append(f"simkernel run: {name} is not complete: {stream.refused}")
        self.complete_recording(objects, limit)

    def take_recording(self, limit: Limit) -> None:
        """First of all: reading maps and trace is work of the machine too, which would be recorded with the rest."""
        if self.recorder is None:
            return
        with more_time(limit, RECORDING_S):
            try:
                self.recording = self.recorder.recording(self.counters())
                if HOST.why is not Why.NOTHING:
                    read = len(self.recording.events)
                    self.cut.append(
                        f"simkernel run: the recording is not complete: no time was left after {read:,} events"
                    )
            except HostStop:
                HOST.seen()
                self.cut.append("simkernel run: there is no recording: no time was left to make it")

    def complete_recording(self, objects: list[tuple[str, BpfObject]], limit: Limit) -> None:
        """Maps, what the verifier says, and what is missing."""
        if self.recording is None:
            return
        with more_time(limit, IMPORT_S):  # modules that a run which is over has not needed yet
            from simkernel.cli.record import describe

            if objects:
                from simkernel.recording.maps import dumps, program_dumps
            describe(self.recording, self.options, self.status)
        with more_time(limit, RECORDING_S):
            try:
                for path, obj in objects:
                    self.recording.maps += dumps(path, obj, self.maps.get(path, {}))
                    self.recording.programs += program_dumps(path, obj)
            except (HostStop, TaskEnded):  # of this tool, with what it had loaded: while it read the maps, or now
                HOST.seen()
                self.cut.append("simkernel run: verifier logs are not complete: no time was left to ask for them")
        self.recording.lost += [line.removeprefix("simkernel run: ") for line in self.cut]

    def publish(self) -> None:
        """Where the options say."""
        if self.recording is not None and self.options.exports:
            from simkernel.cli.record import write_exports

            write_exports(self.recording, self.options.exports)
        try:
            if self.options.out:
                self.write_files(self.options.out)
            if self.options.json:
                print(self.json_text(), flush=True)
            elif not self.options.out:
                self.print_text()
        except BrokenPipeError:
            raise
        except OSError as error:
            silence(sys.stdout)
            raise UsageError(f"cannot write the results: {error.strerror}") from None

    def print_text(self) -> None:
        """Trace and maps on stdout, counters on stderr."""
        sys.stdout.flush()
        text = self.text()
        if text:
            sys.stdout.write(text)
            sys.stdout.flush()
        if self.options.stats:
            sys.stderr.write(self.stats_text())

    def text(self) -> str:
        """Trace, then maps."""
        parts = [self.trace] if self.trace else []
        for path, maps in self.maps.items():
            several = len(self.maps) > 1
            for name, entries in maps.items():
                parts.append(("" if not several else f"{path}: ") + present.map_text(name, entries))
        return "\n".join(part.rstrip("\n") + "\n" for part in parts)

    def stats_text(self) -> str:
        """The machine's counters."""
        counters = self.counters()
        calls, missing = by_name(counters.pop("syscalls_by_name")), by_name(counters.pop("missing_syscalls"))
        rows: list[tuple[str, Counter]] = list(counters.items())
        rows += [(f"syscall {name}", count) for name, count in sorted(calls.items(), key=lambda row: (-row[1], row[0]))]
        rows += [(f"missing syscall {name}", count) for name, count in sorted(missing.items())]
        return present.table(rows)

    def counters(self) -> dict[str, Counter]:
        """A copy of the counters of the run."""
        return dict(self.result.counters)

    def json_text(self) -> str:
        """document() as JSON."""
        import json

        return json.dumps(self.document(), indent=2, default=jsonable)

    def document(self) -> dict[str, object]:
        """All of it, for machines."""
        crash = self.result.crash
        return {
            "status": self.status,
            "stdout": self.stdout.data.decode("utf-8", "replace"),
            "stderr": self.stderr.data.decode("utf-8", "replace"),
            "timed_out": self.result.timed_out,
            "incomplete": self.cut,
            "crash": None if crash is None else crash_document(crash),
            "trace": self.trace,
            "maps": {
                path: {name: [{"key": k, "value": v} for k, v in entries] for name, entries in maps.items()}
                for path, maps in self.maps.items()
            },
            "counters": self.counters(),
            "strace": self.machine.strace_lines,
        }

    def write_files(self, directory: Path) -> None:
        """trace.txt, maps.txt, result.json, the recording (and strace.txt) into a directory, to stdout and stderr, which are there."""
        maps = "".join(present.map_text(name, entries) for m in self.maps.values() for name, entries in m.items())
        files = {
            "trace.txt": self.trace, "maps.txt": maps, "stats.txt": self.stats_text(),
            "result.json": self.json_text() + "\n",
        }  # fmt: skip
        if self.options.strace:
            files["strace.txt"] = "".join(line + "\n" for line in self.machine.strace_lines)
        if self.recording is not None:
            from simkernel.recording.store import files_of

            files |= files_of(self.recording)
        OutDir(directory).finish(files, self.cut)


def more_time(limit: Limit, cpu_s: float) -> Limit:
    """What is left of a limit, but at least so much CPU time."""
    if HOST.why is Why.NOTHING and limit.until == float("inf"):
        return HOST.limit(None)
    left_s = 0.0 if HOST.why is Why.INTERRUPT else limit.left_s  # who asks for the end does not wait for the limit
    return HOST.grace(max(cpu_s, left_s))


def by_name(counter: Counter) -> dict[str, int]:
    """A counter that has a number for each system call."""
    return counter if isinstance(counter, dict) else {}


def crash_document(crash: Crash) -> dict[str, object]:
    """A crash for machines."""
    return {
        "pid": crash.pid,
        "comm": crash.comm,
        "signal": crash.signal,
        "address": crash.address,
        "registers": dict(crash.registers),
    }


def jsonable(value: object) -> str:
    """Bytes as text where they are text, else as hexadecimal."""
    if isinstance(value, (bytes, bytearray)):
        return present.bytes_text(bytes(value)).strip('"')
    return str(value)
