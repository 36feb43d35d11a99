"""What a struct cred points to: struct user_struct and struct ucounts of its user, struct group_info.  kernel/user.c, ucount.c, groups.c.

A user's structs are there as long as a struct cred leads to them.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable

from arch.memory import KernelMemory
from arch.typetable import TypeTable
from simkernel.kernel.task import Cred

SetField = Callable[[int, str, str, int], None]
OffsetOf = Callable[[str, str], int]


class Shared:
    """Structs by what they are of, with the number of those who have them."""

    def __init__(self, mem: KernelMemory, size: int) -> None:
        self.mem, self.size = mem, size
        self.at: dict[Hashable, list[int]] = {}  # key -> [address, users]

    def get(self, key: Hashable) -> tuple[int, int]:
        """Its address, and how many have it now; the first one gets it zeroed."""
        row = self.at.setdefault(key, [0, 0])
        if not row[1]:
            row[0] = self.mem.alloc(self.size)
        row[1] += 1
        return row[0], row[1]

    def put(self, key: Hashable) -> None:
        """One less."""
        row = self.at[key]
        row[1] -= 1
        if not row[1]:
            self.mem.free(row[0])
            del self.at[key]


class UserStructs:
    """`k.mirror.users`."""

    def __init__(self, types: TypeTable, mem: KernelMemory, put: SetField, offset_of: OffsetOf) -> None:
        self.mem, self.put, self.offset_of = mem, put, offset_of
        self.users = Shared(mem, types.sizeof("struct user_struct"))
        self.counts = Shared(mem, types.sizeof("struct ucounts"))
        self.groups = Shared(mem, types.sizeof("struct group_info"))  # of who has none: init_groups
        self.group_size = types.sizeof("struct group_info")

    def show(self, cred: Cred, user_ns: int) -> None:
        """cred->user, ucounts and group_info are those of its numbers."""
        key = (cred.uid, (user_ns, cred.euid))
        if cred.shown_user != key:
            self.hide(cred)
            cred.shown_user = key
            user, users = self.users.get(cred.uid)
            counts, holders = self.counts.get(key[1])
            for address, struct, member, value in (
                (user, "user_struct", "uid.val", cred.uid), (user, "user_struct", "__count.refs.counter", users),
                (counts, "ucounts", "ns", user_ns), (counts, "ucounts", "uid.val", cred.euid), (counts, "ucounts", "count.counter", holders),
                (cred.addr, "cred", "user", user), (cred.addr, "cred", "ucounts", counts),
            ):  # fmt: skip
                self.put(address, struct, member, value)
        if not cred.group_info:
            cred.group_info = self._group_info(cred.groups)
        self.put(cred.addr, "cred", "group_info", cred.group_info)

    def _group_info(self, groups: list[int]) -> int:
        if not groups:
            return self.groups.get(())[0]
        address = self.mem.alloc(self.group_size + 4 * len(groups))
        self.put(address, "group_info", "usage.counter", 1)
        self.put(address, "group_info", "ngroups", len(groups))
        for number, gid in enumerate(groups):
            self.mem.write_uint(address + self.offset_of("struct group_info", "gid") + 4 * number, 4, gid)
        return address

    def hide(self, cred: Cred) -> None:
        """The struct cred goes away, or belongs to somebody else from now on."""
        if cred.shown_user is not None:
            self.users.put(cred.shown_user[0])
            self.counts.put(cred.shown_user[1])
            cred.shown_user = None

    def free_groups(self, cred: Cred) -> None:
        """put_group_info()."""
        if cred.group_info and cred.groups:
            self.mem.free(cred.group_info)
        elif cred.group_info:
            self.groups.put(())
        cred.group_info = 0
