"""struct nsproxy in kernel memory: what a program that walks task->nsproxy->net_ns->ns.inum finds.  include/linux/nsproxy.h."""

from __future__ import annotations

from collections.abc import Callable

from arch.records import dataclass
from simkernel.kernel.calls.system import store_uts
from simkernel.kernel.face import KernelFace
from simkernel.kernel.namespaces import KINDS, Namespace, UtsNamespace, initial_namespace
from simkernel.kernel.pid_namespace import PidNamespace
from simkernel.kernel.task import Task
from simkernel.kernel.user_namespace import ns_address

# member of struct nsproxy -> (kind of namespace, its struct).  What a kind lacks in `task.namespaces` is the initial one.
MEMBERS = {
    "uts_ns": ("uts", "uts_namespace"), "ipc_ns": ("ipc", "ipc_namespace"), "mnt_ns": ("mnt", "mnt_namespace"),
    "pid_ns_for_children": ("pid", "pid_namespace"), "net_ns": ("net", "net"), "time_ns": ("time", "time_namespace"),
    "time_ns_for_children": ("time_for_children", "time_namespace"), "cgroup_ns": ("cgroup", "cgroup_namespace"),
}  # fmt: skip


@dataclass(eq=False, slots=True)
class Proxy:
    """One struct nsproxy."""

    address: int
    structs: list[int]  # inode numbers of the namespaces whose structs are of this module
    users: int = 0  # tasks


class NsProxies:
    """struct nsproxy in kernel memory, one for each set of namespaces that tasks have, and what it points to."""

    def __init__(self) -> None:
        self.made: dict[tuple[int, ...], Proxy] = {}  # by the numbers of the namespaces
        self.at: dict[int, tuple[int, ...]] = {}  # where it is -> key
        # Where the struct of a namespace is: kinds that have one that somebody else keeps.
        self.structs: dict[str, Callable[[Namespace | None], int]] = {}
        self.own: dict[int, tuple[int, int]] = {}  # number of a namespace -> (its struct, in how many nsproxies it is)

    def publish(self, k: KernelFace, task: Task) -> None:
        """The task's nsproxy is that of its namespaces now."""
        found = {member: _namespace(task, kind) for member, (kind, _) in MEMBERS.items()}
        times = found["time_ns_for_children"]
        key = (*(_number(k, kind, task.namespaces.get(kind)) for kind in KINDS), _number(k, "time", times))
        proxy = self.made.get(key)
        if proxy is None:
            proxy = self.made[key] = Proxy(k.new("struct nsproxy").addr, [])
            self.at[proxy.address] = key
            for member, (kind, struct) in MEMBERS.items():
                if k.types.has_member("struct nsproxy", member):
                    elsewhere = self.structs.get(kind)
                    if elsewhere is not None:
                        address = elsewhere(found[member])
                    else:
                        address = self._get(k, proxy, kind.partition("_")[0], struct, found[member])
                    k.mirror.set_field(proxy.address, "nsproxy", member, address)
        proxy.users += 1
        self.forget(k, task)
        task.nsproxy_addr = proxy.address
        k.mirror.set_field(task.addr, "task_struct", "nsproxy", proxy.address)
        k.mirror.set_field(proxy.address, "nsproxy", "count.counter", proxy.users)

    def forget(self, k: KernelFace, task: Task) -> None:
        """put_nsproxy() of what it had; exit_task_namespaces() leaves it with none."""
        old, task.nsproxy_addr = task.nsproxy_addr, 0
        if not old:
            return
        proxy = self.made[self.at[old]]
        proxy.users -= 1
        if proxy.users:
            k.mirror.set_field(old, "nsproxy", "count.counter", proxy.users)
            return
        del self.made[self.at.pop(old)]
        for ino in proxy.structs:
            address, users = self.own[ino]
            self.own[ino] = (address, users - 1)
            if users == 1:
                del self.own[ino]
                k.mem.free(address)
        k.mem.free(old)

    def _get(self, k: KernelFace, proxy: Proxy, kind: str, struct: str, namespace: Namespace | None) -> int:
        """The struct of a namespace, made for the first nsproxy that has it."""
        ino = _number(k, kind, namespace)
        address, users = self.own.get(ino, (0, 0))
        if not address:
            address = k.new(f"struct {struct}").addr
            owner = namespace.owner if namespace is not None else None
            for member, value in (
                ("ns.inum", ino), ("ns.count.refs.counter", 1), ("user_ns", ns_address(k, owner)),
                ("level", namespace.state.level if namespace and isinstance(namespace.state, PidNamespace) else 0),
            ):  # fmt: skip
                k.mirror.set_field(address, struct, member, value)
            if kind == "uts":
                known = namespace.state if namespace is not None else None
                store_uts(
                    k, address, known if isinstance(known, UtsNamespace) else UtsNamespace(k.hostname, k.domainname)
                )
        self.own[ino] = (address, users + 1)
        proxy.structs.append(ino)
        return address


def _namespace(task: Task, kind: str) -> Namespace | None:
    """Of a task; its children's time is its own until another is made for them."""
    found = task.namespaces.get(kind)
    return task.namespaces.get("time") if found is None and kind == "time_for_children" else found


def _number(k: KernelFace, kind: str, namespace: Namespace | None) -> int:
    return (namespace or initial_namespace(k.version, kind)).ino
