"""Chains that a program may make as long as it likes: nothing recurses over them."""

from __future__ import annotations

import struct
from itertools import pairwise

import simkernel

LONG = 1300  # more than Python's stack
ELOOP = -40


def test_epolls_in_epolls_end_at_a_depth_from_both_ends() -> None:
    """Since the stable releases of 2025 epoll_ctl(2) counts upwards, too; a chain could be as long as one liked."""
    for downwards in (True, False):
        with simkernel.boot() as m:
            task = m.user_task()
            event = task.alloc(16)
            task.write(event, struct.pack("<IQ", 1, 0))
            chain = [task.syscall("epoll_create1", 0) for _ in range(40)]
            pairs = list(pairwise(chain))
            said = [task.syscall("epoll_ctl", a, 1, b, event) for a, b in (pairs if downwards else reversed(pairs))]
            assert said[:5] == [0, 0, 0, 0, ELOOP] and set(said) == {0, ELOOP}
            assert task.syscall("epoll_ctl", chain[1], 1, chain[0], event) == ELOOP, "a circle"


def test_a_long_chain_of_processes_is_ended() -> None:
    def link(left: int):
        def program(u):
            if left:
                yield u.fork(link(left - 1))
            yield u.pause()

        return program

    with simkernel.boot() as m:
        assert m.wait(m.workload(link(LONG)), timeout_virtual_ns=300_000_000).timed_out == "deadlock"
        assert m.session.read_file("/proc/uptime")
