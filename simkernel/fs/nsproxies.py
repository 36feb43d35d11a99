"""struct nsproxy in kernel memory: what a program that walks task->nsproxy->net_ns finds.  include/linux/nsproxy.h."""

from __future__ import annotations

from collections.abc import Callable

from simkernel.kernel.face import KernelFace
from simkernel.kernel.namespaces import KINDS, Namespace, number
from simkernel.kernel.task import Task

MEMBERS = {
    "uts": "uts_ns", "ipc": "ipc_ns", "mnt": "mnt_ns", "pid": "pid_ns_for_children", "net": "net_ns", "time": "time_ns",
    "cgroup": "cgroup_ns",
}  # fmt: skip


class NsProxies:
    """struct nsproxy in kernel memory, one for each set of namespaces that tasks have."""

    def __init__(self) -> None:
        self.made: dict[tuple[int, ...], int] = {}  # by the numbers of the namespaces
        self.users: dict[int, int] = {}  # address -> tasks
        # Where the struct of a namespace is: kinds that have one in kernel memory.
        self.structs: dict[str, Callable[[Namespace | None], int]] = {}

    def publish(self, k: KernelFace, task: Task) -> None:
        """The task's nsproxy is that of its namespaces now."""
        key = tuple(number(task.namespaces, kind) for kind in KINDS)
        address = self.made.get(key)
        if address is None:
            view = k.new("struct nsproxy")
            address = self.made[key] = view.addr
            for kind, member in MEMBERS.items():
                struct = self.structs.get(kind)
                if struct is not None and k.types.has_member("struct nsproxy", member):
                    k.mirror.set_field(address, "nsproxy", member, struct(task.namespaces.get(kind)))
        self.users[address] = self.users.get(address, 0) + 1
        self.forget(k, task)
        task.nsproxy_addr = address
        k.mirror.set_field(task.addr, "task_struct", "nsproxy", address)
        k.mirror.set_field(address, "nsproxy", "count.counter", self.users[address])

    def forget(self, k: KernelFace, task: Task) -> None:
        """put_nsproxy() of what it had; exit_task_namespaces() leaves it with none."""
        old, task.nsproxy_addr = task.nsproxy_addr, 0
        if not old:
            return
        self.users[old] -= 1
        if not self.users[old]:
            del self.users[old]
            self.made = {key: address for key, address in self.made.items() if address != old}
            k.mem.free(old)
