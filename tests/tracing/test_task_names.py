"""Names of tasks in a trace: noted when a CPU that has written switches, as 6.1 does.  kernel/trace/trace_sched_switch.c."""

import pytest

from arch.abi.errno import EINVAL
from arch.errors import KernelError
from tests.tracing.fakes import cat, echo, machine


@pytest.fixture
def tracing():
    return machine("6.1", cpus=1)


def switch(tracing, old, new):
    prev, following = (tracing.host.task_struct(comm, pid) for comm, pid in (old, new))
    tracing.trace("sched_switch", 0, prev, following, 1)


def names(tracing):
    return [line.split()[0] for line in cat(tracing, "trace").splitlines() if not line.startswith("#")]


def fire(tracing, pid):
    tracing.host.pid = pid
    tracing.trace("sched_process_exit", tracing.host.task_struct("x", pid))


def test_a_task_gets_its_name_when_it_is_switched(tracing):
    echo(tracing, "events/sched/sched_process_exit/enable", "1")
    fire(tracing, 77)
    assert names(tracing) == ["<...>-77"]
    switch(tracing, ("cat", 77), ("sh", 78))
    assert names(tracing) == ["cat-77"]
    assert cat(tracing, "saved_cmdlines") == "77 cat\n78 sh\n"
    switch(tracing, ("renamed", 77), ("sh", 78))  # nothing was written since
    assert names(tracing) == ["cat-77"]
    fire(tracing, 77)
    switch(tracing, ("renamed", 77), ("sh", 78))
    assert names(tracing) == ["renamed-77", "renamed-77"]


def test_a_smaller_memory_forgets_all_names(tracing):
    echo(tracing, "events/sched/sched_process_exit/enable", "1")
    fire(tracing, 77)
    switch(tracing, ("cat", 77), ("sh", 78))
    echo(tracing, "saved_cmdlines_size", "4")
    assert cat(tracing, "saved_cmdlines_size") == "6552\n"
    assert (cat(tracing, "saved_cmdlines"), names(tracing)) == ("", ["<...>-77"])


def test_without_the_option_no_names(tracing):
    echo(tracing, "events/sched/sched_process_exit/enable", "1")
    echo(tracing, "options/record-cmd", "0")
    fire(tracing, 77)
    switch(tracing, ("cat", 77), ("sh", 78))
    assert names(tracing) == ["<...>-77"]
    echo(tracing, "options/record-cmd", "1")
    switch(tracing, ("cat", 77), ("sh", 78))
    assert names(tracing) == ["cat-77"]
    assert not tracing.tracepoints["sched_wakeup"].active or tracing.board.tasks.cmdline_users == 1
    echo(tracing, "events/sched/sched_process_exit/enable", "0")
    assert not tracing.tracepoints["sched_switch"].active and not tracing.board.tasks.cmdline_users


def test_room_for_names_is_whole_blocks_of_pages(tracing):
    """As 5.10 to 7.2 answer each of these."""
    for asked, room in ((1, 6552), (128, 6552), (6552, 6552), (32768, 45874)):
        echo(tracing, "saved_cmdlines_size", str(asked))
        assert cat(tracing, "saved_cmdlines_size") == f"{room}\n"
    for asked in (0, 32769, 1 << 30, 1 << 63):
        with pytest.raises(KernelError) as refused:
            echo(tracing, "saved_cmdlines_size", str(asked))
        assert refused.value.errno == EINVAL
