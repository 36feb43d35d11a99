"""Writes docs/notebooks/*.ipynb from the cells below and executes them: python docs/notebooks/make.py"""

from __future__ import annotations

import sys
from pathlib import Path

import nbformat
from jupyter_client.kernelspec import KernelSpec
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient

HERE = Path(__file__).parent
ROOT = HERE.parent.parent


class Prose(str):
    """A cell of text; the others are code."""


KPROBE = [
    Prose("""# A kprobe, step by step

A kprobe stops a kernel at one instruction, looks at the registers, and lets it go on. Here the kernel is a simulated one, so every step can
be looked at, and every run is the same as the one before.

Run it in the project's folder: `samples/` lies there."""),
    """import simkernel

m = simkernel.boot(seed=1)
m""",
    Prose(
        """`vfs_write` is the kernel function through which every write goes. It is machine code at an address, with a name."""
    ),
    """symbol = m.kernel.symbols["vfs_write"]
f"{symbol.name} is {symbol.size} bytes at {symbol.address:#x}\"""",
    Prose("""Define a probe at its entry, in the language of Linux's `kprobe_events`: a name, a place, and what to fetch. `%dx` is the register that
holds the third argument on x86-64, the number of bytes."""),
    """m.enable_event("p:entered vfs_write count=%dx")
m.enable_event("r:returned vfs_write ret=$retval:s64")""",
    Prose(
        """The program writes 1 byte, twice 2 bytes, three times 4 bytes and so on, then makes one write that fails."""
    ),
    """writer = m.install("samples/bin/x86_64/writer")
m.record()
result = m.run([writer])
recording = m.recording(["writer"])
print(result.text)
result.events""",
    Prose("""The trace file shows the same as text; `fields` has numbers, typed by the event's `format` file."""),
    """first, answer = result.events.named("entered")[0], result.events.named("returned")[0]
first.fields, answer.fields""",
    Prose("""What did the probe see? A `struct pt_regs`: all registers as they were at that instruction. This is one as at the entry of a function that
was called with the arguments 3, 0x1000 and 64."""),
    """m.build.pt_regs(3, 0x1000, 64)""",
    Prose("""A probe pays for each hit, and so does a BPF program on it; but the same place can be watched in pairs. Entry and return make an interval,
and intervals make a latency."""),
    """from simkernel.recording.latency import intervals, percentiles

calls = intervals(recording)["probed functions"]
percentiles(calls)""",
    Prose(
        """Now the same place with a BPF program: it counts sizes by powers of two in a map. The verifier looks at it before it may run."""
    ),
    """obj = m.load("samples/obj/x86_64/writes.bpf.o")
obj.attach()
m.run([writer])
obj.maps["sizes"]""",
    """next(iter(obj.programs.values()))""",
    """%matplotlib inline
from simkernel.recording.plots import histogram

histogram(dict(obj.maps["sizes"].items()), title="bytes of a write");""",
    Prose("""And who wrote?"""),
    """obj.maps["by_process"]""",
    Prose("""Nothing here depends on the time of day, on the machine below, or on luck: another machine with the same seed sees the same events, to the
nanosecond."""),
    """other = simkernel.boot(seed=1)
for event in ("p:entered vfs_write count=%dx", "r:returned vfs_write ret=$retval:s64"):
    other.enable_event(event)
again = other.run([other.install("samples/bin/x86_64/writer")])
[event.fields for event in again.events.named("entered")] == [event.fields for event in result.events.named("entered")]""",
]

SEEDS = [
    Prose("""# One question, many seeds

How much does a second CPU help a parent that forks twenty children, and how long do tasks wait for a CPU? One run is an anecdote. A seed
decides everything random in a machine, so runs with other seeds are other samples of the same experiment, and each can be had again."""),
    """import pandas as pd

import simkernel
from simkernel import workloads
from simkernel.recording.latency import intervals, percentiles


def experiment(cpus, seed):
    with simkernel.boot(cpus=cpus, seed=seed) as m:
        m.record()
        tasks = workloads.start(m, "forker")
        m.kernel.cpus.run(lambda: all(task.exit_state for task in tasks))
        recording = m.recording(["--workload", "forker"])
    waits = percentiles(intervals(recording)["waiting for a CPU"])
    ran = sum(each.end - each.begin for each in recording.slices)
    total = recording.meta.end - recording.meta.begin
    return {"cpus": cpus, "seed": seed, "total_ms": total / 1e6, "busy_ms": ran / 1e6,
            "wait_p99_us": waits["p99"] / 1e3, "switches": recording.counters["context_switches"]}


runs = pd.DataFrame([experiment(cpus, seed) for cpus in (1, 2) for seed in range(8)])
runs.round(3)""",
    Prose(
        """The mean over seeds, with a 95 % confidence interval of Student's t with 7 degrees of freedom (its quantile is 2.365)."""
    ),
    """T = 2.365


def interval(values):
    half = T * values.std(ddof=1) / len(values) ** 0.5
    return pd.Series({"mean": values.mean(), "low": values.mean() - half, "high": values.mean() + half})


what = ["total_ms", "busy_ms", "wait_p99_us", "switches"]
summary = pd.concat({name: runs.groupby("cpus")[name].apply(interval).unstack() for name in what})
summary.round(3)""",
    Prose(
        """The seeds are the same for both machines, so the difference is taken pair by pair: what is luck of the seed falls out."""
    ),
    """pairs = runs.pivot(index="seed", columns="cpus", values="total_ms")
gain = interval(pairs[1] - pairs[2])
gain.round(3)""",
    Prose("""The interval holds 0: these children come one after the other or in pairs and mostly sleep, and a second CPU does not make a sleep shorter. A single pair of
runs could have told either story."""),
    """%matplotlib inline
import matplotlib.pyplot as plt

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.2))
for ax, name in ((left, "total_ms"), (right, "wait_p99_us")):
    rows = summary.loc[name]
    ax.errorbar(rows.index.astype(str), rows["mean"], yerr=rows["high"] - rows["mean"], fmt="o", capsize=6)
    ax.plot(runs["cpus"].astype(str), runs[name], ".", alpha=0.35, color="gray")
    ax.set_xlabel("CPUs")
    ax.set_title(name)
    ax.margins(x=0.3)
figure.tight_layout()""",
    Prose("""And when did tasks wait? A heat map of one of the runs."""),
    """from simkernel.recording.plots import heat_map

with simkernel.boot(cpus=2, seed=3) as m:
    m.record()
    tasks = workloads.start(m, "forker")
    m.kernel.cpus.run(lambda: all(task.exit_state for task in tasks))
    recording = m.recording(["--workload", "forker"])
heat_map(intervals(recording)["waiting for a CPU"], title="waiting for a CPU");""",
    """recording""",
]

NOTEBOOKS = {"kprobe.ipynb": KPROBE, "seeds.ipynb": SEEDS}


def build(cells: list[str]) -> nbformat.NotebookNode:
    """A notebook of these cells, not yet executed."""
    made = nbformat.v4.new_notebook()
    made.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    for number, cell in enumerate(cells):
        new = nbformat.v4.new_markdown_cell(cell) if isinstance(cell, Prose) else nbformat.v4.new_code_cell(cell)
        new["id"] = f"cell-{number}"
        made.cells.append(new)
    return made


class OwnKernel(AsyncKernelManager):
    """This very Python, whatever kernels the host has installed."""

    @property
    def kernel_spec(self) -> KernelSpec:
        """How it is started."""
        argv = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
        return KernelSpec(argv=argv, display_name="Python 3", language="python")


def execute(notebook: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """Run it where the samples are."""
    resources = {"metadata": {"path": str(ROOT)}}
    NotebookClient(notebook, OwnKernel(), timeout=240, resources=resources).execute()
    for cell in notebook.cells:
        cell.get("metadata", {}).pop("execution", None)  # times of the host
    return notebook


def main() -> None:
    """Write them."""
    for name, cells in NOTEBOOKS.items():
        nbformat.write(execute(build(cells)), HERE / name)


if __name__ == "__main__":
    main()
