"""The C structures of the file system in kernel memory, so that a program that follows pointers reads the truth.

include/linux/{fs,dcache,path,mount,fdtable,fs_struct}.h.  The Python objects are the masters.  A struct file exists from
open to the last close; dentry, inode, super_block, mount and file_operations are written when the first file that
reaches them is opened (walking up d_parent finds everything), and updated when a field changes.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from arch.abi.files import NUMBER_CODES
from arch.abi.internal import GFP_HIGHUSER_MOVABLE
from arch.abi.limits import PAGE_SHIFT
from arch.abi.mount import MS_NOATIME, MS_NODEV, MS_NODIRATIME, MS_NOEXEC, MS_NOSUID, MS_RDONLY, MS_RELATIME
from arch.abi.stat import DT_BLK, DT_CHR, DT_DIR, DT_FIFO, DT_LNK, DT_REG, DT_SOCK
from arch.byaddress import ByAddress
from arch.ctype import CTypeError
from arch.memory import KernelMemory
from arch.typetable import TypeTable
from simkernel.fs.constants import FMODE_ATOMIC_POS, FMODE_EXEC, FMODE_PWRITE, FMODE_WRITE
from simkernel.fs.features import Features
from simkernel.fs.inode import Dentry, File, FileOperations, Inode, Mount, SuperBlock, to_bytes
from simkernel.fs.operations import D_OP_FLAGS, DCACHE_SPECIAL_TYPE, FILE_SYSTEMS
from simkernel.kernel.face import KernelFace

FMODE_WRITER = 0x10000  # its mount is counted as written to

# d_flags, include/linux/dcache.h: DCACHE_*_TYPE by S_IFMT >> 12
_DENTRY_TYPE = {
    DT_DIR: 0x00200000, DT_REG: 0x00400000, DT_LNK: 0x00600000, DT_CHR: 0x00500000, DT_BLK: 0x00500000,
    DT_FIFO: 0x00500000, DT_SOCK: 0x00500000,
}  # fmt: skip

# include/linux/mount.h
_MNT_FLAG = (
    (MS_NOSUID, 0x01), (MS_NODEV, 0x02), (MS_NOEXEC, 0x04), (MS_NOATIME, 0x08), (MS_NODIRATIME, 0x10),
    (MS_RELATIME, 0x20), (MS_RDONLY, 0x40),
)  # fmt: skip


class Struct:
    """Where the members of one C type are; a member that this version lacks is skipped when writing."""

    __slots__ = ("mem", "members", "name", "order", "packers", "size", "types")

    def __init__(self, types: TypeTable, mem: KernelMemory, name: str) -> None:
        self.types = types
        self.mem = mem
        self.name = name
        self.order = mem.byteorder
        self.size: int = types.sizeof(name)
        self.members: dict[str, tuple[int, int] | None] = {}
        self.packers: dict[tuple[str, ...], Callable[..., bytes]] = {}

    def where(self, member: str) -> tuple[int, int] | None:
        """(offset, size) in bytes, or None."""
        try:
            return self.members[member]
        except KeyError:
            pass
        place: tuple[int, int] | None
        try:
            found = self.types.resolve(self.name, member)
            place = (found.offset, found.type.size)
        except CTypeError:
            place = None
        self.members[member] = place
        return place

    def offset(self, member: str) -> int:
        """Offset of a member that must exist."""
        place = self.where(member)
        assert place is not None, f"{self.name}.{member}"
        return place[0]

    def pack(self, values: Mapping[str, int | bytes]) -> bytes:
        """A zeroed struct with these members set."""
        members = tuple(values)
        found = self.packers.get(members)
        if found is None:
            numbers = bytes not in map(type, values.values()) and self._are_numbers(members)
            found = self.packers[members] = self._packer(members) if numbers else partial(self._pack_each, members)
        return found(*values.values())

    def _are_numbers(self, members: Sequence[str]) -> bool:
        """One number each, side by side."""
        end = 0
        for offset, size in sorted(place for name in members if (place := self.where(name)) is not None):
            if offset < end or size not in NUMBER_CODES:
                return False
            end = offset + size
        return True

    def _pack_each(self, members: Sequence[str], *values: int | bytes) -> bytes:
        out = bytearray(self.size)
        for member, value in zip(members, values, strict=True):
            place = self.where(member)
            if place is None or not value:
                continue
            offset, size = place
            if isinstance(value, bytes):
                out[offset : offset + len(value)] = value
            else:
                out[offset : offset + size] = (value & ((1 << 8 * size) - 1)).to_bytes(size, self.order)
        return bytes(out)

    def packer(self, *members: str) -> Callable[..., bytes]:
        """What makes zeroed structs with these numbers set, for who makes many."""
        found = self.packers.get(members)
        if found is None:
            found = self.packers[members] = self._packer(members)
        return found

    def _packer(self, members: Sequence[str]) -> Callable[..., bytes]:
        there = sorted((place, index) for index, name in enumerate(members) if (place := self.where(name)) is not None)
        text, end = "<" if self.order == "little" else ">", 0
        for (offset, size), _ in there:
            text += f"{offset - end}x{NUMBER_CODES[size]}"
            end = offset + size
        pack = struct.Struct(f"{text}{self.size - end}x").pack
        chosen = [(index, (1 << 8 * size) - 1) for (_, size), index in there]

        def make(*values: int) -> bytes:
            return pack(*[values[index] & mask for index, mask in chosen])

        return make

    def new(self, values: Mapping[str, int | bytes], align: int = 8) -> int:
        """Allocate one and fill it."""
        addr: int = self.mem.alloc(self.size, align)
        self.mem.write(addr, self.pack(values))
        return addr

    def set(self, addr: int, member: str, value: int) -> None:
        """Store one member."""
        place = self.where(member)
        if place is not None:
            self.mem.write_uint(addr + place[0], place[1], value & ((1 << 8 * place[1]) - 1))

    def get(self, addr: int, member: str) -> int:
        """Read one member, unsigned."""
        place = self.where(member)
        assert place is not None, f"{self.name}.{member}"
        value: int = self.mem.read_uint(addr + place[0], place[1])
        return value


class Mirror:
    """Writes the structures."""

    def __init__(self, k: KernelFace, names: Features) -> None:
        self.k = k
        self.names = names
        self.mem = k.mem
        self.types = k.types
        self.word: int = k.arch.model.word
        self.structs: dict[str, Struct] = {}
        self.fops: dict[FileOperations, int] = {}
        self.inodes: ByAddress[Inode] = ByAddress("struct inode")
        self.lock_contexts: dict[int, int] = {}  # struct file_lock_context, by inode: those that tracing has shown
        self.dentries: ByAddress[Dentry] = ByAddress("struct dentry")
        self.fs_types: dict[str, int] = {}
        self.at_mnt = self.struct("struct mount").offset("mnt")
        file = self.struct("struct file")
        self.at_f_pos = file.offset("f_pos")
        self.file_bytes: dict[str, tuple[int, int] | None] = {}

    def struct(self, name: str) -> Struct:
        """The layout of one type."""
        found = self.structs.get(name)
        if found is None:
            found = self.structs[name] = Struct(self.types, self.mem, name)
        return found

    def symbol(self, name: str | None) -> int:
        """Address of a kernel function; 0 when it has none (tests without a machine)."""
        if not name:
            return 0
        return self.k.symbols.address(name) or 0

    # --- strings ---
    def string(self, text: bytes) -> int:
        """A NUL-terminated string in kernel memory."""
        addr: int = self.mem.alloc(len(text) + 1)
        self.mem.write(addr, text + b"\0")
        return addr

    # --- file_operations, super blocks, mounts ---
    def file_operations(self, ops: FileOperations) -> int:
        """struct file_operations with the addresses of its functions."""
        addr = self.fops.get(ops)
        if addr is None:
            members: dict[str, int | bytes] = {
                "read": self.symbol(ops.read), "write": self.symbol(ops.write), "read_iter": self.symbol(ops.read_iter),
                "write_iter": self.symbol(ops.write_iter),
            }  # fmt: skip
            if ops.llseek != "no_llseek" or self.names.no_llseek:
                members["llseek"] = self.symbol(ops.llseek)
            members |= {name: self.symbol(function) for name, function in ops.extra.items()}
            addr = self.fops[ops] = self.struct("struct file_operations").new(members)
        return addr

    def super_block(self, sb: SuperBlock) -> int:
        """struct super_block with its type."""
        if not sb.addr:
            fs_type = self.fs_types.get(sb.fs_name)
            if fs_type is None:
                name = self.string(sb.fs_name.encode("utf-8", "surrogateescape"))
                fs_type = self.fs_types[sb.fs_name] = self.struct("struct file_system_type").new({"name": name})
            row = FILE_SYSTEMS.get(sb.fs_name)
            sb.addr = self.struct("struct super_block").new({
                "s_op": self.symbol(row.s_op) if row else 0, "s_user_ns": self.k.vfs.init_user_ns, "s_bdi": self.symbol("noop_backing_dev_info") if row else 0,
                "s_time_min": -1 << 63, "s_time_max": (1 << 63) - 1,
                "s_dev": sb.s_dev, "s_blocksize": sb.s_blocksize, "s_blocksize_bits": sb.s_blocksize.bit_length() - 1,
                "s_maxbytes": row.s_maxbytes if row and row.s_maxbytes else sb.s_maxbytes, "s_type": fs_type, "s_flags": sb.s_flags | (row.s_flags if row else 0), "s_magic": sb.s_magic,
                "s_count": 1, "s_active": 1, "s_time_gran": sb.time_gran_ns, "s_id": sb.fs_name.encode("utf-8", "surrogateescape")[:31],
            })  # fmt: skip
            self.struct("struct super_block").set(sb.addr, "s_root", self.dentry(sb.s_root))
        return sb.addr

    def vfsmount(self, mnt: Mount) -> int:
        """The struct vfsmount inside the struct mount."""
        if not mnt.addr:
            layout = self.struct("struct mount")
            flags = sum(bit for ms, bit in _MNT_FLAG if mnt.mnt_flags & ms)
            mnt.addr = layout.new({
                "mnt_mountpoint": self.dentry(mnt.mountpoint), "mnt.mnt_root": self.dentry(mnt.mnt_root),
                "mnt.mnt_sb": self.super_block(mnt.mnt_sb), "mnt.mnt_flags": flags, "mnt_id": mnt.mnt_id,
                "mnt_devname": self.string(mnt.devname.encode("utf-8", "surrogateescape")),
            })  # fmt: skip
            parent = mnt.addr if mnt.mnt_parent is mnt else self.vfsmount(mnt.mnt_parent) - self.at_mnt
            layout.set(mnt.addr, "mnt_parent", parent)
        return mnt.addr + self.at_mnt

    # --- inodes and dentries ---
    def inode(self, inode: Inode) -> int:
        """struct inode; made when first needed."""
        if not inode.addr:
            layout = self.struct("struct inode")
            inode.addr = layout.new(self._inode_values(inode) | self._operations(inode))
            layout.set(inode.addr, "i_sb", self.super_block(inode.i_sb))
            data = layout.where("i_data")
            if data is not None:
                layout.set(inode.addr, "i_mapping", inode.addr + data[0])
                layout.set(inode.addr, "i_data.host", inode.addr)
            if inode.i_fop is not None:
                layout.set(inode.addr, "i_fop", self.file_operations(inode.i_fop))
            self.inodes[inode.addr] = inode
        return inode.addr

    def _operations(self, inode: Inode) -> dict[str, int | bytes]:
        row = FILE_SYSTEMS.get(inode.i_sb.fs_name)
        if row is None:
            return {"i_blkbits": PAGE_SHIFT}
        i_op, a_ops = row.of(inode.i_mode)
        not_cached = 0 if inode.i_sb.acls else -1  # ACL_NOT_CACHED: nobody has looked
        return {
            "i_op": self.symbol(i_op), "i_data.a_ops": self.symbol(a_ops), "i_data.gfp_mask": GFP_HIGHUSER_MOVABLE, "i_acl": not_cached,
            "i_default_acl": not_cached, "i_blkbits": row.blkbits, "i_writecount.counter": inode.i_writecount,
        }  # fmt: skip

    def inode_writers(self, inode: Inode) -> None:
        """i_writecount changed."""
        if inode.addr:
            self.struct("struct inode").set(inode.addr, "i_writecount.counter", inode.i_writecount)

    def _inode_values(self, inode: Inode) -> dict[str, int | bytes]:
        values: dict[str, int | bytes] = {
            "i_mode": inode.i_mode, "i_uid": inode.i_uid, "i_gid": inode.i_gid, "i_ino": inode.i_ino,
            "i_nlink": inode.i_nlink, "i_rdev": inode.i_rdev, "i_size": inode.i_size,
            "i_blocks": inode.i_blocks, "i_count.counter": max(1, inode.i_count),
        }  # fmt: skip
        for name, when_ns in (("i_atime", inode.atime), ("i_mtime", inode.mtime), ("i_ctime", inode.ctime)):
            seconds, rest = divmod(when_ns, 1_000_000_000)
            values |= {f"{name}.tv_sec": seconds, f"{name}.tv_nsec": rest, f"{name}_sec": seconds, f"{name}_nsec": rest}
        return values

    def inode_changed(self, inode: Inode) -> None:
        """Attributes changed: write them again if the struct exists."""
        if inode.addr:
            layout = self.struct("struct inode")
            for member, value in self._inode_values(inode).items():
                if isinstance(value, int):
                    layout.set(inode.addr, member, value)

    def inode_state(self, inode: Inode, state: int) -> None:
        """i_state is looked at."""
        self.struct("struct inode").set(inode.addr, "i_state", state)

    def inode_size(self, inode: Inode) -> None:
        """i_size changed."""
        if inode.addr:
            self.struct("struct inode").set(inode.addr, "i_size", inode.i_size)

    def dentry(self, dentry: Dentry) -> int:
        """struct dentry, its inode and all its ancestors."""
        if not dentry.addr:
            layout = self.struct("struct dentry")
            text = to_bytes(dentry.name)
            row = FILE_SYSTEMS.get(dentry.inode.i_sb.fs_name)
            d_op = row.d_op if row is not None and dentry is not dentry.inode.i_sb.s_root else ""
            dentry.addr = layout.new({
                "d_flags": _DENTRY_TYPE.get(dentry.inode.dtype, DCACHE_SPECIAL_TYPE) | D_OP_FLAGS.get(d_op, 0), "d_lockref.count": 1,
                "d_op": self.symbol(d_op),
            })  # fmt: skip
            self.dentries[dentry.addr] = dentry
            self._set_name(dentry, text)
            parent = dentry.addr if dentry.parent is dentry else self.dentry(dentry.parent)
            layout.set(dentry.addr, "d_parent", parent)
            layout.set(dentry.addr, "d_inode", self.inode(dentry.inode))
            layout.set(dentry.addr, "d_sb", self.super_block(dentry.inode.i_sb))
        return dentry.addr

    def _set_name(self, dentry: Dentry, text: bytes) -> None:
        layout = self.struct("struct dentry")
        place = layout.where("d_iname")
        assert place is not None
        at, inline = dentry.addr + place[0], place[1]
        if len(text) < inline:
            self.mem.write(at, text.ljust(inline, b"\0"))
        else:
            self.mem.write(at, bytes(inline))
            at = self.string(text)
        layout.set(dentry.addr, "d_name.name", at)
        layout.set(dentry.addr, "d_name.len", len(text))

    def dentry_moved(self, dentry: Dentry) -> None:
        """rename: a new name, a new parent."""
        if dentry.addr:
            layout = self.struct("struct dentry")
            old = layout.get(dentry.addr, "d_name.name")
            self._set_name(dentry, to_bytes(dentry.name))
            if old != dentry.addr + layout.offset("d_iname"):
                self.mem.free(old)
            layout.set(dentry.addr, "d_parent", self.dentry(dentry.parent))

    # --- files ---
    def file(self, file: File, addr: int = 0) -> None:
        """struct file of a file that is being opened; `addr`: where there is room for it already."""
        path = file.f_path
        inode = self.inode(file.f_inode)
        file.opener = opener = self.k.current.cred
        layout = self.struct("struct file")
        values: dict[str, int | bytes] = {
            "f_path.mnt": self.vfsmount(path.mnt), "f_path.dentry": self.dentry(path.dentry), "f_inode": inode,
            "f_op": self.file_operations(file.f_op), "f_flags": file.f_flags, "f_mode": file.f_mode, "f_count": 1,
            "f_mapping": self.mapping(inode), "f_cred": self.k.mirror.hold_cred(opener), "f_ra.prev_pos": -1,
        }  # fmt: skip
        if addr:
            self.mem.write(addr, layout.pack(values))
        file.addr = addr or layout.new(values)
        file.pos_addr = file.addr + self.at_f_pos

    def mapping(self, inode: int) -> int:
        """The struct address_space inside a struct inode; 0 where no inode has one."""
        data = self.struct("struct inode").where("i_data")
        return inode + data[0] if data is not None else 0

    def host_of(self, mapping: int) -> Inode:
        """mapping->host.  KeyError."""
        data = self.struct("struct inode").where("i_data")
        return self.inodes[mapping - (data[0] if data is not None else 0)]

    def file_flags(self, file: File) -> None:
        """f_flags, f_mode or f_op changed."""
        if file.addr:
            layout = self.struct("struct file")
            flags, mode = file.f_flags, file.f_mode
            if mode & FMODE_EXEC:  # Linux has that among the flags
                flags, mode = flags | FMODE_EXEC, mode & ~FMODE_EXEC | FMODE_PWRITE | FMODE_ATOMIC_POS
            elif mode & FMODE_WRITE and file.f_inode.is_reg:
                mode |= FMODE_WRITER
            layout.set(file.addr, "f_flags", flags)
            layout.set(file.addr, "f_mode", mode)
            layout.set(file.addr, "f_op", self.file_operations(file.f_op))
            self.inode_writers(file.f_inode)

    def set_pos(self, file: File, pos: int) -> None:
        """f_pos, in both places."""
        file.f_pos = pos
        self.mem.write_uint(file.pos_addr, 8, pos)

    def free_file(self, file: File) -> None:
        """The last close."""
        if file.addr:
            self.mem.free(file.addr)
            file.addr = 0
            if file.opener is not None:
                self.k.mirror.drop_cred(file.opener)
        dentry, inode = file.f_path.dentry, file.f_inode
        if not dentry.hashed:
            if not inode.i_count:
                self.free_dentry(dentry)
        elif dentry.parent is dentry and dentry is not file.f_path.mnt.mnt_root:  # a pipe, a socket, an anonymous inode
            if inode is inode.i_sb.anon_inode:
                self._free_dentry_alone(dentry)
            elif not inode.i_count:
                self._free_dentry_alone(dentry)
                self._free_inode(inode)

    def free_dentry(self, dentry: Dentry) -> None:
        """A name that is gone for good, and its inode when that is gone too."""
        self._free_dentry_alone(dentry)
        inode = dentry.inode
        if not inode.i_nlink and not inode.i_count:
            self._free_inode(inode)

    def forget_tree(self, dentry: Dentry) -> bool:
        """Free the structs of a generated directory that is gone; False when something in it is still open."""
        free = True
        for child in list((dentry.children or {}).values()):
            free = self.forget_tree(child) and free
        if not free or dentry.inode.i_count:
            return False
        self._free_dentry_alone(dentry)
        self._free_inode(dentry.inode)
        return True

    def _free_dentry_alone(self, dentry: Dentry) -> None:
        if dentry.addr:
            self.dentries.pop(dentry.addr, None)
            layout = self.struct("struct dentry")
            name = layout.get(dentry.addr, "d_name.name")
            if name != dentry.addr + layout.offset("d_iname"):
                self.mem.free_found(name)
            self.mem.free(dentry.addr)
            dentry.addr = 0

    def lock_context(self, inode: Inode) -> int:
        """inode->i_flctx."""
        known = self.lock_contexts.get(inode.addr)
        if known is None:
            known = self.mem.alloc(max(self.types.sizeof("struct file_lock_context"), 64))
            self.lock_contexts[inode.addr] = known
        return known

    def _free_inode(self, inode: Inode) -> None:
        if inode.addr:
            self.inodes.pop(inode.addr, None)
            if inode.addr in self.lock_contexts:
                self.mem.free(self.lock_contexts.pop(inode.addr))
            self.mem.free(inode.addr)
            inode.addr = 0
