"""The sample objects on the machine: loaded, attached, and right about what the sample programs do."""

from pathlib import Path

import pytest

import simkernel
from bpf.loader.errors import LoadError
from tests.kconfig import typed

SAMPLES = Path(__file__).resolve().parents[3] / "samples"
ARCHES = ["x86_64", "arm64", "riscv64", "s390x"]


def boot(arch, kernel="6.1"):
    binds = [(str(SAMPLES / "bin" / arch), "/samples", False)]
    return simkernel.boot(arch=arch, kernel=kernel, binds=binds, config=typed(arch))


def attached(machine, arch, name):
    obj = machine.load(SAMPLES / "obj" / arch / f"{name}.bpf.o")
    obj.attach()
    return obj


@pytest.mark.parametrize("kernel", ["6.1", "5.10"])
@pytest.mark.parametrize("arch", ARCHES)
def test_writes(arch, kernel):
    machine = boot(arch, kernel)
    obj = attached(machine, arch, "writes")
    assert machine.run(["/samples/writer"]).stdout == b"wrote 98305 bytes in 91 writes\n"
    sizes = {k: v for k, v in obj.maps["sizes"].items() if v}
    expected = {power: power + 1 for power in range(13)}
    expected[4] += 1  # the line on stdout, 31 bytes
    assert sizes == expected
    ((_, totals),) = obj.maps["by_process"].items()
    assert totals == {"writes": 93, "bytes": 98336, "failed": 1}
    assert "bpf_trace_printk: wrote 4096 of 4096 bytes" in machine.trace_pipe()


@pytest.mark.parametrize("arch", ARCHES)
def test_syscalls(arch):
    machine = boot(arch)
    obj = attached(machine, arch, "syscalls")
    machine.run(["/samples/hello", "a", "b"])
    counts = sorted((v["count"], v["errors"]) for k, v in obj.maps["calls"].items() if k["pid"] > 100)
    assert (5, 0) in counts  # five writes


@pytest.mark.parametrize("kernel", ["6.1", "5.10"])
@pytest.mark.parametrize("arch", ARCHES)
def test_static_probes(arch, kernel):
    """By the BPF cookie, and on 5.10 by the instruction pointer."""
    machine = boot(arch, kernel)
    obj = attached(machine, arch, "requests")
    machine.run(["/samples/server", "30"])
    assert {k["name"]: v for k, v in obj.maps["requests"].items()} == {"/": 10, "/about": 10, "/search": 10}
    assert sum(v for _, v in obj.maps["latency"].items()) == 30
    assert bool(dict(obj.maps["__bpf_usdt_ip_to_spec_id"].items())) == (kernel == "5.10")
    before = obj.bss.missing
    for link in obj.links:
        link.destroy()
    machine.run(["/samples/server", "30"])
    assert obj.bss.missing == before


@pytest.mark.parametrize("arch", ARCHES)
def test_user_probes(arch):
    machine = boot(arch)
    obj = attached(machine, arch, "functions")
    result = machine.run(["/samples/server"])
    if result.signal == 4 and arch in ("riscv64", "s390x"):
        pytest.skip("return probes of user space do not work here yet")
    assert result.status == 0 and obj.bss.calls == 12
    assert dict(obj.maps["results"].items()) == {200: 9, 404: 3}


@pytest.mark.parametrize("kernel", ["6.1", "5.10"])
@pytest.mark.parametrize("arch", ARCHES)
def test_core(arch, kernel):
    """`state` was renamed in 5.14: one object for both."""
    machine = boot(arch, kernel)
    obj = attached(machine, arch, "tasks")
    machine.run(["/samples/hello"])
    names = {k["comm"] for k, v in obj.maps["switches"].items()}
    assert {"hello", "init"} <= names
    assert any(k["comm"] == "hello" and k["parent"] == 1 for k, _ in obj.maps["switches"].items())


def test_objects_of_2015_on_their_kernel():
    machine = boot("x86_64", "4.1")
    obj = machine.load(SAMPLES / "obj/x86_64/tracex2.bpf.o")
    obj.attach()
    machine.run(["/samples/writer"])
    sizes = {k: v for k, v in obj.maps["sizes"].items() if v}
    assert sizes[12] == 13 and sizes[0] == 1


def test_a_kernel_without_global_data_says_so():
    with pytest.raises(LoadError, match="global data"):
        boot("x86_64", "4.18").load(SAMPLES / "obj/x86_64/requests.bpf.o")
