"""How long loading takes: headers and BTF of the kernel, opening an object, loading and attaching it, probes of user space.

Run: python -m bench loader_objects.  Each line is the median of some repetitions; the last lines are per event, beside
the same program without the probe.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from pathlib import Path

import simkernel
from arch.abi.version import NEWEST
from arch.architecture import get
from arch.typetable import TypeTable, kernel_types
from bpf.btf import Btf
from bpf.btf.check import btf_parse
from bpf.btf.dump import dump_c
from bpf.btf.vmlinux import vmlinux
from bpf.loader.object import BpfObject

SAMPLES = Path(__file__).resolve().parent.parent / "samples"
REPETITIONS = 7


def median_ms(work: Callable[[], object]) -> float:
    times = []
    for _ in range(REPETITIONS):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return 1000 * statistics.median(times)


def show(what: str, ms: float) -> None:
    print(f"{what:60} {ms:10.2f} ms")


def headers() -> TypeTable:
    table = kernel_types(get("x86_64"), NEWEST)
    return table


def objects() -> None:
    show("index the kernel's headers", median_ms(headers))
    show("... and lay out struct task_struct", median_ms(lambda: headers().sizeof("struct task_struct")))
    show("... and make the kernel's BTF of all types", median_ms(lambda: vmlinux(headers())))
    btf = vmlinux(headers())
    raw = btf.encode()
    show(f"read that BTF ({len(raw) >> 10} KiB, {len(btf)} types)", median_ms(lambda: Btf.parse(raw)))
    show("check it as BPF_BTF_LOAD does", median_ms(lambda: btf_parse(raw, want_log=False)))
    show("print it as vmlinux.h", median_ms(lambda: dump_c(btf)))
    data = (SAMPLES / "obj/x86_64/requests.bpf.o").read_bytes()
    show(f"open an object ({len(data) >> 10} KiB)", median_ms(lambda: BpfObject(data, "requests")))


def machine() -> simkernel.Machine:
    return simkernel.boot(binds=[(str(SAMPLES / "bin/x86_64"), "/samples", False)])


def loading() -> None:
    for name in ("writes", "syscalls", "tasks", "functions", "requests"):
        load, attach = [], []
        for _ in range(3):
            m = machine()
            obj = m.session.open(SAMPLES / f"obj/x86_64/{name}.bpf.o")
            start = time.perf_counter()
            m.session.load(obj)
            loaded = time.perf_counter()
            obj.attach()
            load.append(loaded - start)
            attach.append(time.perf_counter() - loaded)
            m.close()
        show(f"load {name} (probing, maps, relocation, verifier)", 1000 * statistics.median(load))
        show(f"attach {name}", 1000 * statistics.median(attach))


def per_event(requests: int = 3000) -> None:
    """The server answers many requests: two static probes and one function each."""

    def run(name: str | None) -> float:
        m = machine()
        if name is not None:
            m.load(SAMPLES / f"obj/x86_64/{name}.bpf.o").attach()
        start = time.perf_counter()
        result = m.run(["/samples/server", str(requests)])
        assert result.status == 0
        took = time.perf_counter() - start
        m.close()
        return took

    plain = min(run(None) for _ in range(2))
    for name, what in (
        ("functions", "uprobe and uretprobe of a function"),
        ("requests", "two static probes, 5 arguments"),
    ):
        extra = min(run(name) for _ in range(2)) - plain
        print(f"{what:60} {1e9 * extra / requests:10,.0f} ns per request")


def main() -> None:
    objects()
    loading()
    per_event()


if __name__ == "__main__":
    main()
