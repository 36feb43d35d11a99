"""How many namespaces there may be: user.max_*_namespaces.  kernel/ucount.c.

Each is on the account of who made it, in the user namespace where that happened, and on those of the owners of all user namespaces
above.  An account is added up when a limit is near: what counts is what somebody still is in, or holds open.
"""

from __future__ import annotations

from collections.abc import Callable

from arch.abi.errno import ENOSPC
from arch.abi.limits import INT_MAX
from arch.errors import KernelError
from simkernel.kernel.namespaces import KINDS, Namespace
from simkernel.kernel.task import Task
from simkernel.kernel.user_namespace import state_of

Account = tuple[Namespace | None, int]  # a user namespace and a user there
SWEEP = 16
InUse = Callable[[list[Namespace]], set[int]]  # ids of those that are


def limit_name(kind: str) -> str:
    """The row of /proc/sys/user."""
    return f"user.max_{kind}_namespaces"


class Ucounts:
    """`k.vfs.namespaces.ucounts`: struct ucounts of all users, and ucount_max of all user namespaces."""

    def __init__(self) -> None:
        self.in_use: InUse = lambda candidates: {id(each) for each in candidates}  # fs/nsproxy.py puts its own here
        self.limits: dict[tuple[int, str], int] = {}  # by the address of a user namespace; 0 is the initial one
        self.made: dict[str, list[tuple[Namespace, list[Account]]]] = {kind: [] for kind in KINDS}
        self.sweep_at = dict.fromkeys(KINDS, SWEEP)  # so many rows of a kind are looked through for those that are gone

    def limit(self, namespace: Namespace | None, kind: str) -> int:
        """ucount_max of a user namespace."""
        return self.limits.get((_address(namespace), kind), INT_MAX)

    def set_limit(self, namespace: Namespace | None, kind: str, value: int) -> None:
        """A write to the file of one who is in that namespace."""
        self.limits[_address(namespace), kind] = value

    def accounts(self, task: Task, owner: Namespace | None) -> list[Account]:
        """Who is charged for what a task makes in a user namespace."""
        found, uid = [], task.cred.euid
        while owner is not None:
            found.append((owner, uid))
            uid, owner = state_of(owner).uid, state_of(owner).parent
        return [*found, (None, uid)]

    def check(self, kind: str, charged: list[Account]) -> None:
        """inc_ucount(), before it is made.  ENOSPC."""
        held = self.made[kind]
        near = any(len(held) >= self.limit(namespace, kind) for namespace, _ in charged)
        if near or len(held) >= self.sweep_at[kind]:
            alive = self.in_use([namespace for namespace, _ in held])
            held[:] = [row for row in held if id(row[0]) in alive]
            self.sweep_at[kind] = 2 * len(held) + SWEEP
        if not near:
            return
        for account in charged:
            if sum(account in accounts for _, accounts in held) >= self.limit(account[0], kind):
                raise KernelError(ENOSPC, limit_name(kind))

    def charge(self, namespace: Namespace, charged: list[Account]) -> None:
        """It was made."""
        self.made[namespace.kind].append((namespace, charged))


def _address(namespace: Namespace | None) -> int:
    return 0 if namespace is None else state_of(namespace).addr
