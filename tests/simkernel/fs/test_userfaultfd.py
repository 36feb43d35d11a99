"""Who watches memory: what programs see of it is compared in calls/programs/uffd*.c."""

import simkernel
from arch.abi.userfaultfd import UFFD_FEATURE_EVENT_FORK
from simkernel.fs.userfaultfd import Context

GENERATIONS = 3000  # more than Python calls functions within functions


def test_children_of_children_that_nobody_has_heard_of_go_with_the_first() -> None:
    machine = simkernel.boot()
    task = machine.user_task()
    task.syscall("getpid")
    mm = task.task.mm
    assert mm is not None
    first = last = Context(machine.kernel, mm, 0)
    first.features = UFFD_FEATURE_EVENT_FORK
    waiting = []
    for _ in range(GENERATIONS):
        made = last.dup_userfaultfd(mm)
        assert made is not None
        last, event = made
        waiting.append(event)
    first.release()
    assert last.released
    assert all(event.over for event in waiting)
