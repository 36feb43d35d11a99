"""`simkernel run`: a program in the simulated computer, with probes and BPF programs attached.

The program's own output passes through; what the observers found comes after it: the trace as trace_pipe shows it, then
the maps of every BPF object.  Exit status: the program's; 2 where the command line or an object is wrong; 70 when the
simulated kernel met a bug of its own; 124 when time ran out; 128 + N when signal N (Ctrl-C: 2) ended it, with the
results until then.
"""

from __future__ import annotations

import contextlib
import errno
import gc
import math
import os
import select
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from arch.abi.errno import errno_name
from arch.abi.limits import PAGE_SHIFT
from arch.abi.signal import SIGKILL, SIGPIPE
from arch.abi.termios import ECHO, ICANON, ISIG
from arch.abi.time import NSEC_PER_SEC
from arch.architecture import DEFAULT, names
from arch.errors import KernelError
from arch.hosttime import HOST, HostStop, Limit, Why
from arch.hosttime import check as check_host_time
from bpf.versions.config import BUILT_SINCE
from simkernel.binds import Bind, BindSyntaxError, parse_bind
from simkernel.bug import Oops
from simkernel.cli.objects import load_objects, warnings
from simkernel.cli.options import Options
from simkernel.cli.outdir import OutDir
from simkernel.cli.progress import Progress
from simkernel.cli.report import Report
from simkernel.cli.usage import UsageError
from simkernel.own_floors import EXIT_USAGE
from simkernel.program import Program, ProgramError, check

if TYPE_CHECKING:
    from simkernel.kernel.hostio import HostInput, HostOutput
    from simkernel.machine import Machine, Result

EXIT_TIMEOUT = 124
BLOCKED_POLL_MS = 50  # how often who waits for a stream of the host looks at the time
TIME_IS_UP = {
    "virtual": "virtual time is up",
    "host": "real time is up",
    "memory": "it took more of the host's memory than it may",
    "deadlock": "it waits for what cannot come",
    "interrupted": "interrupted",
}
MAX_SECONDS = 1_000_000_000
MIN_MEMORY, MAX_MEMORY = 64 << 20, 16 << 30  # bytes


@click.command(context_settings={"ignore_unknown_options": False, "allow_interspersed_args": False})
@click.option("--arch", type=click.Choice(names()), default=DEFAULT, show_default=True, help="The machine's CPUs.")
@click.option("--kernel", default="6.1", show_default=True, help="Kernel version: 4.1, 5.10, 6.1, 3.20-rfc ...")
@click.option("--cpus", type=click.IntRange(1, 64), default=1, show_default=True, help="How many simulated CPUs.")
@click.option("--memory", metavar="BYTES", help="The machine's memory, from 64M to 16G.  [default: 256M]")
@click.option(
    "--config",
    "config",
    multiple=True,
    type=click.Choice(sorted(BUILT_SINCE)),
    metavar="OPTION",
    help="Build the kernel with an option that Debian's lacks: DEBUG_INFO_BTF, FPROBE ...  Repeatable.",
)
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of everything random.")
@click.option(
    "--explore",
    type=click.IntRange(1, 100_000),
    metavar="N",
    help="Try N seeds, each another schedule; show the first that fails.",
)
@click.option("--bpf", "bpf", multiple=True, metavar="OBJ", help="Load and attach a BPF object.  Repeatable.")
@click.option(
    "--event",
    "events",
    multiple=True,
    metavar="GROUP:NAME|p:SPEC",
    help="Trace an event, all that fit a pattern, or a new probe.  Repeatable.",
)
@click.option("--bind", "binds", multiple=True, metavar="HOST:GUEST[:rw]", help="Show a host file or directory.")
@click.option(
    "--netem", "netems", multiple=True, metavar="DEV:SPEC", help="Delay and lose packets: lo:delay=20ms,loss=5%."
)
@click.option("--strace", is_flag=True, help="Print every system call to stderr.")
@click.option("--stats", is_flag=True, help="Print the machine's counters at the end.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout instead of text.")
@click.option(
    "--coverage", metavar="DIR", help="Write which lines of the BPF programs ran: DIR/lcov.info, DIR/index.html."
)
@click.option("--out", metavar="DIR", help="Write all results as files into this directory.")
@click.option(
    "--export", "exports", multiple=True, metavar="FORMAT=FILE", help="Write a recording of the run.  Repeatable."
)
@click.option(
    "--sample", type=click.IntRange(1, 100_000), metavar="HZ", help="Sample the CPUs, for --out and --export."
)
@click.option("--stacks", is_flag=True, help="Record kernel and user stack with each event.")
@click.option(
    "--max-output", metavar="BYTES", help="The program's stdout or stderr ends here (EPIPE); 1G where it is collected."
)
@click.option("--timeout", metavar="SECONDS", help="End the program after so much virtual time.")
@click.option("--host-timeout", metavar="SECONDS", help="End the program after so much real time.")
@click.option("--env", "env", multiple=True, metavar="NAME=VALUE", help="Environment of the program.  Repeatable.")
@click.option("--workload", metavar="NAME", help="Run a ready workload instead of a program (`--workload list`).")
@click.option("--quiet", is_flag=True, help="No line about progress on a terminal.")
@click.option("--debug", is_flag=True, help="Print the Python traceback of a bug of the simulated kernel.")
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
def run(
    arch: str,
    kernel: str,
    cpus: int,
    memory: str | None,
    config: tuple[str, ...],
    seed: int,
    explore: int | None,
    bpf: tuple[str, ...],
    events: tuple[str, ...],
    binds: tuple[str, ...],
    netems: tuple[str, ...],
    strace: bool,
    stats: bool,
    as_json: bool,
    coverage: str | None,
    out: str | None,
    exports: tuple[str, ...],
    sample: int | None,
    stacks: bool,
    max_output: str | None,
    timeout: str | None,
    host_timeout: str | None,
    env: tuple[str, ...],
    workload: str | None,
    quiet: bool,
    debug: bool,
    command: tuple[str, ...],
) -> None:
    """Run PROGRAM [ARG...] in the simulated computer.

    PROGRAM is a static program of this host, searched on PATH, put into the guest's /bin.  Nothing else of the host is
    visible inside unless --bind shows it.
    """
    try:
        if explore is not None and (out is not None or coverage is not None or exports):
            raise UsageError(
                "--explore shows what the first failing run prints: leave --out and --coverage to the run that repeats it"
            )
        options = Options(
            arch, kernel, cpus, seed, bpf, events, [bind_option(b) for b in binds], strace, stats, as_json,
            parse_out(out), parse_seconds("--timeout", timeout), parse_seconds("--host-timeout", host_timeout),
            dict(parse_env(e) for e in env), workload, debug, quiet, parse_bytes("--max-output", max_output),
            parse_out(coverage, "--coverage"),
            netems,
            list(command),
            sample or 0,
            stacks,
            parse_exports(exports),
            parse_memory(memory),
            config,
        )  # fmt: skip
        if options.sample_hz and not options.recorded:
            raise UsageError("--sample: say where to, with --out DIR or --export FORMAT=FILE")
        if explore is not None:
            raise SystemExit(explore_seeds(options, explore))
        raise SystemExit(run_or_report(options, list(command)))
    except (UsageError, ProgramError) as error:
        print(f"simkernel run: {error}", file=sys.stderr)
        raise SystemExit(EXIT_USAGE) from None


def explore_seeds(options: Options, count: int) -> int:
    """--explore: this command line with other seeds."""
    from simkernel.cli.explore import explore, without_seeds

    words = sys.argv[sys.argv.index("run") + 1 :]
    return explore(without_seeds(words, run.params), options.seed, count, options.json)


def parse_exports(texts: tuple[str, ...]) -> list[tuple[str, Path]]:
    """Every --export."""
    if not texts:
        return []
    from simkernel.cli.record import parse_export

    return [parse_export(text) for text in texts]


def bind_option(text: str) -> Bind:
    """One --bind."""
    try:
        return parse_bind(text)
    except BindSyntaxError as error:
        raise UsageError(f"--bind {error}") from None


def parse_env(text: str) -> tuple[str, str]:
    """`NAME=VALUE`."""
    name, separator, value = text.partition("=")
    if not separator or not name:
        raise UsageError(f"--env {text}: write it as NAME=VALUE")
    return name, value


def parse_seconds(option: str, text: str | None) -> float | None:
    """A time limit: a number of seconds that is not negative."""
    if text is None:
        return None
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not 0 <= seconds <= MAX_SECONDS:
        raise UsageError(f"{option} {text}: write it as seconds, from 0 to {MAX_SECONDS:,}")
    return seconds


def parse_bytes(option: str, text: str | None) -> int | None:
    """A size: a number, or one with K, M or G behind it."""
    if text is None:
        return None
    shift = {"K": 10, "M": 20, "G": 30}.get(text[-1:].upper(), 0)
    digits = text[:-1] if shift else text
    if not (digits.isascii() and digits.isdigit() and len(digits) < 16):
        raise UsageError(f"{option} {text}: write it as bytes, such as 4096, 64K or 2G")
    return int(digits) << shift


def parse_memory(text: str | None) -> int | None:
    """--memory: whole pages."""
    size = parse_bytes("--memory", text)
    if size is not None and not MIN_MEMORY <= size <= MAX_MEMORY:
        raise UsageError(f"--memory {text}: a machine has from 64M to 16G")
    return None if size is None else size >> PAGE_SHIFT << PAGE_SHIFT


def parse_out(text: str | None, option: str = "--out") -> Path | None:
    """The directory for the results; made at once, so that a long run does not end in vain."""
    if text is None:
        return None
    directory = Path(text)
    try:
        if not text:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
        directory.mkdir(parents=True, exist_ok=True)
        if not os.access(directory, os.W_OK | os.X_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    except OSError as error:
        reason = "not a directory" if isinstance(error, FileExistsError) else error.strerror
        raise UsageError(f"{option} {text or repr(text)}: {reason}") from None
    return directory


def run_or_report(options: Options, command: list[str]) -> int:
    """execute() in the time that it has, or what there is to say about a bug of ours."""
    try:
        with HOST.limit(options.host_timeout) as limit:
            report = execute(options, command, limit)
        report.publish()
        if options.coverage is not None:
            report.machine.coverage().write(options.coverage)
        report.machine.close()
        return report.status
    except HostStop:
        ended = "interrupted" if HOST.asked else "memory" if HOST.why is Why.MEMORY else "host"
        name = command[0] if command else options.workload
        print(f"simkernel run: {name}: ended before it began, {TIME_IS_UP[ended]}", file=sys.stderr)
        return stopped_status(ended)
    except Oops as oops:
        from simkernel.cli import bug

        return bug.report(oops, "run", options.out, options.debug)


def stopped_status(timed_out: str) -> int:
    """Exit status of a run that did not come to its own end."""
    return 128 + HOST.asked if timed_out == "interrupted" else EXIT_TIMEOUT


def execute(options: Options, command: list[str], limit: Limit) -> Report:
    """Boot, attach, run; what there is to tell."""
    if options.workload is None and not command:
        raise UsageError("no program given; for example: simkernel run -- busybox sh -c 'echo hello'")
    if options.workload is not None and command:
        raise UsageError(f"either --workload {options.workload} or a program ({command[0]}), not both")
    if options.workload is not None:
        check_workload(options.workload)
    program = None
    if options.workload is None:
        program = check(command[0], options.arch, dynamic_ok=bool(options.binds))
    machine = boot_machine(options)
    if options.coverage is not None:
        machine.coverage()
    emulate_networks(machine, options)
    guest = "" if program is None else machine.install(program)  # before user probes look for it
    objects = load_objects(machine, options.bpf, program, guest)
    for path, obj in objects:
        for sentence in warnings(machine, obj):
            print(f"simkernel run: --bpf {path}: warning: {sentence}", file=sys.stderr)
    tracing = enable_events(machine, options) or bool(objects)
    recorder = None
    if options.recorded:
        from simkernel.cli.record import start

        recorder = start(machine, options)
    with Progress(machine, options.quiet) as progress:
        stdout, stderr = streams(options, progress)
        status, result, note = run_program(machine, options, program, guest, command, stdout, stderr)
    report = Report(machine, options, status, result, stdout, stderr)
    report.recorder = recorder
    report.gather(objects, tracing, limit)
    for line in [*note, *report.cut]:
        print(line, file=sys.stderr)
    return report


def boot_machine(options: Options) -> Machine:
    """A machine as asked for."""
    from simkernel.fs.hostfs import BindError
    from simkernel.kernel.kernel import DEFAULT_MEMORY
    from simkernel.machine import Lines, MachineError, boot

    lines = Lines(options.collected)
    sink = lines.keep if options.out or options.json else (lambda text: print(text, file=sys.stderr))
    try:
        machine = boot(
            arch=options.arch,
            kernel=options.kernel,
            cpus=options.cpus,
            seed=options.seed,
            memory=options.memory or DEFAULT_MEMORY,
            binds=options.binds,
            strace=sink if options.strace else None,
            config=options.config,
        )
    except (ValueError, MachineError, KernelError, BindError) as error:
        raise UsageError(str(error)) from None
    machine.strace_lines = lines
    gc.freeze()  # what is there now stays until the end: no search needs to look at it
    return machine


def emulate_networks(machine: Machine, options: Options) -> None:
    """Every --netem."""
    if not options.netems:
        return
    from simkernel.netem import NetemError, parse, set_netem

    for text in options.netems:
        try:
            set_netem(machine.session, *parse(text))
        except NetemError as error:
            raise UsageError(f"--netem {error}") from None
        except KernelError as error:
            raise UsageError(f"--netem {text}: {error.why or errno_name(error.errno)}") from None


def enable_events(machine: Machine, options: Options) -> bool:
    """Turn on every --event; True when there is one."""
    from simkernel.session import is_probe

    if options.stacks:
        from simkernel.cli.record import record_stacks

        record_stacks(machine)
    for spec in options.events:
        try:
            machine.enable_event(spec)
        except KernelError as error:
            near = nearest_functions(machine, spec, error) if is_probe(spec) else nearest_events(machine, spec, error)
            raise UsageError(f"--event {spec}: {errno_name(error.errno)}{near or ': ' + error.why}") from None
    return bool(options.events)


def nearest_events(machine: Machine, spec: str, error: KernelError) -> str:
    """Names like the one that does not exist."""
    import difflib

    if error.errno != errno.ENOENT:
        return ""
    names = [f"{event.system}:{event.name}" for event in machine.kernel.observer.tracing.events]
    close = difflib.get_close_matches(spec, names, n=3, cutoff=0.5)
    return f": no such event{'; near: ' + ', '.join(close) if close else ''}"


def nearest_functions(machine: Machine, spec: str, error: KernelError) -> str:
    """What the kernel says of a refused probe, and functions like the one that does not exist."""
    import difflib

    from simkernel.session import probed_symbol

    symbol = probed_symbol(spec)
    if error.errno != errno.ENOENT or symbol in machine.kernel.text.functions:
        return ""
    close = difflib.get_close_matches(symbol, sorted(machine.kernel.text.functions), n=3, cutoff=0.6)
    near = f"near: {', '.join(close)}" if close else "`simkernel list functions` shows what there is"
    return f": {error.why}\nno kernel function is named {symbol}; {near}"


def streams(options: Options, progress: Progress) -> tuple[HostOutput, HostOutput]:
    """The guest's stdout and stderr: passed through as they come, or collected."""
    from simkernel.kernel.hostio import HostOutput

    if options.out:
        results = OutDir(options.out)
        try:
            results.begin()
            files = results.stream("stdout"), results.stream("stderr")
        except OSError as error:
            raise UsageError(f"--out {options.out}: {error.strerror}") from None
        return HostOutput(None, options.max_output, files[0]), HostOutput(None, options.max_output, files[1])
    if options.json:
        return HostOutput(None, options.max_output), HostOutput(None, options.max_output)

    def passing(fd: int) -> HostOutput:
        def sink(data: bytes) -> None:
            progress.clear()
            try:
                while data:
                    wait_for(fd, select.POLLOUT)
                    data = data[os.write(fd, data[: select.PIPE_BUF]) :]
            except OSError as error:
                raise KernelError(error.errno or errno.EIO, "the host's stream") from None

        return HostOutput(sink, options.max_output)

    out, err = passing(1), passing(2)
    if os.isatty(0) and os.isatty(1):
        out.tty, err.tty = True, os.isatty(2)
    return out, err


def wait_for(fd: int, event: int) -> None:
    """Until the host's descriptor can be read or written (PIPE_BUF bytes) without waiting; HostStop."""
    poll = select.poll()
    poll.register(fd, event)
    while not poll.poll(BLOCKED_POLL_MS):
        check_host_time()


def standard_input(terminal: bool) -> HostInput:
    """The guest's stdin: this process's, read when the guest reads."""
    from simkernel.kernel.hostio import HostInput

    def source(size: int) -> bytes:
        try:
            wait_for(0, select.POLLIN)
            return os.read(0, min(size, 1 << 16))
        except OSError as error:
            raise KernelError(error.errno or errno.EIO, "the host's stream") from None

    stdin = HostInput(b"", source=source)
    if terminal:
        stdin.tty = True
        stdin.configure = configure_terminal
    return stdin


def configure_terminal(lflag: int) -> None:
    """The guest set its terminal's modes: ours gets the same, for ours does the echo and the line editing."""
    import termios

    modes = termios.tcgetattr(0)
    bits = ((ICANON, termios.ICANON), (ECHO, termios.ECHO), (ISIG, termios.ISIG))
    for theirs, ours in bits:
        modes[3] = modes[3] | ours if lflag & theirs else modes[3] & ~ours
    modes[0] = modes[0] | termios.ICRNL if lflag & ICANON else modes[0] & ~termios.ICRNL
    termios.tcsetattr(0, termios.TCSADRAIN, modes)


@contextlib.contextmanager
def terminal_restored(terminal: bool) -> Iterator[None]:
    """The terminal is left as it was found."""
    if not terminal:
        yield
        return
    import termios

    before = termios.tcgetattr(0)
    try:
        yield
    finally:
        termios.tcsetattr(0, termios.TCSADRAIN, before)


def run_program(
    machine: Machine,
    options: Options,
    program: Program | None,
    guest: str,
    command: list[str],
    stdout: HostOutput,
    stderr: HostOutput,
) -> tuple[int, Result, list[str]]:
    """(exit status, the machine's Result, lines for stderr)."""
    from simkernel.machine import describe_crash

    if program is None:
        return run_workload(machine, options)
    virtual = None if options.timeout is None else int(options.timeout * NSEC_PER_SEC)
    env = {**default_env(), **options.env}
    try:
        with terminal_restored(stdout.tty):
            result = machine.run(
                [guest, *command[1:]],
                env=env,
                stdin=standard_input(stdout.tty),
                timeout_virtual_ns=virtual,
                stdout=stdout,
                stderr=stderr,
            )
    except KernelError as error:
        if program.interpreter and error.errno == errno.ENOENT:
            raise UsageError(
                f"{command[0]}: needs {program.interpreter}, which no --bind shows to the machine"
            ) from None
        raise UsageError(f"{command[0]}: {error.why or error}") from None
    notes = []
    if result.timed_out:
        if result.timed_out != "interrupted":
            notes.append(f"simkernel run: {command[0]}: ended, {TIME_IS_UP[result.timed_out]}")
    elif result.crash is not None and result.signal != SIGPIPE:
        notes.append("simkernel run: " + describe_crash(result.crash))
    elif result.signal == SIGKILL:
        notes.append(f"simkernel run: {command[0]}: killed by SIGKILL{memory_note(machine)}")
    return (stopped_status(result.timed_out) if result.timed_out else result.status), result, notes


def memory_note(machine: Machine) -> str:
    """Whether the kernel's log says that memory ran out."""
    return " (out of memory)" if any("Out of memory" in line for line in machine.kernel.log.texts) else ""


def check_workload(name: str) -> None:
    """`list` prints what there is; an unknown name is refused."""
    from simkernel import workloads

    listing = "\n".join(f"  {name:<10} {(w.__doc__ or '').splitlines()[0]}" for name, w in workloads.WORKLOADS.items())
    if name == "list":
        print(listing)
        raise SystemExit(0)
    if name not in workloads.WORKLOADS:
        raise UsageError(f"no workload named {name!r}; there are:\n{listing}")


def run_workload(machine: Machine, options: Options) -> tuple[int, Result, list[str]]:
    """A workload written in Python instead of a program; the same time limits."""
    from simkernel import workloads
    from simkernel.machine import Result

    k, name = machine.kernel, options.workload or ""
    begin_ns = k.clock.now_ns
    limit = None if options.timeout is None else begin_ns + int(options.timeout * NSEC_PER_SEC)
    tasks = workloads.start(machine, name)
    ended = k.cpus.run(lambda: all(task.exit_state for task in tasks), limit)
    result = Result(max(task.exit_code >> 8 & 0xFF for task in tasks), virtual_ns=k.clock.now_ns - begin_ns)
    result.counters = machine.counters()
    if ended:
        return result.status, result, []
    result.timed_out = machine.why_ended(limit)
    HOST.seen()
    return stopped_status(result.timed_out), result, [f"simkernel run: {name}: ended, {TIME_IS_UP[result.timed_out]}"]


def default_env() -> dict[str, str]:
    """The guest's environment when nothing is said."""
    from simkernel.machine import DEFAULT_ENV

    return dict(DEFAULT_ENV)
