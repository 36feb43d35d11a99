"""Arguments of tracepoints that may be NULL, or an errno in a pointer, in spite of their type: raw_tp_null_args of kernel/bpf/btf.c.

A row is `tracepoint arguments since`; an argument's number from 0, with `e` behind it where it may be an errno, so that programs
see a number.  Without rows of modules, whose tracepoints nobody can name here.  Since 6.13; Debian's 6.12 has it.
"""

from __future__ import annotations

from functools import cache
from typing import Final

from arch.abi.version import KernelVersion

_ODD_ARGUMENTS: Final = """
sched_process_wait           0   6.12
sched_pi_setprio             1   6.12
sched_stick_numa             2   6.12
sched_swap_numa              2   6.12
signal_generate              1e  6.12
signal_deliver               1e  6.12
tmigr_update_events          0   6.12
mm_page_alloc                0   6.12
mm_page_alloc_zone_locked    0   6.12
mm_page_pcpu_drain           0   6.12
mm_khugepaged_scan_pmd       1   6.12
mm_collapse_huge_page_isolate 0  6.12
mm_khugepaged_scan_file      1   6.13
mm_khugepaged_collapse_file  1   6.13
hugetlbfs_alloc_inode        1   6.13
writeback_dirty_folio        1   6.12
folio_wait_writeback         1   6.12
posix_lock_inode             1   6.12
fcntl_setlk                  1   6.12
locks_remove_posix           1   6.12
flock_lock_inode             1   6.12
break_lease_noblock          1   6.12
break_lease_block            1   6.12
break_lease_unblock          1   6.12
generic_delete_lease         1   6.12
time_out_leases              1   6.12
kfree_skb                    3   6.12
tcp_send_reset               0,1 6.12
tcp_sendmsg_locked           2   6.15
fib_table_lookup             2   6.12
qdisc_dequeue                3   6.12
"""

MAY_BE_NULL, MAY_BE_ERRNO = "null", "errno"


@cache
def raw_tp_arguments(version: KernelVersion) -> dict[tuple[str, int], str]:
    """(Tracepoint, argument): MAY_BE_NULL or MAY_BE_ERRNO."""
    found = {}
    for line in _ODD_ARGUMENTS.strip().split("\n"):
        name, arguments, since = line.split()
        if version.at_least(since):
            for argument in arguments.split(","):
                found[name, int(argument.rstrip("e"))] = MAY_BE_ERRNO if argument.endswith("e") else MAY_BE_NULL
    return found
