"""The disk as the kernel has it: gendisk, queue, and the operations in flight.  include/linux/{bio,blkdev,blk-mq}.h."""

from __future__ import annotations

from arch.records import dataclass, field
from simkernel.block.disk import SECTOR, Disk
from simkernel.fs.inode import Inode
from simkernel.kernel.face import KernelFace
from simkernel.kernel.task import WaitQueue

DISK_MAJOR, DISK_NAME = 254, "vda"
DISK_IRQ = 10
MAX_SECTORS = 256  # of one request: 128 KiB
TAGS = 64  # requests that may be in flight


@dataclass
class Bio:
    """One struct bio: an operation on consecutive sectors, and who waits for it."""

    addr: int
    op: int  # REQ_OP_* and flags
    sector: int
    data: bytes  # to be written; b"" for a read
    count: int  # sectors
    done: bool = False
    waiters: WaitQueue = field(default_factory=lambda: WaitQueue("bio"))


class DiskStats:
    """struct disk_stats of the one disk; times in ns."""

    def __init__(self) -> None:
        self.ios = [0, 0]  # by REQ_OP_READ, REQ_OP_WRITE
        self.sectors = [0, 0]
        self.ns = [0, 0]  # from the request's start to its end, summed
        self.moving = [0, 0]  # requests in flight
        self.busy_ns = 0  # io_ticks: at least one request was on its way
        self._busy_since = 0

    @property
    def in_flight(self) -> int:
        """Requests of both kinds."""
        return sum(self.moving)

    def start(self, kind: int, now: int) -> None:
        """A request is made."""
        if not self.in_flight:
            self._busy_since = now
        self.moving[kind] += 1

    def done(self, kind: int, sectors: int, started: int, now: int) -> None:
        """A request is complete."""
        self.ios[kind] += 1
        self.sectors[kind] += sectors
        self.ns[kind] += now - started
        self.moving[kind] -= 1
        if not self.in_flight:
            self.busy_ns += now - self._busy_since


class BlockLayer:
    """The disk, its gendisk and request_queue in kernel memory, and what is in flight."""

    def __init__(self, k: KernelFace, disk: Disk) -> None:
        self.k = k
        self.disk = disk
        self.bios: dict[int, Bio] = {}
        self.requests: dict[int, Bio] = {}
        self.writeback: dict[int, tuple[Inode, list[int]]] = {}  # (inode, page indexes) on their way to do_writepages
        self.next_tag = 0
        # The machine's own account, to compare observers with: latency of every completion in ns, by request order.
        self.latencies_ns: list[int] = []
        self.bytes_read = self.bytes_written = 0
        self.stats = DiskStats()
        dev = DISK_MAJOR << 20
        self.gendisk = k.new("struct gendisk")
        self.gendisk.major = DISK_MAJOR
        self.gendisk.minors = 16
        k.mem.write(self.gendisk.address_of("disk_name"), DISK_NAME.encode())
        self.queue = k.new("struct request_queue")
        self.bdev = k.new("struct block_device")
        self.bdev.bd_dev = dev
        self.bdev.bd_disk = self.gendisk.addr
        self.gendisk.queue = self.queue.addr
        if k.types.has_member("struct gendisk", "part0"):
            part0 = k.types.struct("struct gendisk").member("part0")
            if part0.type.strip.size == k.arch.model.word:
                self.gendisk.part0 = self.bdev.addr
        if k.types.has_member("struct request_queue", "disk"):
            self.queue.disk = self.gendisk.addr

    def new_bio(self, op: int, sector: int, count: int, data: bytes = b"") -> Bio:
        """bio_alloc(): a struct bio that describes the operation."""
        view = self.k.new("struct bio")
        view.bi_opf = op if self.k.types.has_member("struct bio", "bi_opf") else 0
        view.bi_iter.bi_sector = sector
        view.bi_iter.bi_size = count * SECTOR
        if self.k.types.has_member("struct bio", "bi_bdev"):
            view.bi_bdev = self.bdev.addr
        else:
            view.bi_disk = self.gendisk.addr
        bio = Bio(view.addr, op, sector, data, count)
        self.bios[bio.addr] = bio
        return bio

    def new_request(self, bio: Bio) -> int:
        """blk_mq_get_request(): a struct request for one bio."""
        request = self.k.new("struct request")
        request.q = self.queue.addr
        request.cmd_flags = bio.op
        request["__data_len"] = bio.count * SECTOR
        request["__sector"] = bio.sector
        request.bio = request.biotail = bio.addr
        request.tag = self.next_tag
        self.next_tag = (self.next_tag + 1) % TAGS
        request.start_time_ns = self.k.clock.now_ns
        for name, value in (("part", self.bdev.addr), ("rq_disk", self.gendisk.addr)):
            if self.k.types.has_member("struct request", name):
                setattr(request, name, value)
        self.requests[request.addr] = bio
        return int(request.addr)
