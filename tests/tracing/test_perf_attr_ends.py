"""A perf_event_attr that says it is longer than the memory it is in: a real 6.1 said E2BIG to a program whose stack ended behind it."""

import pytest

import simkernel
from arch.abi.errno import E2BIG, EFAULT

PAGE = 4096


@pytest.mark.parametrize(("behind", "errno"), [(b"\0", EFAULT), (b"\1", E2BIG)])
def test_what_is_not_zero_is_found_before_the_end_of_memory(behind, errno):
    with simkernel.boot("x86_64", "6.1") as machine:
        calls, task = machine.session.syscalls, machine.session.task
        area = calls.syscall("mmap", 0, 2 * PAGE, 3, 0x22, -1, 0)  # private, anonymous
        assert calls.syscall("munmap", area + PAGE, PAGE) == 0
        attr = task.pack("IIQ", 1, PAGE, 9).ljust(200, b"\0") + behind
        calls.write(area + PAGE - len(attr), attr)
        assert calls.syscall("perf_event_open", area + PAGE - len(attr), 0, -1, -1, 0) == -errno
