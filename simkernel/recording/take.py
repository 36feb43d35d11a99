"""Taking a recording from a machine: what is in its trace buffer, and what was watched and sampled meanwhile."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version

from arch.errors import KernelError
from simkernel.kernel.kernel import Kernel
from simkernel.recording.decode import Decoder, buffered, copied, lost_before
from simkernel.recording.model import Events, Recording
from simkernel.recording.rows import Counter, Meta, Sample, Slice, TaskInfo
from simkernel.recording.sampler import RawSample, Sampler
from simkernel.recording.symbols import UserSymbols, kernel_frames
from simkernel.recording.watch import MOST, Watch
from simkernel.session import Session


class Recorder:
    """Watches a machine from its making on; a session, where one is given, samples its CPUs and names user code."""

    def __init__(self, kernel: Kernel, session: Session | None = None, sample_hz: int = 0) -> None:
        self.kernel = kernel
        self.session = session
        self.sampler = Sampler(session.task, kernel.nr_cpus, sample_hz) if session is not None else None
        self.watch = Watch(kernel)
        self.begin = kernel.clock.now_ns

    def stop(self) -> None:
        """What happens from here on is nobody's business; harmless a second time."""
        self.watch.stop()
        if self.sampler is not None:
            self.sampler.stop()

    def recording(self, counters: dict[str, Counter], argv: Sequence[str] = ()) -> Recording:
        """Everything until now; the trace buffer is looked at, and stays as it is."""
        self.watch.stop()
        return take(self.kernel, counters, argv, self)


def take(
    kernel: Kernel, counters: dict[str, Counter], argv: Sequence[str] = (), recorder: Recorder | None = None
) -> Recording:
    """What a machine can tell of itself."""
    tracing = kernel.observer.tracing
    frame = kernel_frames(kernel.symbols)
    buffer = tracing.trace_array.buffer
    records = buffered(copied(buffer))
    decoder = Decoder(tracing, frame)
    decoder.know(records)
    out = Recording(meta_of(kernel, argv), Events(events=decoder.events(records, lost_before(buffer))))
    out.formats = decoder.formats()
    out.counters = dict(counters)
    out.lost += lost_events(kernel)
    if len(out.events) < len(records):
        out.lost.append(
            f"the first {len(out.events):,} of {len(records):,} events: no time was left to read the others"
        )
    if recorder is None:
        out.tasks = [
            TaskInfo(task.pid, task.tgid, task.real_parent.pid, task.comm, task.start_time_ns)
            for _, task in sorted(kernel.tasks.by_pid.items())
        ]
        out.slices = slices_of(out.events, kernel.clock.now_ns)
        return out
    watch = recorder.watch
    out.meta.begin = recorder.begin
    out.tasks, out.slices, out.wakeups = watch.tasks, watch.slices, watch.wakeups
    if watch.refused:
        out.lost.append(f"{watch.refused:,} slices and wakeups of the timeline: more than {MOST:,} are not kept")
    if recorder.sampler is not None:
        recorder.sampler.stop()  # its system calls come after everything that was looked at
        add_samples(out, recorder.sampler, recorder.session, kernel)
    return out


def meta_of(kernel: Kernel, argv: Sequence[str]) -> Meta:
    """Which machine this is."""
    features, array, image = kernel.observer.tracing.features, kernel.observer.tracing.trace_array, kernel.text.image
    text = kernel.mem.map.text_base
    return Meta(
        arch=kernel.arch.name, machine=kernel.arch.machine, byteorder=kernel.arch.byteorder, word=kernel.arch.word,
        kernel=str(kernel.version), release=kernel.version.release, hostname=kernel.hostname, cpus=kernel.nr_cpus,
        seed=kernel.seed, version=own_version(), argv=list(argv), end=kernel.clock.now_ns,
        pid_width=7 if features.wide_pid else 5, columns=array.options["irq-info"], kernel_text=(text, image.end),
    )  # fmt: skip


def own_version() -> str:
    """simkernel's; "" where it runs from files that were not installed."""
    try:
        return version("simkernel")
    except PackageNotFoundError:
        return ""


def lost_events(kernel: Kernel) -> list[str]:
    """What the trace buffer could not keep, by CPU."""
    out = []
    for cpu in kernel.observer.tracing.trace_array.buffer.cpus:
        if cpu.overrun:
            out.append(f"CPU {cpu.cpu}: {cpu.overrun:,} events were overwritten by newer ones (buffer_size_kb)")
        if cpu.dropped:
            out.append(f"CPU {cpu.cpu}: {cpu.dropped:,} events found the buffer full (the option overwrite is off)")
        if cpu.read:
            out.append(f"CPU {cpu.cpu}: {cpu.read:,} events had been read from the buffer before")
    return out


def slices_of(events: Events, end: int) -> list[Slice]:
    """Who ran where, from the events sched_switch where those were recorded."""
    running: dict[int, tuple[int, int]] = {}
    out = []
    for event in events:
        if event.name != "sched:sched_switch":
            continue
        pid, since = running.get(event.cpu, (0, 0))
        if pid and pid == event.fields["prev_pid"]:
            state = event.text.partition("prev_state=")[2].split(" ", 1)[0]
            out.append(Slice(event.cpu, pid, since, event.ts, state))
        following = event.fields["next_pid"]
        assert isinstance(following, int)
        running[event.cpu] = (following, event.ts)
    out += [Slice(cpu, pid, since, end, "") for cpu, (pid, since) in sorted(running.items()) if pid]
    return sorted(out, key=lambda each: (each.begin, each.cpu))


def add_samples(out: Recording, sampler: Sampler, session: Session | None, kernel: Kernel) -> None:
    """Samples, with names for their addresses."""

    def read(path: str) -> bytes:
        try:
            return session.read_file(path) if session is not None else b""
        except KernelError:
            return b""  # removed meanwhile

    users = UserSymbols(sampler.files, sampler.parents, read)
    frame = kernel_frames(kernel.symbols)
    names: dict[int, str] = {task.pid: task.comm for task in out.tasks}
    changes = iter(sampler.comms)
    change = next(changes, None)
    first: dict[int, str] = {}

    def sample(raw: RawSample) -> Sample:
        kernel_part = tuple(frame(ip) for ip in raw.kernel)
        user_part = tuple(users.frame(raw.tgid, raw.ts, ip) for ip in raw.user)
        comm = first.get(raw.pid) or names.get(raw.pid, "")
        return Sample(raw.ts, raw.cpu, raw.pid, raw.tgid, comm, raw.period, raw.ip, kernel_part, user_part)

    for raw in sampler.samples:
        while change is not None and change[0] <= raw.ts:
            first[change[1]] = change[2]
            change = next(changes, None)
        out.samples.append(sample(raw))
    groups = {task.pid: task.tgid for task in out.tasks}
    for event in out.events:
        if event.user_stack:
            tgid = groups.get(event.pid, event.pid)
            event.user_stack = tuple(users.frame(tgid, event.ts, place.ip) for place in event.user_stack)
    out.files = sampler.files
    out.meta.sample_hz = sampler.hz
    if sampler.lost:
        out.lost.append(f"{sampler.lost:,} CPU samples and task records found their ring full (--sample with fewer HZ)")
