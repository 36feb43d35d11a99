"""pytest plugin: the `machine` fixture and `@pytest.mark.simkernel(arch=[...], kernel=[...])`.

    @pytest.mark.simkernel(arch=["x86_64", "s390x"], kernel=["5.10", "6.1"])
    def test_my_tool(machine):
        result = machine.run(["./writer"])

Each combination is a test of its own, named `[x86_64-5.10]` and so on.  Other keyword arguments of the mark go to
`simkernel.boot` unchanged (`cpus=1`, `seed=7`, `binds=[...]`).  With `setup=function` the machine is booted and prepared by
`function(machine)` once in a session, and each test gets a copy of it (simkernel/copies.py), in a process of its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from arch.architecture import DEFAULT

if TYPE_CHECKING:
    from simkernel.copies import Template
    from simkernel.machine import Machine


def pytest_configure(config: pytest.Config) -> None:
    """Declare the mark."""
    config.addinivalue_line(
        "markers", "simkernel(arch=[...], kernel=[...], **boot): boot a simulated machine per combination"
    )


def _as_list(value: object) -> list[object]:
    return list(value) if isinstance(value, (list, tuple)) else [value]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Make one test per architecture and kernel version of the mark."""
    if "machine" not in metafunc.fixturenames:
        return
    mark = metafunc.definition.get_closest_marker("simkernel")
    options = dict(mark.kwargs) if mark else {}
    arches = _as_list(options.pop("arch", DEFAULT))
    kernels = _as_list(options.pop("kernel", "6.1"))
    combinations = [{**options, "arch": a, "kernel": k} for a in arches for k in kernels]
    metafunc.parametrize("machine", combinations, ids=lambda c: f"{c['arch']}-{c['kernel']}", indirect=True)


_TEMPLATE: pytest.StashKey[Template] = pytest.StashKey()  # of a test whose machine is a copy
_TEMPLATES: pytest.StashKey[dict[str, Template]] = pytest.StashKey()  # of the session


@pytest.fixture
def machine(request: pytest.FixtureRequest) -> Machine:
    """A freshly booted machine, as the `simkernel` mark of the test asks for."""
    import simkernel

    if "setup" not in request.param:
        return simkernel.boot(**request.param)
    templates = request.config.stash.setdefault(_TEMPLATES, {})
    key = repr(request.param)
    if key not in templates:
        templates[key] = simkernel.template(**request.param)
    request.node.stash[_TEMPLATE] = templates[key]
    return templates[key].machine


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """A test on a copy runs in the copy's process; what it raises comes back."""
    template = pyfuncitem.stash.get(_TEMPLATE, None)
    if template is None:
        return None
    arguments = {name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames}

    def work(machine: Machine) -> None:
        pyfuncitem.obj(**arguments)

    template.run(work)
    return True
