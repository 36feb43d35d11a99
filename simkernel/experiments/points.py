"""One point of a sweep: parameters, and what the experiment measured with them."""

from __future__ import annotations

import hashlib
import importlib.util
import itertools
import json
import math
import shlex
import time
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from types import ModuleType

from arch.errors import KernelError
from arch.hosttime import HOST, HostStop
from arch.records import dataclass
from simkernel.bug import Oops
from simkernel.copies import ChildLate, Template
from simkernel.machine import Machine, MachineError, boot
from simkernel.packed import ChildError

Scalar = int | float | str | bool
Experiment = Callable[..., Mapping[str, Scalar]]
BOOT = ("arch", "kernel", "cpus", "seed", "memory")  # parameters of a point that boot() takes
GRACE_S = 1.0  # of real time, for a point that is over its limit to end by itself
MAX_POINTS = 1_000_000
SEED_MACHINES = 4  # booted machines that are kept for points that differ in their own parameters only


class SweepError(ValueError):
    """The experiment cannot be run as asked: a sentence for a person."""


@dataclass(frozen=True)
class Point:
    """What is asked: the file and function of the experiment, and values by name."""

    file: str
    function: str
    values: tuple[tuple[str, Scalar], ...]
    limit_s: float = 0.0  # host time; 0: any

    @property
    def parameters(self) -> dict[str, Scalar]:
        return dict(self.values)

    @property
    def key(self) -> str:
        """Its name in a journal: a changed file is another experiment."""
        content = hashlib.sha256(Path(self.file).read_bytes()).hexdigest()[:16]
        return f"{Path(self.file).name}:{self.function} {content} {json.dumps(self.parameters, sort_keys=True)}"

    @property
    def command(self) -> str:
        """What repeats this row."""
        only = [word for name, value in self.values for word in ("--only", f"{name}={value}")]
        return shlex.join(["simkernel", "sweep", self.file, *only])


@dataclass(frozen=True)
class Row:
    """What came of it: `error` is "" or why there are no measurements."""

    parameters: dict[str, Scalar]
    measured: dict[str, Scalar]
    error: str
    command: str
    host_s: float = 0.0

    def as_dict(self) -> dict[str, object]:
        """For a journal."""
        return asdict(self)

    def flat(self) -> dict[str, object]:
        """One line of a table.  (The host's time is no result: it is left out.)"""
        return {**self.parameters, **self.measured, "error": self.error, "command": self.command}


def row_again(data: Mapping[str, object]) -> Row:
    """From a journal; TypeError if it is none."""
    return Row(**data)  # type: ignore[arg-type]  # a line of JSON


def points(
    file: str, function: str, grid: Mapping[str, Iterable[Scalar]], seeds: Iterable[int], limit_s: float = 0.0
) -> list[Point]:
    """All combinations, seed innermost; SweepError for what is no grid."""
    columns: dict[str, Sequence[Scalar]] = {}
    for name, values in grid.items():
        if isinstance(values, str) or not isinstance(values, Iterable):
            raise SweepError(f"the values of {name!r} are no list")
        columns[name] = list(itertools.islice(values, MAX_POINTS + 1))
    if unnamed := [name for name in columns if not isinstance(name, str)]:
        raise SweepError(f"{unnamed[0]!r} is no name of a parameter")
    columns.setdefault("seed", list(itertools.islice(seeds, MAX_POINTS + 1)))
    for name, values in columns.items():
        if not values:
            raise SweepError(f"{name!r} has no values")
        if strange := [value for value in values if not isinstance(value, Scalar)]:
            raise SweepError(f"{name!r} has the value {strange[0]!r}, which is no number and no word")
    if math.prod(map(len, columns.values())) > MAX_POINTS:
        raise SweepError(f"more than {MAX_POINTS:,} points: take fewer values or seeds")
    names = list(columns)
    return [
        Point(file, function, tuple(zip(names, values)), limit_s) for values in itertools.product(*columns.values())
    ]


_modules: dict[str, ModuleType] = {}
_machines: dict[tuple[tuple[str, Scalar], ...], Template] = {}


def load(file: str) -> ModuleType:
    """The module of an experiment; SweepError."""
    if file not in _modules:
        path = Path(file)
        if not path.is_file():
            raise SweepError(f"{file}: no such file")
        spec = importlib.util.spec_from_file_location(f"simkernel_sweep_{path.stem}", path)
        if spec is None or spec.loader is None:
            raise SweepError(f"{file}: no Python program: its name does not end in .py")
        module = importlib.util.module_from_spec(spec)
        try:
            spec.loader.exec_module(module)
        except Exception as error:
            raise SweepError(f"{file}: {type(error).__name__}: {error}") from None
        _modules[file] = module
    return _modules[file]


def experiment_of(file: str, function: str) -> Experiment:
    """The function; SweepError."""
    found = vars(load(file)).get(function)
    if not callable(found):
        raise SweepError(f"{file}: there is no function {function}(machine, ...)")
    made: Experiment = found
    return made


def run_point(point: Point) -> Row:
    """In a copy of a machine booted with the point's parameters."""
    begin = time.perf_counter()
    parameters = point.parameters
    own = {name: value for name, value in parameters.items() if name not in BOOT}
    options = tuple((name, value) for name, value in parameters.items() if name in BOOT)

    def row(measured: dict[str, Scalar], error: str) -> Row:
        return Row(parameters, measured, error, point.command, round(time.perf_counter() - begin, 3))

    try:
        experiment = experiment_of(point.file, point.function)
        if options not in _machines:
            while len(_machines) >= SEED_MACHINES:
                _machines.pop(next(iter(_machines))).close()
            _machines[options] = Template(boot(**dict(options)))  # type: ignore[arg-type]  # boot() checks them
        work = partial(_measure, experiment=experiment, own=own, limit_s=point.limit_s)
        return row(_machines[options].run(work, point.limit_s + GRACE_S if point.limit_s else None), "")
    except ChildLate:  # it sleeps, or takes HostStop for an error
        return row({}, f"not done within {point.limit_s:g} s")
    except (ChildError, KernelError, MachineError, ValueError, TypeError, OverflowError, MemoryError) as error:
        return row({}, str(error).strip() or type(error).__name__)


def _measure(machine: Machine, experiment: Experiment, own: Mapping[str, Scalar], limit_s: float) -> dict[str, Scalar]:
    """In the copy: numbers by name."""
    try:
        with HOST.limit(limit_s or None):
            measured = experiment(machine, **own)
    except HostStop:
        raise SweepError(f"not done within {limit_s:g} s") from None
    except Oops as oops:
        raise SweepError(f"oops: {oops.text.splitlines()[0] if oops.text else oops}") from None
    except Exception as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        raise SweepError(f"{Path(place.filename).name}:{place.lineno}: {type(error).__name__}: {error}") from None
    if not isinstance(measured, Mapping) or not all(isinstance(each, Scalar) for each in measured.values()):
        raise SweepError("an experiment returns numbers or words by name")
    return dict(measured)
