"""A simulated computer with a Linux-shaped kernel, for tracing and eBPF without a real one.

The computer and its kernel: machine, boot, versions, tasks, scheduler, memory maps, exec, system calls, files, and the
faces that people use: Python, the command line and the pytest plugin.

    import simkernel

    m = simkernel.boot(arch="x86_64", kernel="6.1", cpus=2, seed=0)
    obj = m.load("prog.bpf.o")
    obj.attach()
    m.run(["/bin/busybox", "echo", "hello"])
"""

from __future__ import annotations

from simkernel.own_command import end_quietly, is_command

end_quietly()

from typing import TYPE_CHECKING, Any  # noqa: E402

from simkernel.own_floors import check_or_exit  # noqa: E402

check_or_exit()

if is_command():
    from simkernel import kept_code

    kept_code.use()

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from simkernel.copies import Template
    from simkernel.experiments.points import Scalar
    from simkernel.experiments.results import Sweep
    from simkernel.machine import Machine, MachineError, NeverHappened, Oops, Result, boot

__all__ = ["Machine", "MachineError", "NeverHappened", "Oops", "Result", "__version__", "boot", "sweep", "template"]
__version__ = "0.1.0"  # pyproject.toml reads it from here


def template(setup: Callable[[Machine], object] | None = None, **options: Any) -> Template:
    """A machine booted with these options (see boot) and prepared by `setup`, from which copies start in milliseconds."""
    from simkernel import machine
    from simkernel.copies import Template

    made = machine.boot(**options)
    if setup is not None:
        setup(made)
    return Template(made)


def sweep(
    experiment: Callable[..., Mapping[str, Scalar]],
    grid: Mapping[str, Iterable[Scalar]] | None = None,
    seeds: Iterable[int] = range(10),
    **options: Any,
) -> Sweep:
    """An experiment at every point of a grid, each in a machine of its own (simkernel/experiments/run.py has the options)."""
    from simkernel.experiments.run import sweep

    return sweep(experiment, grid, seeds, **options)


def __getattr__(name: str) -> Any:
    """The public names come from simkernel.machine when they are first used, so that importing a part stays quick."""
    if name in __all__:
        from simkernel import machine

        return getattr(machine, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
