"""Links of programs of network namespaces.  kernel/bpf/net_namespace.c of Linux 6.1."""

from __future__ import annotations

from arch.abi.errno import E2BIG, EEXIST, ENOLINK
from arch.errors import KernelError
from bpf import uapi
from bpf.board import Bpf
from bpf.core.link import DetachableLink
from bpf.face import NetNamespace, NetnsAttach, Prog
from bpf.netns import MAX_LINKS


class NetnsLink(DetachableLink):
    """Of a program of a namespace."""

    def update(self, new: Prog, old: Prog | None) -> None:
        """bpf_netns_link_update_prog().  EPERM, EINVAL, ENOLINK."""
        if self.detach_fn is None and (old is None or old is self.prog) and new.type == self.prog.type:
            raise KernelError(ENOLINK)
        super().update(new, old)

    def detach_now(self) -> None:
        super().detach_now()
        self.info = {**self.info, "netns_ino": 0}


def make_netns_link(bpf: Bpf, netns: NetNamespace, attach_type: int, prog: Prog) -> NetnsLink:
    """netns_bpf_link_attach().  E2BIG, EEXIST."""
    hook = bpf.netns.hook(netns, attach_type)
    if len(hook.links) >= MAX_LINKS[attach_type]:
        raise KernelError(E2BIG)
    if hook.prog is not None:
        raise KernelError(EEXIST)
    if attach_type == uapi.BPF_FLOW_DISSECTOR:
        bpf.netns.check_dissector(netns)
    info: dict[str, int | str] = {"netns_ino": netns.ino, "attach_type": attach_type}
    link = NetnsLink(
        bpf, uapi.BPF_LINK_TYPE_NETNS, prog, NetnsAttach(netns, attach_type), lambda: hook.links.remove(link), info
    )
    hook.links.append(link)
    return link
