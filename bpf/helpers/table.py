"""All helpers by number: enum bpf_func_id, with the version that brought each.

Sources: include/uapi/linux/bpf.h of the released versions, compared with docs/kernel-versions.md of iovisor/bcc.  Where
the two disagree the order of the numbers decides: a helper cannot be older than one with a smaller number (bcc names 5.3
for tcp_gen_syncookie, 5.5 for jiffies64, 5.6 for xdp_output and sk_assign, 5.7 for seq_printf and csum_level; these are
the merge windows one earlier).
"""

from __future__ import annotations

from arch.abi.version import KernelVersion
from bpf.helpers import load_all
from bpf.helpers.rows import GIVEN, NUMBERS, PROTOS, ROWS, FuncProto, HelperRow

__all__ = ["GIVEN", "NUMBERS", "PROTOS", "ROWS", "FuncProto", "HelperRow", "has_helper", "helper_rows"]

load_all()  # each import declares rows


def has_helper(version: KernelVersion, number: int) -> bool:
    """A helper; which program types may call it is another table's matter."""
    row = ROWS.get(number)
    return row is not None and version.at_least(row.since)


def helper_rows() -> list[HelperRow]:
    """All rows by number."""
    return [row for _, row in sorted(ROWS.items())]
