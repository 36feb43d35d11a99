"""What system calls cost on a real machine (simkernel/kernel/call_costs.py) is virtual time here."""

import pytest

from simkernel.kernel.call_costs import CALL_NS
from simkernel.kernel.kfunc import SYSCALLS
from simkernel.machine import boot


@pytest.fixture(scope="module")
def machine():
    machine = boot()
    yield machine
    machine.close()


def spent(machine, name, *arguments):
    """(ns that the clock went on by in a call, what it gave)"""
    clock = machine.kernel.clock
    before = clock.now_ns
    answer = machine.session.syscalls.syscall(name, *arguments)
    return clock.now_ns - before, answer


def test_rows_are_of_calls_that_there_are_and_that_no_hook_answers(machine):
    assert CALL_NS.keys() <= {call.name for call in SYSCALLS}
    assert not CALL_NS.keys() & machine.kernel.shortcuts.rows.keys()


@pytest.mark.parametrize("name", ["rename", "rmdir", "times", "semctl", "timerfd_settime", "add_key"])
def test_a_call_that_is_refused_has_taken_what_it_takes_on_a_real_machine(machine, name):
    time, answer = spent(machine, name, 0, 0, 0, 0)
    assert answer <= 0 or name == "times"
    assert CALL_NS[name] <= time < CALL_NS[name] + 2000


def test_who_polls_by_a_call_without_a_row_pays_for_its_functions_alone(machine):
    assert spent(machine, "umask", 0o22)[0] < 400
    assert spent(machine, "fcntl", 0, 1)[0] < 400
