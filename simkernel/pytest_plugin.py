"""pytest plugin: simulated machines as fixtures, over kernels and CPUs.

    @pytest.mark.simkernel(kernel=["5.10", "6.1"], arch=["x86_64", "s390x"])
    def test_my_tool(machine, bpf_object):
        obj = bpf_object("count.bpf.c")             # compiled for this machine, loaded, attached
        machine.run([machine.install("busybox"), "true"])
        assert obj.maps["counts"][0] == 3

Fixtures: `machine`, freshly booted and closed at the end; `bpf_object(PATH)`; `workload(NAME or generator function)`,
which runs it to its end.

Each combination of the mark is a test of its own, named `[6.1-arm64]`; lists are taken for `kernel`, `arch`, `cpus` and
`seed`, everything else goes to `simkernel.boot` unchanged.  `--simkernel-kernel`, `--simkernel-arch`, `--simkernel-cpus`
and `--simkernel-seed` replace what the marks say, to try one kernel or all of them.

With `setup=function` the machine is booted and prepared by `function(machine)` once in a session, and each test gets a copy of
it (simkernel/copies.py), in a process of its own.

A failed test shows what its machine has to tell: the maps of its objects, the end of the trace and of the kernel's log.

`--simkernel-explore N` runs each test with N seeds, each of which is another schedule, up to the first that fails; its report has
the command that repeats it.

`--simkernel-coverage DIR` writes which lines and instructions of BPF programs ran, over all tests (DIR/lcov.info, DIR/index.html).
A test that fails on a copy does not count there.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Generator, Iterator
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from arch.architecture import DEFAULT

if TYPE_CHECKING:
    from bpf.loader.object import BpfObject
    from simkernel.copies import Template
    from simkernel.machine import Machine, Result
    from simkernel.unit.coverage import Report
    from simkernel.usertask import Program

AXES = ("kernel", "arch", "cpus", "seed")  # in the order in which ids name them
DEFAULTS: dict[str, object] = {"kernel": "6.1", "arch": DEFAULT, "cpus": 1, "seed": 0}
FLOORS = ("arch", "tracing", "bpf", "simkernel")
TAIL_LINES = 20  # lines of trace and log that a failed test shows


def pytest_addoption(parser: pytest.Parser) -> None:
    """Options that narrow or widen what the marks say."""
    group = parser.getgroup("simkernel", "simulated machines")
    for axis, example in (("kernel", "5.10,6.12"), ("arch", "x86_64,s390x"), ("cpus", "1,4"), ("seed", "0,1,2 or 0-9")):
        group.addoption(f"--simkernel-{axis}", metavar="LIST", help=f"{axis} of all machines, such as {example}")

    group.addoption(
        "--simkernel-explore",
        metavar="N",
        type=int,
        help="run each test with seeds 0 to N-1, up to the first that fails",
    )
    group.addoption(
        "--simkernel-coverage", metavar="DIR", help="write coverage of BPF programs: DIR/lcov.info, DIR/index.html"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Declare the mark."""
    config.addinivalue_line(
        "markers",
        "simkernel(kernel=[...], arch=[...], cpus=[...], seed=[...], **boot): boot a simulated machine per combination",
    )


# -- combinations ------------------------------------------------------------------------------------------------------


def as_list(value: object) -> list[object]:
    """A mark's value, which may be one or several."""
    return list(value) if isinstance(value, (list, tuple, range)) else [value]


def option_values(axis: str, text: str) -> list[object]:
    """`5.10,6.12`, or for numbers also `0-9`."""
    out: list[object] = []
    for part in filter(None, (part.strip() for part in text.split(","))):
        if axis in ("kernel", "arch"):
            out.append(part)
            continue
        first, _, last = part.partition("-")
        try:
            out.extend(range(int(first), int(last or first) + 1))
        except ValueError:
            raise pytest.UsageError(f"--simkernel-{axis} {text}: write numbers, such as 1,4 or 0-9") from None
    if not out:
        raise pytest.UsageError(f"--simkernel-{axis} {text}: no value")
    return out


def combinations(config: pytest.Config, mark: pytest.Mark | None) -> list[dict[str, object]]:
    """boot()'s arguments of each machine that a test wants."""
    options: dict[str, object] = dict(mark.kwargs) if mark else {}
    axes = {}
    for axis in AXES:
        asked: str | None = config.getoption(f"--simkernel-{axis}")
        marked = options.pop(axis, DEFAULTS[axis])
        axes[axis] = option_values(axis, asked) if asked is not None else as_list(marked)
    explore: int | None = config.getoption("--simkernel-explore")
    if explore is not None and config.getoption("--simkernel-seed") is None:
        axes["seed"] = list(range(explore))
    return [{**options, **dict(zip(AXES, values))} for values in product(*axes.values())]


def combination_ids(boots: list[dict[str, object]]) -> list[str]:
    """`6.1-arm64`, and `-cpus4`, `-seed7` where there are several of these."""
    several = [axis for axis in ("cpus", "seed") if len({boot[axis] for boot in boots}) > 1]
    return ["-".join([f"{b['kernel']}-{b['arch']}", *(f"{axis}{b[axis]}" for axis in several)]) for b in boots]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Make one test per combination."""
    if "machine" in metafunc.fixturenames:
        boots = combinations(metafunc.config, metafunc.definition.get_closest_marker("simkernel"))
        metafunc.parametrize("machine", boots, ids=combination_ids(boots), indirect=True)


_TEMPLATE: pytest.StashKey[Template] = pytest.StashKey()  # of a test whose machine is a copy
_FAILED: pytest.StashKey[set[str]] = pytest.StashKey()  # of explored tests
_COVERED: pytest.StashKey[Report] = pytest.StashKey()
COVERAGE = "--simkernel-coverage"
_TEMPLATES: pytest.StashKey[dict[str, Template]] = pytest.StashKey()  # of the session


# -- fixtures ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def machine(request: pytest.FixtureRequest) -> Iterator[Machine]:
    """A freshly booted machine, as the `simkernel` mark of the test asks for."""
    import simkernel

    for axis in AXES:
        request.node.user_properties.append((f"simkernel.{axis}", str(request.param[axis])))
    if "setup" in request.param:
        templates = request.config.stash.setdefault(_TEMPLATES, {})
        key = repr(request.param)
        if key not in templates:
            boot = dict(request.param)
            if request.config.getoption(COVERAGE):
                boot["setup"] = counting(boot["setup"])
            templates[key] = simkernel.template(**boot)
        request.node.stash[_TEMPLATE] = templates[key]
        yield templates[key].machine
        return
    booted = simkernel.boot(**request.param)
    if request.config.getoption(COVERAGE):
        booted.coverage()
    yield booted
    if request.config.getoption(COVERAGE):
        collect(request.config, booted.coverage().report())
    booted.close()


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """A test on a copy runs in the copy's process; what it raises comes back, with what its machine knows."""
    template = pyfuncitem.stash.get(_TEMPLATE, None)
    if template is None:
        return None
    arguments = {name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames}

    covered: str | None = pyfuncitem.config.getoption(COVERAGE)

    def work(machine: Machine) -> Report | None:
        try:
            pyfuncitem.obj(**arguments)
        except BaseException as error:
            for title, text in tell(machine):
                error.add_note(f"--- {title}\n{text}")
            raise
        return machine.coverage().report() if covered else None

    report = template.run(work)
    if report is not None:
        collect(pyfuncitem.config, report)
    return True


@pytest.fixture
def bpf_object(machine: Machine, request: pytest.FixtureRequest) -> Callable[..., BpfObject]:
    """`bpf_object(PATH)`: a BPF object of the test's folder, in C or compiled, loaded and attached."""

    def load(path: str | Path, attach: bool = True) -> BpfObject:
        __tracebackhide__ = True
        beside = request.path.parent / path
        obj = machine.load(beside if beside.exists() else path)
        if attach:
            obj.attach()
        return obj

    return load


@pytest.fixture
def workload(machine: Machine) -> Callable[[str | Program], Result]:
    """`workload("udp")` runs a ready workload, `workload(function)` a generator function, to its end."""

    def run(what: str | Program) -> Result:
        __tracebackhide__ = True
        from simkernel import workloads

        return workloads.run(machine, what)

    return run


# -- coverage ----------------------------------------------------------------------------------------------------------


def counting(setup: Callable[[Machine], object]) -> Callable[[Machine], object]:
    """A template's setup, with counts of what it loads."""

    def prepare(machine: Machine) -> object:
        machine.coverage()
        return setup(machine)

    return prepare


def collect(config: pytest.Config, report: Report) -> None:
    """One machine's counts on top of the others."""
    from simkernel.unit.coverage import Report

    config.stash.setdefault(_COVERED, Report()).add(report)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """A worker of pytest-xdist hands its counts over."""
    config = session.config
    output = vars(config).get(
        "workeroutput"
    )  # only a worker's config has it; its variable is there for what it starts, too
    if output is not None and _COVERED in config.stash:
        output["simkernel_coverage"] = pickle.dumps(config.stash[_COVERED])


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """What a worker handed over."""
    data = vars(node).get("workeroutput", {}).get("simkernel_coverage")
    if data is not None:
        collect(node.config, pickle.loads(data))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Write the report, and say where it is."""
    directory: str | None = config.getoption(COVERAGE)
    if directory is None:
        return
    terminalreporter.section("coverage of BPF programs")
    report = config.stash.get(_COVERED, None)
    if report is None or not report.programs:
        terminalreporter.write_line("no test loaded a BPF program")
        return
    report.write(directory)
    terminalreporter.write(report.text())
    terminalreporter.write_line(f"{report.percent():.0f} % of lines; {directory}/lcov.info, {directory}/index.html")


# -- reports -----------------------------------------------------------------------------------------------------------


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A failure is shown where the test's own code is; and what the machine knows of it."""
    if call.excinfo is not None:
        hide_our_frames(call.excinfo)
    report = yield
    if report.when == "call" and report.failed and item.config.getoption("--simkernel-explore") is not None:
        item.config.stash.setdefault(_FAILED, set()).add(seedless(item))
        report.sections.append(("simkernel: to repeat", repeat_command(item)))
    machine = fixture_value(item, "machine")
    copied = item.stash.get(_TEMPLATE, None) is not None  # then the parent's machine knows nothing of the test
    if report.when == "call" and report.failed and machine is not None and not copied:
        report.sections.extend(tell(machine))
    return report


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Where schedules are explored, one that fails is enough."""
    if seedless(item) in item.config.stash.get(_FAILED, set()):
        pytest.skip("another seed has failed already")


def boot_arguments(item: pytest.Item) -> dict[str, object]:
    """What the machine of a test is booted with; empty without one."""
    found = (
        item.callspec.params.get("machine") if isinstance(item, pytest.Function) and "callspec" in vars(item) else None
    )
    return found if isinstance(found, dict) else {}


def seedless(item: pytest.Item) -> str:
    """A test, whatever its seed."""
    return item.nodeid.replace(f"-seed{boot_arguments(item).get('seed')}", "")


def repeat_command(item: pytest.Item) -> str:
    """The command that runs one test with one seed."""
    boot = boot_arguments(item)
    name = item.nodeid.partition("[")[0]
    return f"pytest '{name}' " + " ".join(f"--simkernel-{axis} {boot[axis]}" for axis in AXES if axis in boot)


def fixture_value(item: pytest.Item, name: str) -> Any:
    """A fixture's value of a test, None where it has none."""
    return item.funcargs.get(name) if isinstance(item, pytest.Function) else None


def hide_our_frames(excinfo: pytest.ExceptionInfo[BaseException]) -> None:
    """What the kernel, the loader or the compiler refused was refused to the test: our own frames tell nothing of it.

    pytest leaves out frames whose module says `__tracebackhide__`, for the exceptions that it says it for.
    """
    root = Path(__file__).resolve().parents[1]
    ours = tuple(str(root / floor) + "/" for floor in FLOORS)
    if refused(excinfo):
        for entry in excinfo.traceback:
            if str(entry.path).startswith(ours):
                entry.frame.f_globals["__tracebackhide__"] = refused


def refused(excinfo: pytest.ExceptionInfo[BaseException]) -> bool:
    """The exceptions that answer a caller, in contrast to bugs."""
    from arch.errors import KernelError
    from bpf.loader.errors import LoadError
    from simkernel.cc import CompileError
    from simkernel.machine import MachineError, NeverHappened

    return isinstance(excinfo.value, (KernelError, LoadError, CompileError, MachineError, NeverHappened, ValueError))


def tell(machine: Machine) -> list[tuple[str, str]]:
    """(title, text) of what a failed test's machine knows."""
    from arch.errors import KernelError
    from simkernel.bug import Oops
    from simkernel.cli import present
    from simkernel.recording.maps import object_maps

    out = []
    try:
        maps = ""
        if machine.has_session:
            for obj in machine.session.objects:
                maps += "".join(present.map_text(name, entries) for name, entries in object_maps(obj).items())
            out.append(("simkernel: the end of the trace", tail(machine.trace_pipe())))
        out.append(("simkernel: maps", maps))
    except (KernelError, Oops, RuntimeError) as error:  # the state in which the failed test left it
        out.append(("simkernel", f"the machine cannot be asked any more: {error!r}"))
    out.append(("simkernel: the end of the kernel's log", tail("\n".join(machine.kernel.log.texts))))
    return [(title, text) for title, text in out if text.strip()]


def tail(text: str) -> str:
    """The last lines of a text, and how many came before."""
    lines = text.rstrip("\n").split("\n")
    before = [f"... ({len(lines) - TAIL_LINES} lines before)"] if len(lines) > TAIL_LINES else []
    return "\n".join([*before, *lines[-TAIL_LINES:]])
