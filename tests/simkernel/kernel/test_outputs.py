"""Programs that put records out, with readers who sleep until there is one: the same bytes, times and switches on both tiers."""

from pathlib import Path

import pytest

import simkernel
from arch.native.handler import Tier
from bpf.core.program import COLD_RUNS
from simkernel.kernel import shortcuts

PROGRAM = Path(__file__).parent / "programs" / "bin" / "x86_64" / "outputs"
CASES = (
    "ring late 0 60 0 0", "ring late 0 300 0 0", "ring poll 7 60 0 0", "ring epoll 7 60 0 0", "ring epoll 7 60 1 0",
    "ring poll 7 60 2 0", "ring epoll 9 400 2 0", "perf late 0 60 0 0", "perf late 0 900 64 0", "perf late 0 200 260 7",
    "perf late 0 900 1 1", "perf late 0 60 0 0 kprobe", "perf late 0 60 0 0 tracepoint",
    "ring poll 7 60 0 0 kprobe", "ring epoll 7 60 0 0 tracepoint", "perf epoll 7 60 0 1", "perf poll 9 60 4 8",
)  # fmt: skip


def told(monkeypatch, tier, case, cpus):
    """All that can be seen of a run, and how many calls were answered in the hook with their listener visited there."""
    monkeypatch.setenv("SIMKERNEL_TIER", tier)
    machine = simkernel.boot(cpus=cpus)
    k = machine.kernel
    result = machine.run([machine.install(PROGRAM), *case.split()])
    seen = {
        "output": (result.status, result.stdout, result.stderr),
        "now": k.clock.now_ns,
        "counts": dict(k.syscalls.counts),
        "switches": k.cpus.nr_switches,
        "memory": k.mem.live_objects,
    }
    visits = [walk.visits for walks in k.shortcuts.walks.values() for walk in walks]
    machine.close()
    return seen, sum(visits)


@pytest.mark.parametrize("cpus", [1, 2])
@pytest.mark.parametrize("case", CASES)
def test_the_same_bytes(monkeypatch, case, cpus):
    python, visits = told(monkeypatch, "python", case, cpus)
    assert visits == 0
    assert python["output"][0] == 0
    native, visits = told(monkeypatch, "native", case, cpus)
    assert native == python
    woken = case.split()[4] == "2" or ("perf" in case and "poll" in case)  # each record may wake
    runs_at_once = python["switches"] > int(case.split()[3])  # the reader, beside a writer that owes its first turn
    if not woken and not runs_at_once:
        assert visits > 20  # most of them: only what wakes leaves the hook
    monkeypatch.setitem(shortcuts.HOT_CALLS, Tier.AUTO, 9)
    monkeypatch.setitem(COLD_RUNS, Tier.AUTO, 7)
    mixed, _ = told(monkeypatch, "", case, cpus)
    assert mixed == python
