"""simfs: a file system whose file contents live on the simulated disk.

Names and attributes are kept as tmpfs keeps them; contents are pages in the page cache, backed by 4 KiB blocks of the
disk.  A read that misses goes to the disk (with readahead); a write dirties pages, which sync, fsync or too many dirty
pages write back.  /proc/sys/vm/drop_caches empties the cache of clean pages.  mm/filemap.c, mm/readahead.c, fs/sync.c.
"""

from __future__ import annotations

from arch.abi.errno import EFAULT, EISDIR, ENOSPC
from arch.abi.fcntl import O_APPEND, O_SYNC
from arch.abi.internal import REQ_OP_READ, REQ_OP_WRITE, REQ_RAHEAD, REQ_SYNC
from arch.abi.limits import MAX_LFS_FILESIZE, PAGE_SIZE
from arch.abi.stat import S_IALLUGO, S_IFDIR, S_IFREG, makedev
from arch.errors import KernelError
from simkernel.block.blk_mq import submit_and_wait
from simkernel.block.disk import CAPACITY_SECTORS, SECTOR
from simkernel.block.face import BlockKernel
from simkernel.fs.inode import Cred, Dentry, File, FileOperations, Inode
from simkernel.fs.namei import init_owner
from simkernel.fs.pagecache import Mapping
from simkernel.fs.tmpfs import BOGO_DIRENT_SIZE, TmpfsInode, TmpfsSuper
from simkernel.fs.vfs import FsType, Vfs
from simkernel.kernel.face import Body, Steps
from simkernel.kernel.kfunc import kernel_function

SIMFS_MAGIC = 0x53494D46
SECTORS_PER_PAGE = PAGE_SIZE // SECTOR
READAHEAD_PAGES = 32
DIRTY_LIMIT_PAGES = 2048  # beyond this a writer helps to write back (balance_dirty_pages)


def simfs_inode(file: File) -> SimfsInode:
    """The inode of an open file of simfs."""
    assert isinstance(file.f_inode, SimfsInode)
    return file.f_inode


def simfs_fsync(k: BlockKernel, file: File) -> Body:
    """f_op->fsync."""
    return (yield k.call("file_write_and_wait_range", file.addr, 0, MAX_LFS_FILESIZE))


SIMFS_FILE_OPERATIONS = FileOperations(
    "simfs_file_operations",
    direct_io=None,
    read_iter="simfs_file_read_iter",
    write_iter="simfs_file_write_iter",
    llseek="generic_file_llseek",
    fsync=simfs_fsync,
)


class SimfsInode(TmpfsInode):
    """A simfs inode: regular files map page index -> disk block, and know their dirty pages."""

    __slots__ = ("blocks", "dirty")

    def __init__(self, sb: SimfsSuper, mode: int) -> None:
        super().__init__(sb, mode)
        self.blocks: dict[int, int] = {}
        self.dirty: set[int] = set()
        if self.is_reg:
            self.i_fop = SIMFS_FILE_OPERATIONS
            self.i_mapping = Mapping(sb.pool, self, self.on_disk)
            self.i_mapping.at_hand = False

    @property
    def super(self) -> SimfsSuper:
        """The file system that it is on."""
        assert isinstance(self.i_sb, SimfsSuper)
        return self.i_sb

    @property
    def mapping(self) -> Mapping:
        """A regular file's pages."""
        assert self.i_mapping is not None
        return self.i_mapping

    def on_disk(self, index: int) -> bytes:
        """The platter's bytes of one page (a hole is empty)."""
        block = self.blocks.get(index)
        sb = self.super
        return b"" if block is None else sb.disk.read(block * SECTORS_PER_PAGE, SECTORS_PER_PAGE)

    def _new(self, parent: Dentry, name: str, mode: int, cred: Cred) -> Dentry:
        sb = self.super
        sb.take_inode()
        inode = SimfsInode(sb, mode)
        init_owner(inode, self, mode, cred, sb.pool.charge)
        self._changed(BOGO_DIRENT_SIZE)
        return parent.add(name, inode)

    def tmpfile(self, parent: Dentry, mode: int, cred: Cred) -> Inode:
        """An unnamed file."""
        sb = self.super
        sb.take_inode()
        inode = SimfsInode(sb, S_IFREG)
        init_owner(inode, self, mode & S_IALLUGO | S_IFREG, cred, sb.pool.charge)
        inode.i_nlink = 0
        return inode

    def getattr(self) -> None:
        """Blocks are those on the disk or about to be."""
        if self.is_reg:
            self.i_blocks = len(self.blocks.keys() | self.dirty) * SECTORS_PER_PAGE

    def setattr_size(self, size: int) -> None:
        """Truncate: pages and blocks beyond the end are free again."""
        super().setattr_size(size)
        first = -(-size // PAGE_SIZE)
        self._free_blocks([index for index in self.blocks if index >= first])
        self.dirty = {index for index in self.dirty if index < first}

    def evict(self) -> None:
        """The last name and descriptor are gone."""
        self._free_blocks(list(self.blocks))
        self.dirty.clear()
        super().evict()

    def _free_blocks(self, indexes: list[int]) -> None:
        sb = self.super
        sb.free += [self.blocks.pop(index) for index in indexes]
        sb.free.sort(reverse=True)

    def settle(self) -> None:
        """What is dirty goes to the disk at once; what finds no room there is lost."""
        sb = self.super
        for index in sorted(self.dirty):
            if index not in self.blocks and sb.free:
                self.blocks[index] = sb.take_block_number()
            if index in self.blocks:
                data = self.mapping.pool.read(self.mapping.page(index), PAGE_SIZE)
                sb.disk.write(self.blocks[index] * SECTORS_PER_PAGE, data)
        self.dirty.clear()

    def drop_clean(self) -> None:
        """invalidate_mapping_pages()."""
        for index in sorted(self.mapping.pages.keys() - self.dirty):
            self.mapping.drop(index)


class SimfsSuper(TmpfsSuper):
    """One simfs: the disk and its free blocks."""

    def __init__(self, k: BlockKernel, vfs: Vfs, dev: int) -> None:
        self.k = k
        self.disk = k.block.disk
        self.free = list(range(CAPACITY_SECTORS // SECTORS_PER_PAGE - 1, 15, -1))  # taken from the low end
        super().__init__(dev, vfs.now, vfs.pool, "", fs_name="simfs", root_mode=0o755)
        self.s_magic = SIMFS_MAGIC
        self.xattr_kinds = (b"security.", b"trusted.", b"user.")
        self.options = ""
        root = SimfsInode(self, S_IFDIR | 0o755)
        self.s_root = Dentry("/", None, root)

    def take_block_number(self) -> int:
        """A free disk block; ENOSPC."""
        if not self.free:
            raise KernelError(ENOSPC, "disk full")
        return self.free.pop()

    def inodes(self) -> list[SimfsInode]:
        """Every regular file, in tree order."""
        out, stack = [], [self.s_root]
        while stack:
            dentry = stack.pop()
            if isinstance(dentry.inode, SimfsInode) and dentry.inode.is_reg:
                out.append(dentry.inode)
            stack += (dentry.children or {}).values()
        return out

    def kill(self) -> None:
        """kill_block_super(): the pages go; what is on the disk is there for the next mount."""
        for inode in self.inodes():
            inode.settle()
            inode.drop_clean()

    def sync_fs(self, k: BlockKernel) -> Steps[None]:
        """sync_filesystem(): write every dirty page (`yield from`)."""
        for inode in self.inodes():
            if inode.dirty:
                yield from write_back(k, inode, sorted(inode.dirty))

    def statfs(self) -> dict[str, int]:
        """Blocks of the disk."""
        total = CAPACITY_SECTORS // SECTORS_PER_PAGE
        return {**super().statfs(), "f_blocks": total, "f_bfree": len(self.free), "f_bavail": len(self.free)}


def install(k: BlockKernel) -> None:
    """Register simfs and mount it at /mnt."""
    vfs = k.vfs
    sb = SimfsSuper(k, vfs, makedev(254, 0))  # get_tree_bdev(): one of the disk, however often it is mounted
    vfs.register(FsType("simfs", lambda vfs, devname, flags, data: sb, nodev=False))
    vfs.mount_at("/mnt", "simfs", "/dev/vda")
    k.drop_caches = lambda: drop_caches(vfs)


def drop_caches(vfs: Vfs) -> None:
    """/proc/sys/vm/drop_caches: forget clean pages, so that the next read goes to the disk."""
    for mount in vfs.mounts:
        if isinstance(mount.mnt_sb, SimfsSuper):
            for inode in mount.mnt_sb.inodes():
                inode.drop_clean()


def runs_of(numbers: list[tuple[int, int]]) -> list[list[tuple[int, int]]]:
    """Group (page index, block) pairs into runs of consecutive blocks, at most READAHEAD_PAGES long."""
    runs: list[list[tuple[int, int]]] = []
    for index, block in numbers:
        if runs and runs[-1][-1][1] + 1 == block and len(runs[-1]) < READAHEAD_PAGES:
            runs[-1].append((index, block))
        else:
            runs.append([(index, block)])
    return runs


@kernel_function("ssize_t simfs_file_read_iter(struct kiocb *iocb, struct iov_iter *to)", source="fs/ext4/file.c")
def simfs_file_read_iter(k: BlockKernel, iocb: int, to: int) -> Body:
    """read(): through the page cache."""
    return (yield k.call("filemap_read", iocb, to, 0))


@kernel_function(
    "ssize_t filemap_read(struct kiocb *iocb, struct iov_iter *iter, ssize_t already_read)",
    source="mm/filemap.c",
    names={None: "do_generic_file_read", "4.14": "generic_file_buffered_read", "5.12": "filemap_read"},
)
def filemap_read(k: BlockKernel, iocb: int, iter_: int, already_read: int) -> Body:
    """Bring the missing pages in, then copy."""
    request = k.vfs.kiocbs[iocb]
    inode = simfs_inode(request.file)
    if inode.is_dir:
        return -EISDIR
    size = min(request.it.count, max(0, inode.i_size - request.pos))
    if size <= 0:
        return 0
    first, last = request.pos // PAGE_SIZE, (request.pos + size - 1) // PAGE_SIZE
    wanted = [i for i in range(first, last + 1) if i not in inode.mapping.pages and i in inode.blocks]
    if wanted:
        yield k.call("page_cache_ra_unbounded", request.file.addr, wanted[0], last - wanted[0] + 1, 0)
    data = inode.mapping.read(request.pos, size)
    copied = request.it.copy_to(data)
    request.pos += copied
    k.vfs.mounts.touch_atime(request.file.f_path)
    return copied or -EFAULT


@kernel_function(
    "void page_cache_ra_unbounded(struct file *file, unsigned long index, unsigned long nr_to_read, unsigned long lookahead)",
    source="mm/readahead.c",
    names={None: "__do_page_cache_readahead", "5.8": "page_cache_ra_unbounded"},
)
def page_cache_ra_unbounded(k: BlockKernel, file: int, index: int, nr_to_read: int, lookahead: int) -> Body:
    """Read pages that are not in the cache, and up to READAHEAD_PAGES beyond them."""
    inode = simfs_inode(k.vfs.files[file])
    end = index + max(nr_to_read, READAHEAD_PAGES)
    missing = [(i, inode.blocks[i]) for i in range(index, end) if i in inode.blocks and i not in inode.mapping.pages]
    layer = k.block
    bios = [
        layer.new_bio(
            REQ_OP_READ | (REQ_RAHEAD if run[0][0] >= index + nr_to_read else 0),
            run[0][1] * SECTORS_PER_PAGE,
            len(run) * SECTORS_PER_PAGE,
        )
        for run in runs_of(missing)
    ]
    yield from submit_and_wait(k, bios)
    for page, _ in missing:
        inode.mapping.page(page)
    return 0


@kernel_function("ssize_t simfs_file_write_iter(struct kiocb *iocb, struct iov_iter *from)", source="fs/ext4/file.c")
def simfs_file_write_iter(k: BlockKernel, iocb: int, from_: int) -> Body:
    """write(): FS-independent work first, then the pages that changed are dirty; O_SYNC waits for the disk."""
    request = k.vfs.kiocbs[iocb]
    inode = simfs_inode(request.file)
    start = inode.i_size if request.file.f_flags & O_APPEND else request.pos
    partial = {start // PAGE_SIZE, (start + max(request.it.count, 1) - 1) // PAGE_SIZE}
    for index in sorted(partial):
        if index in inode.blocks and index not in inode.mapping.pages:
            yield k.call("page_cache_ra_unbounded", request.file.addr, index, 1, 0)
    ret = yield k.call("generic_file_write_iter", iocb, from_)
    if ret > 0:
        end = request.pos
        changed = range((end - ret) // PAGE_SIZE, (end - 1) // PAGE_SIZE + 1)
        inode.dirty.update(changed)
        if request.file.f_flags & O_SYNC or len(inode.dirty) > DIRTY_LIMIT_PAGES:
            yield from write_back(k, inode, sorted(inode.dirty))
    return ret


@kernel_function(
    "int file_write_and_wait_range(struct file *file, loff_t lstart, loff_t lend)",
    source="mm/filemap.c",
    names={None: "filemap_write_and_wait_range", "4.13": "file_write_and_wait_range"},
)
def file_write_and_wait_range(k: BlockKernel, file: int, lstart: int, lend: int) -> Body:
    """fsync(): the file's dirty pages reach the disk."""
    inode = simfs_inode(k.vfs.files[file])
    if inode.dirty:
        yield from write_back(k, inode, sorted(inode.dirty))
    return 0


def write_back(k: BlockKernel, inode: SimfsInode, indexes: list[int]) -> Steps[None]:
    """Write some dirty pages through the block layer and wait (`yield from`)."""
    work = max(k.block.writeback, default=0) + 1
    k.block.writeback[work] = (inode, indexes)
    yield k.call("do_writepages", inode.addr, work)


@kernel_function("int do_writepages(struct inode *inode, unsigned long work)", source="mm/page-writeback.c")
def do_writepages(k: BlockKernel, inode_addr: int, work: int) -> Body:
    """Allocate blocks where pages have none, make bios of consecutive blocks, wait for all."""
    inode, indexes = k.block.writeback.pop(work)
    assert isinstance(inode, SimfsInode)
    sb = inode.super
    pairs = []
    for index in indexes:
        if index not in inode.blocks:
            inode.blocks[index] = sb.take_block_number()
        inode.dirty.discard(index)
        pairs.append((index, inode.blocks[index]))
    bios = []
    for run in runs_of(pairs):
        data = b"".join(inode.mapping.pool.read(inode.mapping.page(index), PAGE_SIZE) for index, _ in run)
        bios.append(
            k.block.new_bio(REQ_OP_WRITE | REQ_SYNC, run[0][1] * SECTORS_PER_PAGE, len(run) * SECTORS_PER_PAGE, data)
        )
    yield from submit_and_wait(k, bios)
    if not inode.dirty:
        inode.i_state = 0
    return 0
