"""bpffs: pinned BPF objects as files.  kernel/bpf/inode.c.

A pinned object is a regular file whose private holds the object; bpf(BPF_OBJ_GET) opens it.  What open(2) opens is decided by who
pins: the text of a map, an iterator; EIO for anything else, as bpffs_obj_open says.  Directories and symbolic links are ordinary; plain files cannot be made.
"""

from __future__ import annotations

from arch.abi.capability import CAP_SYS_ADMIN
from arch.abi.errno import EINVAL, EIO, EPERM, ERANGE
from arch.abi.limits import U32_MAX
from arch.abi.stat import BPF_FS_MAGIC, S_IFDIR, S_IFREG, S_ISVTX
from arch.errors import KernelError
from arch.records import dataclass, field
from bpf.face import FdObject
from simkernel.fs.face import FsKernel
from simkernel.fs.inode import Cred, Dentry, File, FileOperations, Inode, SuperBlock
from simkernel.fs.mount_options import NUMBER, BadOption, integer, mode_option, split, u32
from simkernel.fs.tmpfs import TmpfsInode, TmpfsSuper
from simkernel.fs.vfs import FsType, Vfs
from simkernel.kernel.user_namespace import user_ns


def _obj_open(k: FsKernel, inode: Inode, file: File) -> int:
    raise KernelError(EIO, "pinned objects are opened by bpf(2)")


BPFFS_OBJ_FOPS = FileOperations("bpffs_obj_fops", llseek="no_llseek", open=_obj_open)


class BpfInode(TmpfsInode):
    """An inode of bpffs: like tmpfs without plain files; sizes are 0."""

    __slots__ = ("obj",)

    def __init__(self, sb: TmpfsSuper, mode: int) -> None:
        super().__init__(sb, mode)
        self.i_size = 0
        self.obj: FdObject | None = None  # what is pinned; the file keeps a reference
        if self.is_reg:
            self.i_mapping = None
            self.i_fop = BPFFS_OBJ_FOPS

    def _new(self, parent: Dentry, name: str, mode: int, cred: Cred) -> Dentry:
        inode = BpfInode(self.i_sb, mode)
        inode.i_uid, inode.i_gid = cred.fsuid, cred.fsgid
        self._changed(0)
        return parent.add(name, inode)

    def _changed(self, grow: int) -> int:
        return super()._changed(0)

    def lookup(self, parent: Dentry, name: str) -> Dentry | None:
        """bpf_lookup(): names with dots are kept for the kernel's own files.  EPERM."""
        if "." in name:
            raise KernelError(EPERM, "a name with a dot")
        return super().lookup(parent, name)

    def create(self, parent: Dentry, name: str, mode: int, cred: Cred) -> Dentry:
        """open(O_CREAT) is refused: bpffs has no create."""
        raise KernelError(EPERM, "bpffs has no plain files")

    def mknod(self, parent: Dentry, name: str, mode: int, dev: int, cred: Cred) -> Dentry:
        """Not from user space."""
        raise KernelError(EPERM, "bpffs has no plain files")

    def evict(self) -> None:
        """bpf_free_inode(): the pin's reference goes."""
        obj, self.obj = self.obj, None
        if obj is not None:
            obj.release()
        super().evict()

    def pin(
        self, parent: Dentry, name: str, mode: int, cred: Cred, obj: FdObject, fops: FileOperations = BPFFS_OBJ_FOPS
    ) -> Dentry:
        """bpf_obj_do_pin(): put an object in (the name was looked up and is free)."""
        child = self._new(parent, name, S_IFREG | mode, cred)
        assert isinstance(child.inode, BpfInode)
        child.inode.obj, child.inode.i_fop = obj, fops
        return child


DELEGATIONS_SINCE, OWNERS_SINCE = "6.9", "6.8"  # 6fe01d3cbb92, b08c8fc0411d
# option -> (enumeration of the kernel's BTF, what stands before the names); a value is a bit
DELEGATIONS = {
    "delegate_cmds": ("bpf_cmd", "BPF_"),
    "delegate_maps": ("bpf_map_type", "BPF_MAP_TYPE_"),
    "delegate_progs": ("bpf_prog_type", "BPF_PROG_TYPE_"),
    "delegate_attachs": ("bpf_attach_type", "BPF_"),
}
ALL_ONES = (1 << 64) - 1


def _keys(vfs: Vfs) -> tuple[str, ...]:
    owners = ("uid", "gid") if vfs.k.version.at_least(OWNERS_SINCE) else ()
    return ("mode", *owners, *(DELEGATIONS if vfs.k.version.at_least(DELEGATIONS_SINCE) else ()))


def _names(vfs: Vfs, key: str) -> tuple[list[tuple[str, int]], int]:
    """(name as options have it, value) of all that can be delegated, and the bits that are "any"."""
    enum, prefix = DELEGATIONS[key]
    values = vfs.kernel_enum(enum)
    end = next((value for name, value in values if name.startswith("__MAX_")), 64)
    return [(n.removeprefix(prefix).lower(), value) for n, value in values if n.startswith(prefix)], (1 << end) - 1


def _u64(text: str) -> int:
    """kstrtou64().  EINVAL, ERANGE."""
    match = NUMBER.fullmatch(text.removeprefix("+"))
    if match is None or (match[0][0] == "0" and match[0].isdecimal() and set(match[0]) & set("89")):
        raise KernelError(EINVAL)
    value = integer(match[0])
    if value > ALL_ONES:
        raise KernelError(ERANGE)
    return value


@dataclass(slots=True)
class BpfOptions:
    """struct bpf_mount_opts; what it does not know it passes over."""

    vfs: Vfs
    mode: int = 0o777
    owner: dict[str, int] = field(default_factory=lambda: {"uid": 0, "gid": 0})
    delegated: dict[str, int] = field(default_factory=lambda: dict.fromkeys(DELEGATIONS, 0))

    def parse(self, key: str, value: str | None) -> None:
        """bpf_parse_param().  BadOption, EINVAL, ERANGE, EPERM."""
        if key not in _keys(self.vfs):
            return
        if key == "mode":
            self.mode = mode_option(key if value is None else f"{key}={value}", 0)
            return
        if not value:
            raise BadOption(f"Bad value for '{key}'")
        if key in self.owner:
            found = u32(value)
            if found is None or found == U32_MAX:
                raise BadOption(f"Bad value for '{key}'")
            self.owner[key] = found
            return
        mask = self._mask(key, value)
        if mask and not self.vfs.k.capable(CAP_SYS_ADMIN):
            raise KernelError(EPERM, "delegation is the administrator's")
        self.delegated[key] |= mask

    def _mask(self, key: str, value: str) -> int:
        """Names are added to what stands before them, a number takes its place."""
        names, mask = dict(_names(self.vfs, key)[0]), 0
        for part in value.split(":"):
            if part == "any":
                mask = ALL_ONES
            elif part.lower() in names:
                mask |= 1 << names[part.lower()]
            else:
                mask = _u64(part)
        return mask

    def shown(self) -> str:
        """bpf_show_options()."""
        out = [f"{key}={value}" for key, value in self.owner.items() if value]
        out += [f"mode={self.mode:o}"] if self.mode != 0o777 else []
        return ",".join(out + [text for key, mask in self.delegated.items() if (text := self._delegation(key, mask))])

    def _delegation(self, key: str, mask: int) -> str:
        """seq_print_delegate_opts(): each bit by its first name; bits without one are not told of."""
        names, every = _names(self.vfs, key)
        if mask & every == every:
            return f"{key}=any"
        said = []
        for name, value in names:
            if mask >> value & 1:
                said.append(name)
                mask &= ~(1 << value)
        return f"{key}={':'.join(said)}" if said else ""


class BpfSuper(TmpfsSuper):
    """One bpffs."""

    def __init__(self, vfs: Vfs, data: str) -> None:
        said = BpfOptions(vfs)
        for key, value in split(data):
            said.parse(key, value)
        if (
            vfs.k.version.at_least(DELEGATIONS_SINCE)
            and user_ns(vfs.k.current) is not None
            and not vfs.k.capable(CAP_SYS_ADMIN)
        ):
            raise KernelError(EPERM, "mounting it is the administrator's, for whatever namespace")
        super().__init__(vfs.anon_dev(), vfs.now, vfs.pool, "", "bpf")
        self.s_magic = BPF_FS_MAGIC
        self.options = said.shown()
        root = BpfInode(self, S_IFDIR | S_ISVTX | said.mode)
        root.i_uid, root.i_gid = said.owner["uid"], said.owner["gid"]
        self.s_root = Dentry("/", None, root)
        self.max_blocks = self.max_inodes = 0

    def statfs(self) -> dict[str, int]:
        """simple_statfs()."""
        return SuperBlock.statfs(self)


def register_bpffs(vfs: Vfs) -> None:
    """BPF file system type."""
    check = BpfOptions(vfs).parse
    vfs.register(FsType("bpf", lambda v, devname, flags, data: BpfSuper(v, data), keys=_keys(vfs), check=check))
