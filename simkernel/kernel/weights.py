"""How much of a CPU a task wants: the weights of nice values.  kernel/sched/core.c."""

from __future__ import annotations

from arch.abi.sched import SCHED_IDLE

# Weight of nice -20 .. 19: kernel/sched/core.c, sched_prio_to_weight.
WEIGHTS = (
    88761, 71755, 56483, 46273, 36291, 29154, 23254, 18705, 14949, 11916, 9548, 7620, 6100, 4904, 3906, 3121, 2501,
    1991, 1586, 1277, 1024, 820, 655, 526, 423, 335, 272, 215, 172, 137, 110, 87, 70, 56, 45, 36, 29, 23, 18, 15,
)  # fmt: skip


WEIGHT_IDLEPRIO = 3
NICE_0_LOAD = 1024


def weight_of(policy: int, static_prio: int) -> int:
    """set_load_weight(): an idle task's is next to nothing."""
    if policy == SCHED_IDLE:
        return WEIGHT_IDLEPRIO
    return WEIGHTS[static_prio - 100] if 100 <= static_prio < 140 else WEIGHTS[20]
