"""The security hooks as file systems ask them: with files, paths and inodes.  security/security.c.

Structures are made only when somebody watches the hook.  Where a name or an inode does not exist yet, it is made, asked about, and
goes again when a program refuses (`undo`).
"""

from __future__ import annotations

from collections.abc import Callable, Sized

from arch.abi.capability import CAP_SYS_ADMIN
from arch.abi.errno import ENFILE, ENOMEM, ENOSPC
from arch.abi.kern_levels import KERN_INFO
from arch.errors import KernelError
from simkernel.fs.inode import Dentry, File, Inode, Mount, Path, SuperBlock
from simkernel.fs.mirror import Mirror
from simkernel.kernel.face import KernelFace

About = int | bytes | File | Path | Dentry | Inode | Mount | SuperBlock

# struct iattr, include/linux/fs.h
ATTR_MODE, ATTR_UID, ATTR_GID, ATTR_SIZE, ATTR_ATIME, ATTR_MTIME, ATTR_CTIME = (1 << bit for bit in range(7))
ATTR_ATIME_SET, ATTR_MTIME_SET, ATTR_FORCE, ATTR_KILL_SUID, ATTR_KILL_SGID = (1 << bit for bit in (7, 8, 9, 11, 12))
ATTR_FILE, ATTR_OPEN, ATTR_TIMES_SET, ATTR_TOUCH = (1 << bit for bit in (13, 15, 16, 17))


class FsSecurity:
    """`k.vfs.security`."""

    def __init__(self, k: KernelFace, mirror: Mirror, files: Sized) -> None:
        self.k, self.mirror, self.files = k, mirror, files
        self.max_files = (1 << 63) - 1  # fs.file-max
        self.most_told = 0  # open files when the log last said that there are too many
        self.watched = k.security_hooks.watched
        self.early_file = 0  # a struct file that was made before the walk to what is opened

    def ask(self, hook: str, *about: About) -> None:
        """KernelError if a program refuses."""
        if hook in self.watched:
            answer = self.answer(hook, *about)
            if answer < 0:
                raise KernelError(-answer)

    def answer(self, hook: str, *about: About) -> int:
        """What they say to a hook that is watched."""
        made: list[int] = []
        try:
            return self.k.security_hooks.call(hook, tuple(self._address(thing, made) for thing in about))
        finally:
            for address in made:
                self.k.mem.free(address)

    def _address(self, thing: About, made: list[int]) -> int:
        mirror = self.mirror
        match thing:
            case int():
                return thing
            case File():
                return thing.addr
            case Inode():
                return mirror.inode(thing)
            case Dentry():
                return mirror.dentry(thing)
            case Mount():
                return mirror.vfsmount(thing)
            case SuperBlock():
                return mirror.super_block(thing)
            case Path():
                made.append(
                    mirror.struct("struct path").new(
                        {"mnt": mirror.vfsmount(thing.mnt), "dentry": mirror.dentry(thing.dentry)}
                    )
                )
            case bytes():
                made.append(mirror.string(thing))
        return made[-1]

    def mount(self, where: Path, dev: str, fs_name: str, flags: int, data: str) -> None:
        """security_sb_mount(): texts that were not given are no pointers."""
        texts = [text.encode("utf-8", "surrogateescape") if text else 0 for text in (dev, fs_name, data)]
        self.ask("sb_mount", texts[0], where, texts[1], flags, texts[2])

    def parameter(self, name: str, value: str) -> None:
        """vfs_parse_fs_param(): security modules see each parameter first, and those of old calls as one text before."""
        if "fs_context_parse_param" not in self.watched:
            return
        key, text = (self.mirror.string(part.encode("utf-8", "surrogateescape")) for part in (name, value))
        shown = self.mirror.struct("struct fs_parameter").new(
            {"key": key, "string": text, "size": len(value), "type": 2}
        )
        context = self.k.mem.alloc(256)  # struct fs_context: nothing of it is filled in
        try:
            self.ask("fs_context_parse_param", context, shown)
        finally:
            for address in (key, text, shown, context):
                self.k.mem.free(address)

    def new_super(self, sb: SuperBlock) -> None:
        """alloc_super() and vfs_get_tree(): KernelError takes it away again."""
        if not self.watched:
            return
        try:
            try:
                self.ask("sb_alloc_security", sb)
            except KernelError:
                raise KernelError(ENOMEM, "no room for what modules know of a file system") from None
            self.alloc_inode(sb.s_root.inode, ENOMEM)
            self.ask("d_instantiate", sb.s_root, sb.s_root.inode)
            self.ask("sb_set_mnt_opts", sb, 0, 0, 0)
            self.ask("sb_kern_mount", sb)
        except KernelError:
            if not sb.mounts and sb.pseudo_mountable:
                sb.kill()
            raise

    def super_gone(self, sb: SuperBlock) -> None:
        """generic_shutdown_super(), destroy_super()."""
        if self.watched:
            self.ask("sb_delete", sb)
            self.ask("sb_free_security", sb)

    def show_options(self, sb: SuperBlock) -> None:
        """security_sb_show_options(), which modules write into the file that is read."""
        if "sb_show_options" in self.watched:
            seq = self.k.mem.alloc(256)
            self.answer("sb_show_options", seq, sb)
            self.k.mem.free(seq)

    def file_permission(self, file: File, mask: int) -> None:
        """Of reading and writing by other ways than read and write."""
        if "file_permission" in self.watched:
            self.ask("file_permission", file, mask)

    def alloc_early_file(self) -> None:
        """alloc_empty_file(), before the walk to what is opened.  ENFILE, KernelError of who watches."""
        self._new_file()

    def _new_file(self) -> None:
        """ENFILE beyond fs.file-max.  For who watches the hook: room that the next new file fills.  KernelError."""
        if len(self.files) >= self.max_files and not self.k.capable(CAP_SYS_ADMIN):
            if len(self.files) > self.most_told:
                self.k.printk(f"VFS: file-max limit {self.max_files} reached", KERN_INFO)
                self.most_told = len(self.files)
            raise KernelError(ENFILE, "fs.file-max")
        if "file_alloc_security" in self.watched:
            addr = self.k.mem.alloc(self.mirror.struct("struct file").size)
            try:
                self.ask("file_alloc_security", addr)
            except KernelError:
                self.k.mem.free(addr)
                raise
            self.early_file = addr

    def take_early_file(self) -> int:
        """Its address, or 0."""
        if not self.early_file:
            self._new_file()
        addr, self.early_file = self.early_file, 0
        return addr

    def free_early_file(self) -> None:
        """fput() of a file that was not opened."""
        addr, self.early_file = self.early_file, 0
        if addr:
            self.ask("file_free_security", addr)
            self.k.mem.free(addr)

    def setattr(
        self, dentry: Dentry, valid: int, mode: int = 0, uid: int = 0, gid: int = 0, size: int = 0, file: int = 0
    ) -> None:
        """security_inode_setattr() of notify_change(): with a struct iattr."""
        if "inode_setattr" not in self.watched:
            return
        values = {"ia_valid": valid, "ia_mode": mode, "ia_uid": uid, "ia_gid": gid, "ia_size": size, "ia_file": file}
        attr = self.mirror.struct("struct iattr").new(values)
        try:
            self.ask("inode_setattr", dentry, attr)
        finally:
            self.k.mem.free(attr)

    def made(self, parent: Inode, dentry: Dentry, undo: Callable[[], object], tmpfile: bool = False) -> None:
        """A new inode of a file system: its blob, its label, its name."""
        watched = self.watched
        if not watched:
            return
        try:
            self.alloc_inode(dentry.inode, ENOSPC)
            if "inode_init_security" in watched:
                name = self.mirror.dentry(dentry) + self.mirror.struct("struct dentry").offset("d_name")
                scratch = self.k.mem.alloc(64)
                if tmpfile:  # it has a name when it is opened
                    name = scratch + 24
                    self.mirror.struct("struct qstr").set(name, "name", scratch + 56)
                try:
                    self.ask("inode_init_security", dentry.inode, parent, name, scratch, scratch + 8, scratch + 16)
                finally:
                    self.k.mem.free(scratch)
        except KernelError:
            undo()
            raise
        self.ask("d_instantiate", dentry, dentry.inode)

    def alloc_inode(self, inode: Inode, errno: int) -> None:
        """security_inode_alloc() of inode_init_always(): a refusal is as if there were no memory, which file systems call by an errno."""
        try:
            self.ask("inode_alloc_security", inode)
        except KernelError:
            raise KernelError(errno, "no room for what modules know of an inode") from None

    def anonymous(
        self, dentry: Dentry, purpose: bytes | None = None, errno: int = ENOMEM, private: bool = False
    ) -> None:
        """A new inode that no directory has; `purpose`: of anon_inode_make_secure_inode(); `private`: S_PRIVATE, which modules do not see."""
        if not self.watched:
            return
        self.alloc_inode(dentry.inode, errno)
        if purpose is not None and "inode_init_security_anon" in self.watched:
            text = self.mirror.string(purpose)
            name = self.mirror.struct("struct qstr").new({"name": text, "len": len(purpose)})
            try:
                self.ask("inode_init_security_anon", dentry.inode, name, 0)
            finally:
                self.k.mem.free(name)
                self.k.mem.free(text)
        if not private:
            self.ask("d_instantiate", dentry, dentry.inode)
