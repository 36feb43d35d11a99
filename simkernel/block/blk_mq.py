"""From a bio to the disk and back: submit_bio, blk-mq, the completion interrupt.  block/blk-core.c, block/blk-mq.c."""

from __future__ import annotations

from simkernel.block.disk import SECTOR
from simkernel.block.face import BlockKernel
from simkernel.block.layer import DISK_IRQ, Bio
from simkernel.kernel.face import Body, Steps
from simkernel.kernel.kfunc import kernel_function


def submit_and_wait(k: BlockKernel, bios: list[Bio]) -> Steps[None]:
    """Submit some bios and sleep until all are complete (`yield from`); -ERESTARTSYS never: disk sleep is not broken."""
    for bio in bios:
        yield k.call("submit_bio", bio.addr)
    for bio in bios:
        while not bio.done:
            yield k.call("io_schedule", bio.addr)
        k.mem.free(bio.addr)
        del k.block.bios[bio.addr]


@kernel_function("void io_schedule(unsigned long bio)", source="kernel/sched/core.c")
def io_schedule(k: BlockKernel, bio: int) -> Body:
    """Sleep, uninterruptibly, until an operation is complete."""
    pending = k.block.bios[bio]
    if not pending.done:
        yield k.wait(pending.waiters, interruptible=False)
    return 0


@kernel_function("void submit_bio(struct bio *bio)", source="block/blk-core.c")
def submit_bio(k: BlockKernel, bio: int) -> Body:
    """A bio enters the block layer."""
    yield k.call("submit_bio_noacct", bio)
    return 0


@kernel_function(
    "void submit_bio_noacct(struct bio *bio)",
    source="block/blk-core.c",
    names={None: "generic_make_request", "5.9": "submit_bio_noacct"},
)
def submit_bio_noacct(k: BlockKernel, bio: int) -> Body:
    """Tracepoint, then the queue's way of making requests."""
    k.trace("block_bio_queue", bio)
    yield k.call("blk_mq_submit_bio", bio)
    return 0


@kernel_function(
    "void blk_mq_submit_bio(struct bio *bio)",
    source="block/blk-mq.c",
    names={None: "blk_mq_make_request", "5.8": "blk_mq_submit_bio"},
)
def blk_mq_submit_bio(k: BlockKernel, bio: int) -> Body:
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
    until="6.0",  # a part of its caller since
    names={None: "blk_account_io_start", "5.16": "__blk_account_io_start"},
)
def blk_account_io_start(k: BlockKernel, req: int) -> int:
    """Disk statistics begin."""
    k.trace("block_io_start", req)
    k.block.stats.start(k.block.requests[req].op & 1, k.clock.now_ns)
    return 0


@kernel_function("void blk_mq_start_request(struct request *rq)", source="block/blk-mq.c")
def blk_mq_start_request(k: BlockKernel, rq: int) -> int:
    """The driver takes the request: tracepoint block_rq_issue, and the time for statistics."""
    k.trace("block_rq_issue", rq)
    view = k.view(rq, "struct request")
    if k.types.has_member("struct request", "io_start_time_ns"):
        view.io_start_time_ns = k.clock.now_ns
    if k.types.has_member("struct request", "state"):
        view.state = 1  # MQ_RQ_IN_FLIGHT
    return 0


@kernel_function("blk_status_t sim_queue_rq(struct request *rq)", source="(simulated driver)")
def sim_queue_rq(k: BlockKernel, rq: int) -> int:
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
def sim_disk_interrupt(k: BlockKernel, irq: int, dev_id: int) -> Body:
    """The disk has finished a request."""
    yield k.call("blk_mq_complete_request", dev_id)
    return 1


@kernel_function("void blk_mq_complete_request(struct request *rq)", source="block/blk-mq.c")
def blk_mq_complete_request(k: BlockKernel, rq: int) -> Body:
    """Complete on this CPU."""
    yield k.call("blk_mq_end_request", rq, 0)
    return 0


@kernel_function("void blk_mq_end_request(struct request *rq, blk_status_t error)", source="block/blk-mq.c")
def blk_mq_end_request(k: BlockKernel, rq: int, error: int) -> Body:
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
def blk_update_request(k: BlockKernel, req: int, error: int, nr_bytes: int) -> Body:
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
    until="6.0",
    names={None: "blk_account_io_done", "5.16": "__blk_account_io_done"},
)
def blk_account_io_done(k: BlockKernel, req: int, now: int) -> int:
    """Disk statistics end."""
    k.trace("block_io_done", req)
    bio = k.block.requests[req]
    k.block.stats.done(bio.op & 1, bio.count, k.view(req, "struct request").start_time_ns, now)
    return 0


@kernel_function("void bio_endio(struct bio *bio)", source="block/bio.c")
def bio_endio(k: BlockKernel, bio: int) -> Body:
    """Wake who waits for the operation."""
    k.block.bios[bio].done = True
    yield k.wake(k.block.bios[bio].waiters)
    return 0
