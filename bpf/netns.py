"""Which programs network namespaces have: flow dissectors and socket lookups.  kernel/bpf/net_namespace.c of Linux 6.1."""

from __future__ import annotations

from collections.abc import Hashable, Iterable

from arch.abi.errno import EEXIST, EINVAL, ENOENT
from arch.errors import KernelError
from arch.records import dataclass, field
from bpf import uapi
from bpf.face import Link, NetNamespace, Prog

MAX_LINKS = {uapi.BPF_FLOW_DISSECTOR: 1, uapi.BPF_SK_LOOKUP: 64}  # netns_bpf_max_progs()


@dataclass
class NetnsHook:
    """One attach type of a namespace: a program that is attached directly, or links."""

    root: bool
    prog: Prog | None = None
    links: list[Link] = field(default_factory=list)

    @property
    def progs(self) -> list[Prog]:
        """In the order in which they run."""
        return [self.prog] if self.prog is not None else [link.prog for link in self.links]


class NetnsPrograms:
    """struct netns_bpf of all namespaces."""

    def __init__(self) -> None:
        self.hooks: dict[tuple[Hashable, int], NetnsHook] = {}

    def hook(self, netns: NetNamespace, attach_type: int) -> NetnsHook:
        """EINVAL for what is not attached to namespaces."""
        if attach_type not in MAX_LINKS:
            raise KernelError(EINVAL)
        return self.hooks.setdefault((netns.token, attach_type), NetnsHook(netns.root))

    def check_dissector(self, netns: NetNamespace) -> None:
        """flow_dissector_bpf_prog_attach_check(): that of the first namespace overrides all others.  EEXIST."""
        for (token, attach_type), hook in self.hooks.items():
            other = token != netns.token and (netns.root or hook.root)
            if other and attach_type == uapi.BPF_FLOW_DISSECTOR and hook.progs:
                raise KernelError(EEXIST)

    def attach(self, netns: NetNamespace, attach_type: int, prog: Prog) -> None:
        """netns_bpf_prog_attach(): a flow dissector, in place of the one that is there.  EEXIST, EINVAL."""
        hook = self.hook(netns, attach_type)
        if hook.links:
            raise KernelError(EEXIST)
        if attach_type != uapi.BPF_FLOW_DISSECTOR:
            raise KernelError(EINVAL)
        self.check_dissector(netns)
        if hook.prog is prog:
            raise KernelError(EINVAL)
        prog.get()
        before, hook.prog = hook.prog, prog
        if before is not None:
            before.put()

    def detach(self, netns: NetNamespace, attach_type: int, prog: Prog) -> None:
        """netns_bpf_prog_detach().  EINVAL, ENOENT."""
        hook = self.hook(netns, attach_type)
        if hook.links:
            raise KernelError(EINVAL)
        if hook.prog is not prog:
            raise KernelError(ENOENT)
        hook.prog = None
        prog.put()

    def gone(self, token: Hashable) -> None:
        """netns_bpf_pernet_pre_exit()."""
        for key in [key for key in self.hooks if key[0] == token]:
            hook = self.hooks.pop(key)
            if hook.prog is not None:
                hook.prog.put()
            for link in list(hook.links):
                link.detach()

    def progs(self, netns: NetNamespace, attach_type: int) -> Iterable[Prog]:
        """Who is there."""
        return self.hook(netns, attach_type).progs
