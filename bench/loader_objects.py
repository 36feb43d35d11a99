"""How long loading takes: headers and BTF of the kernel, opening an object, loading and attaching it, probes of user space.

    python -m bench.loader_objects [--json]

Milliseconds of processor time; the last rows are per event, less the same program without the probe.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import simkernel
from arch.abi.version import NEWEST
from arch.architecture import get
from arch.typetable import TypeTable, kernel_types
from bench._rows import Row, cpu_ns, report
from bpf.btf import Btf
from bpf.btf.check import btf_parse
from bpf.btf.dump import dump_c
from bpf.btf.vmlinux import vmlinux
from bpf.loader.object import BpfObject

SAMPLES = Path(__file__).resolve().parent.parent / "samples"
REPETITIONS = 7


def row(what: str, work: Callable[[], object]) -> Row:
    return Row(what, [cpu_ns(work) / 1e6 for _ in range(REPETITIONS)], "ms")


def headers() -> TypeTable:
    table = kernel_types(get("x86_64"), NEWEST)
    return table


def objects() -> list[Row]:
    btf = vmlinux(headers())
    raw = btf.encode()
    data = (SAMPLES / "obj/x86_64/requests.bpf.o").read_bytes()
    return [
        row("index the kernel's headers", headers),
        row("... and lay out struct task_struct", lambda: headers().sizeof("struct task_struct")),
        row("... and make the kernel's BTF of all types", lambda: vmlinux(headers())),
        row(f"read that BTF ({len(raw) >> 10} KiB, {len(btf)} types)", lambda: Btf.parse(raw)),
        row("check it as BPF_BTF_LOAD does", lambda: btf_parse(raw, want_log=False)),
        row("print it as vmlinux.h", lambda: dump_c(btf)),
        row(f"open an object ({len(data) >> 10} KiB)", lambda: BpfObject(data, "requests")),
    ]


def machine() -> simkernel.Machine:
    return simkernel.boot(binds=[(str(SAMPLES / "bin/x86_64"), "/samples", False)])


def loading() -> list[Row]:
    rows = []
    for name in ("writes", "syscalls", "tasks", "functions", "requests"):
        load, attach = [], []
        for _ in range(3):
            m = machine()
            obj = m.session.open(SAMPLES / f"obj/x86_64/{name}.bpf.o")
            start = time.process_time()
            m.session.load(obj)
            loaded = time.process_time()
            obj.attach()
            load.append(1000 * (loaded - start))
            attach.append(1000 * (time.process_time() - loaded))
            m.close()
        rows.append(Row(f"load the sample {name}: probing, maps, relocation, verifier", load, "ms"))
        rows.append(Row(f"attach {name}", attach, "ms"))
    return rows


def per_event(requests: int = 3000) -> list[Row]:
    """The server answers many requests: two static probes and one function each."""

    def run(name: str | None) -> float:
        m = machine()
        if name is not None:
            m.load(SAMPLES / f"obj/x86_64/{name}.bpf.o").attach()
        start = time.process_time()
        result = m.run(["/samples/server", str(requests)])
        assert result.status == 0
        took = time.process_time() - start
        m.close()
        return took

    plain = min(run(None) for _ in range(3))
    rows = []
    for name, what in (
        ("functions", "uprobe and uretprobe of a function"),
        ("requests", "two static probes, 5 arguments"),
    ):
        rows.append(Row(f"{what}, a request", [1e9 * (run(name) - plain) / requests for _ in range(3)]))
    return rows


def main() -> None:
    report([*objects(), *loading(), *per_event()])


if __name__ == "__main__":
    main()
