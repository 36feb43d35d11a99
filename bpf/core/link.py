"""Links: an attached program as an object of its own.  struct bpf_link, kernel/bpf/syscall.c."""

from __future__ import annotations

from collections.abc import Mapping

from arch.abi.errno import EINVAL, ENOLINK, EOPNOTSUPP, EPERM
from arch.errors import KernelError
from bpf.board import Bpf
from bpf.face import AttachRequest, Detach, IterAttach, Link, Prog, XdpAttach
from bpf.maps.base import BpfMap
from bpf.versions.data import LINK_TYPES

# include/linux/bpf_types.h: where a link's name in fdinfo is not that of its BPF_LINK_TYPE_
FDINFO_NAMES = {"perf_event": "perf"}
# What the show_fdinfo of the types adds, in their order
FDINFO_FIELDS = (
    "tp_name", "attach_type", "target_obj_id", "target_btf_id", "cookie", "cgroup_id", "target_name", "map_id", "netns_ino", "ifindex",
)  # fmt: skip

COOKIE_SHOWN = "6.17"  # 2fe1c5934736, c7beb48344d2: of links to functions and tracepoints
NAMES_ITSELF = ("kmem_cache", "dmabuf")  # iterators
TARGET_FIELDS = ("target_obj_id", "target_btf_id")
ITER_FIELDS = ("target_name", "map_id")


class BpfLink(Link):
    """Keeps `prog` attached until it goes; `info` is what BPF_OBJ_GET_INFO_BY_FD tells beyond type, id and program."""

    anon_name = "bpf_link"
    can_detach = False  # BPF_LINK_DETACH
    can_update = False  # BPF_LINK_UPDATE

    def __init__(
        self, bpf: Bpf, kind: int, prog: Prog, request: AttachRequest, detach: Detach, info: Mapping[str, int | str]
    ) -> None:
        self.bpf = bpf
        self.type = kind
        self.prog = prog
        self.request = request
        self.info = info
        self.id = 0
        self.refs = 0
        self.detach_fn: Detach | None = detach

    def get(self) -> None:
        """One more reference."""
        self.refs += 1

    def put(self) -> None:
        """One less; the last one detaches."""
        self.refs -= 1
        if self.refs == 0:
            self.bpf.links.remove(self.id)
            self.detach_now()
            self.prog.put()

    def release(self) -> None:
        self.put()

    def detach_now(self) -> None:
        """The event does not run the program any more."""
        if self.detach_fn is not None:
            detach, self.detach_fn = self.detach_fn, None
            detach()

    def detach(self) -> None:
        """BPF_LINK_DETACH: only cgroup, netns and XDP links."""
        if not self.can_detach:
            raise KernelError(EOPNOTSUPP)
        self.detach_now()

    def update(self, new: Prog, old: Prog | None) -> None:
        """BPF_LINK_UPDATE."""
        if not self.can_update:
            raise KernelError(EINVAL)
        if old is not None and old is not self.prog:
            raise KernelError(EPERM)
        if new.type != self.prog.type:
            raise KernelError(EINVAL)
        new.get()
        previous, self.prog = self.prog, new
        previous.put()

    def run(self, ctx: int, cookie: int = 0) -> int:
        """For attachments that hold the link, not the program, so that updates take effect."""
        return self.prog.run(ctx, cookie)

    def fdinfo(self) -> str:
        """bpf_link_show_fdinfo()."""
        name = LINK_TYPES[self.type].name.removeprefix("BPF_LINK_TYPE_").lower()
        shown: tuple[str, ...] = FDINFO_FIELDS if "target_name" not in self.info else ITER_FIELDS
        if self.bpf.version.before("6.5"):  # e859e429511a
            shown = tuple(field for field in shown if field not in TARGET_FIELDS)
        if self.bpf.version.before(COOKIE_SHOWN):
            shown = tuple(field for field in shown if field != "cookie")
        more = "".join(f"{field}:\t{value}\n" for field, value in self.info.items() if field in shown)
        return (
            f"link_type:\t{FDINFO_NAMES.get(name, name)}\nlink_id:\t{self.id}\n"
            f"prog_tag:\t{self.prog.tag.hex()}\nprog_id:\t{self.prog.id}\n{more}"
        )


class DetachableLink(BpfLink):
    """Cgroup, netns and XDP links."""

    can_detach = True
    can_update = True


class XdpLink(DetachableLink):
    """Of a program on a device."""

    def update(self, new: Prog, old: Prog | None) -> None:
        """bpf_xdp_link_update().  ENOLINK, EPERM, EINVAL."""
        if self.detach_fn is None:
            raise KernelError(ENOLINK)
        if old is not None and old is not self.prog:
            raise KernelError(EPERM)
        if new.expected_attach_type != self.prog.expected_attach_type:
            raise KernelError(EINVAL)
        super().update(new, old)
        assert isinstance(self.request, XdpAttach)
        self.bpf.host.xdp_replace(self.request, new)

    def detach_now(self) -> None:
        super().detach_now()
        self.forget_device()

    def forget_device(self) -> None:
        """dev_xdp_uninstall(): detached, or the device is gone."""
        self.detach_fn, self.info = None, {"ifindex": 0}


class IterLink(BpfLink):
    """Of BPF_TRACE_ITER programs: opened for reading by BPF_ITER_CREATE; keeps the map whose elements it goes over."""

    can_update = True

    def get(self) -> None:
        if not self.refs and self._map is not None:
            self._map.get_user()
        super().get()

    def detach_now(self) -> None:
        attached = self.detach_fn is not None
        super().detach_now()
        if attached and self._map is not None:
            self._map.put_user()

    def fdinfo(self) -> str:
        """bpf_iter_task_show_fdinfo(), bpf_iter_cgroup_show_fdinfo()."""
        text, info = super().fdinfo(), self.info
        if info["target_name"] in NAMES_ITSELF:
            text += f"{info['target_name']} iter\n"
        if "cgroup_path" in info:
            return text + f"cgroup_path:\t{info['cgroup_path']}\norder: {info['order']}\n"
        if "tid" not in info:
            return text
        kind = "TID" if info["tid"] else "PID" if info["pid"] else "ALL"
        return text + f"task_type:\t{kind}\n" + (f"{kind.lower()}:\t{info[kind.lower()]}\n" if kind != "ALL" else "")

    @property
    def _map(self) -> BpfMap | None:
        found = self.request.map if isinstance(self.request, IterAttach) else None
        return found if isinstance(found, BpfMap) else None
