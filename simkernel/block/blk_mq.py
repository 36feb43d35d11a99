"""From a bio to the disk and back: submit_bio, blk-mq, the completion interrupt.  block/blk-core.c, block/blk-mq.c."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from simkernel.block.disk import SECTOR, Disk
from simkernel.kernel.kfunc import kernel_function
from simkernel.kernel.task import WaitQueue

REQ_OP_READ, REQ_OP_WRITE = 0, 1
REQ_SYNC, REQ_META, REQ_RAHEAD = 1 << 11, 1 << 12, 1 << 19
DISK_MAJOR, DISK_NAME = 254, "vda"
DISK_IRQ = 10
MAX_SECTORS = 256  # of one request: 128 KiB


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


class BlockLayer:
    """The disk, its gendisk and request_queue in kernel memory, and what is in flight."""

    def __init__(self, k: Any, disk: Disk) -> None:
        self.k = k
        self.disk = disk
        self.bios: dict[int, Bio] = {}
        self.requests: dict[int, Bio] = {}
        self.writeback: dict[int, Any] = {}  # (inode, page indexes) on their way to do_writepages
        self.next_tag = 0
        # The machine's own account, to compare observers with: latency of every completion in ns, by request order.
        self.latencies_ns: list[int] = []
        self.bytes_read = self.bytes_written = 0
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
        self.next_tag = (self.next_tag + 1) % 64
        request.start_time_ns = self.k.clock.now_ns
        for name, value in (("part", self.bdev.addr), ("rq_disk", self.gendisk.addr)):
            if self.k.types.has_member("struct request", name):
                setattr(request, name, value)
        self.requests[request.addr] = bio
        return int(request.addr)


def submit_and_wait(k: Any, bios: list[Bio]) -> Any:
    """Submit some bios and sleep until all are complete (`yield from`); -ERESTARTSYS never: disk sleep is not broken."""
    for bio in bios:
        yield k.call("submit_bio", bio.addr)
    for bio in bios:
        while not bio.done:
            yield k.call("io_schedule", bio.addr)
        k.mem.free(bio.addr)
        del k.block.bios[bio.addr]


@kernel_function("void io_schedule(unsigned long bio)", source="kernel/sched/core.c")
def io_schedule(k: Any, bio: int) -> Any:
    """Sleep, uninterruptibly, until an operation is complete."""
    pending = k.block.bios[bio]
    if not pending.done:
        yield k.wait(pending.waiters, interruptible=False)
    return 0


@kernel_function("void submit_bio(struct bio *bio)", source="block/blk-core.c")
def submit_bio(k: Any, bio: int) -> Any:
    """A bio enters the block layer."""
    yield k.call("submit_bio_noacct", bio)
    return 0


@kernel_function(
    "void submit_bio_noacct(struct bio *bio)",
    source="block/blk-core.c",
    names={None: "generic_make_request", "5.9": "submit_bio_noacct"},
)
def submit_bio_noacct(k: Any, bio: int) -> Any:
    """Tracepoint, then the queue's way of making requests."""
    k.trace("block_bio_queue", bio)
    yield k.call("blk_mq_submit_bio", bio)
    return 0


@kernel_function(
    "void blk_mq_submit_bio(struct bio *bio)",
    source="block/blk-mq.c",
    names={None: "blk_mq_make_request", "5.8": "blk_mq_submit_bio"},
)
def blk_mq_submit_bio(k: Any, bio: int) -> Any:
    """Make the request and, the hardware queue being free, issue it directly."""
    request = k.block.new_request(k.block.bios[bio])
    k.trace("block_getrq", bio)
    yield k.call("blk_account_io_start", request)
    yield k.call("blk_mq_start_request", request)
    yield k.call("sim_queue_rq", request)
    return 0


@kernel_function(
    "void blk_account_io_start(struct request *req)",
    source="block/blk-mq.c",
    names={None: "blk_account_io_start", "5.16": "__blk_account_io_start"},
)
def blk_account_io_start(k: Any, req: int) -> int:
    """Disk statistics begin."""
    return 0


@kernel_function("void blk_mq_start_request(struct request *rq)", source="block/blk-mq.c")
def blk_mq_start_request(k: Any, rq: int) -> int:
    """The driver takes the request: tracepoint block_rq_issue, and the time for statistics."""
    k.trace("block_rq_issue", rq)
    view = k.view(rq, "struct request")
    if k.types.has_member("struct request", "io_start_time_ns"):
        view.io_start_time_ns = k.clock.now_ns
    if k.types.has_member("struct request", "state"):
        view.state = 1  # MQ_RQ_IN_FLIGHT
    return 0


@kernel_function("blk_status_t sim_queue_rq(struct request *rq)", source="(simulated driver)")
def sim_queue_rq(k: Any, rq: int) -> int:
    """Give the request to the disk; it will interrupt when it is done."""
    block = k.block
    bio = block.requests[rq]
    issued = k.clock.now_ns
    at = block.disk.schedule(issued, bio.sector, bio.count)

    def complete() -> None:
        block.latencies_ns.append(at - issued)
        k.irqs.raise_irq(DISK_IRQ, "sim_disk_interrupt", DISK_IRQ, rq)

    k.clock.add(at, complete)
    return 0


@kernel_function("irqreturn_t sim_disk_interrupt(int irq, void *dev_id)", source="(simulated driver)")
def sim_disk_interrupt(k: Any, irq: int, dev_id: int) -> Any:
    """The disk has finished a request."""
    yield k.call("blk_mq_complete_request", dev_id)
    return 1


@kernel_function("void blk_mq_complete_request(struct request *rq)", source="block/blk-mq.c")
def blk_mq_complete_request(k: Any, rq: int) -> Any:
    """Complete on this CPU."""
    yield k.call("blk_mq_end_request", rq, 0)
    return 0


@kernel_function("void blk_mq_end_request(struct request *rq, blk_status_t error)", source="block/blk-mq.c")
def blk_mq_end_request(k: Any, rq: int, error: int) -> Any:
    """Update, account, free."""
    bio = k.block.requests[rq]
    yield k.call("blk_update_request", rq, error, bio.count * SECTOR)
    yield k.call("blk_account_io_done", rq, k.clock.now_ns)
    del k.block.requests[rq]
    k.mem.free(rq)
    return 0


@kernel_function(
    "bool blk_update_request(struct request *req, blk_status_t error, unsigned int nr_bytes)", source="block/blk-mq.c"
)
def blk_update_request(k: Any, req: int, error: int, nr_bytes: int) -> Any:
    """Tracepoint block_rq_complete; the bio's data has moved."""
    bio = k.block.requests[req]
    k.trace("block_rq_complete", req, error, nr_bytes)
    if bio.op & 1:
        k.block.disk.write(bio.sector, bio.data)
        k.block.bytes_written += nr_bytes
    else:
        k.block.bytes_read += nr_bytes
    yield k.call("bio_endio", bio.addr)
    return 0


@kernel_function(
    "void blk_account_io_done(struct request *req, u64 now)",
    source="block/blk-mq.c",
    names={None: "blk_account_io_done", "5.16": "__blk_account_io_done"},
)
def blk_account_io_done(k: Any, req: int, now: int) -> int:
    """Disk statistics end."""
    return 0


@kernel_function("void bio_endio(struct bio *bio)", source="block/bio.c")
def bio_endio(k: Any, bio: int) -> Any:
    """Wake who waits for the operation."""
    k.block.bios[bio].done = True
    yield k.wake(k.block.bios[bio].waiters)
    return 0
