"""Block layer events.  include/trace/events/block.h."""

from __future__ import annotations

from tracing.events.declare import NEVER, TraceEventDecl

block_touch_buffer = TraceEventDecl(
    "block", "block_touch_buffer",
    missing=NEVER,
    proto="struct buffer_head *bh",
    entry=(
        ("dev_t dev", "bh->b_bdev->bd_dev"),
        ("sector_t sector", "bh->b_blocknr"),
        ("size_t size", "bh->b_size"),
    ),
    print='"%d,%d sector=%llu size=%zu", MAJOR(REC->dev), MINOR(REC->dev), (unsigned long long)REC->sector, REC->size',
)  # fmt: skip
block_dirty_buffer = block_touch_buffer.like("block_dirty_buffer", missing=NEVER)
block_rq_requeue = TraceEventDecl(
    "block", "block_rq_requeue",
    missing=NEVER,
    proto="struct request *rq",
    entry=(
        ("dev_t dev", "rq_dev(rq)"),
        ("sector_t sector", "blk_rq_trace_sector(rq)"),
        ("unsigned int nr_sector", "blk_rq_trace_nr_sectors(rq)"),
        ("char rwbs[8]", "blk_fill_rwbs(rq->cmd_flags)"),
        ("__data_loc char[] cmd", '""'),
    ),
    print=(
        '"%d,%d %s (%s) %llu + %u [%d]", MAJOR(REC->dev), MINOR(REC->dev), REC->rwbs, __get_str(cmd), (unsigned '
        "long long)REC->sector, REC->nr_sector, 0"
    ),
)  # fmt: skip
block_rq_complete = TraceEventDecl(
    "block", "block_rq_complete",
    proto="struct request *rq, blk_status_t error, unsigned int nr_bytes",
    entry=(
        ("dev_t dev", "rq_dev(rq)"),
        ("sector_t sector", "blk_rq_pos(rq)"),
        ("unsigned int nr_sector", "nr_bytes >> 9"),
        ("int error", "blk_status_to_errno(error)"),
        ("char rwbs[8]", "blk_fill_rwbs(rq->cmd_flags)"),
        ("__data_loc char[] cmd", '""'),
    ),
    print=(
        '"%d,%d %s (%s) %llu + %u [%d]", MAJOR(REC->dev), MINOR(REC->dev), REC->rwbs, __get_str(cmd), (unsigned '
        "long long)REC->sector, REC->nr_sector, REC->error"
    ),
)  # fmt: skip
block_rq_error = block_rq_complete.like("block_rq_error", since="5.18", missing=NEVER)
block_rq_insert = TraceEventDecl(
    "block", "block_rq_insert",
    missing=NEVER,
    proto="struct request *rq",
    entry=(
        ("dev_t dev", "rq_dev(rq)"),
        ("sector_t sector", "blk_rq_trace_sector(rq)"),
        ("unsigned int nr_sector", "blk_rq_trace_nr_sectors(rq)"),
        ("unsigned int bytes", "blk_rq_bytes(rq)"),
        ("char rwbs[8]", "blk_fill_rwbs(rq->cmd_flags)"),
        ("char comm[16]", "current->comm"),
        ("__data_loc char[] cmd", '""'),
    ),
    print=(
        '"%d,%d %s %u (%s) %llu + %u [%s]", MAJOR(REC->dev), MINOR(REC->dev), REC->rwbs, REC->bytes, '
        "__get_str(cmd), (unsigned long long)REC->sector, REC->nr_sector, REC->comm"
    ),
)  # fmt: skip
block_rq_issue = block_rq_insert.like("block_rq_issue")
block_io_start = block_rq_insert.like("block_io_start", since="6.5")
block_io_done = block_rq_insert.like("block_io_done", since="6.5")
block_rq_merge = block_rq_insert.like("block_rq_merge", since="5.10", missing=NEVER)  # 5.11, and 5.10.y
block_bio_complete = TraceEventDecl(
    "block", "block_bio_complete",
    missing=NEVER,
    proto="struct request_queue *q, struct bio *bio",
    entry=(
        ("dev_t dev", "bio_dev(bio)"),
        ("sector_t sector", "bio->bi_iter.bi_sector"),
        ("unsigned nr_sector", "bio_sectors(bio)"),
        ("int error", "blk_status_to_errno(bio->bi_status)"),
        ("char rwbs[8]", "blk_fill_rwbs(bio->bi_opf)"),
    ),
    print=(
        '"%d,%d %s %llu + %u [%d]", MAJOR(REC->dev), MINOR(REC->dev), REC->rwbs, (unsigned long long)REC->sector, '
        "REC->nr_sector, REC->error"
    ),
)  # fmt: skip
block_bio_bounce = TraceEventDecl(
    "block", "block_bio_bounce",
    missing=NEVER,
    until="6.16",
    proto="struct bio *bio",
    entry=(
        ("dev_t dev", "bio_dev(bio)"),
        ("sector_t sector", "bio->bi_iter.bi_sector"),
        ("unsigned int nr_sector", "bio_sectors(bio)"),
        ("char rwbs[8]", "blk_fill_rwbs(bio->bi_opf)"),
        ("char comm[16]", "current->comm"),
    ),
    print=(
        '"%d,%d %s %llu + %u [%s]", MAJOR(REC->dev), MINOR(REC->dev), REC->rwbs, (unsigned long long)REC->sector, '
        "REC->nr_sector, REC->comm"
    ),
)  # fmt: skip
block_bio_backmerge = block_bio_bounce.like("block_bio_backmerge", missing=NEVER)
block_bio_frontmerge = block_bio_bounce.like("block_bio_frontmerge", missing=NEVER)
block_bio_queue = block_bio_bounce.like("block_bio_queue")
block_getrq = block_bio_bounce.like("block_getrq")
block_plug = TraceEventDecl(
    "block", "block_plug",
    missing=NEVER,
    proto="struct request_queue *q",
    entry=(
        ("char comm[16]", "current->comm"),
    ),
    print='"[%s]", REC->comm',
)  # fmt: skip
block_unplug = TraceEventDecl(
    "block", "block_unplug",
    missing=NEVER,
    proto="struct request_queue *q, unsigned int depth, bool explicit",
    entry=(
        ("int nr_rq", "depth"),
        ("char comm[16]", "current->comm"),
    ),
    print='"[%s] %d", REC->comm, REC->nr_rq',
)  # fmt: skip
block_split = TraceEventDecl(
    "block", "block_split",
    missing=NEVER,
    proto="struct bio *bio, unsigned int new_sector",
    entry=(
        ("dev_t dev", "bio_dev(bio)"),
        ("sector_t sector", "bio->bi_iter.bi_sector"),
        ("sector_t new_sector", "new_sector"),
        ("char rwbs[8]", "blk_fill_rwbs(bio->bi_opf)"),
        ("char comm[16]", "current->comm"),
    ),
    print=(
        '"%d,%d %s %llu / %llu [%s]", MAJOR(REC->dev), MINOR(REC->dev), REC->rwbs, (unsigned long long)REC->sector,'
        " (unsigned long long)REC->new_sector, REC->comm"
    ),
)  # fmt: skip
block_bio_remap = TraceEventDecl(
    "block", "block_bio_remap",
    missing=NEVER,
    proto="struct bio *bio, dev_t dev, sector_t from",
    entry=(
        ("dev_t dev", "bio_dev(bio)"),
        ("sector_t sector", "bio->bi_iter.bi_sector"),
        ("unsigned int nr_sector", "bio_sectors(bio)"),
        ("dev_t old_dev", "dev"),
        ("sector_t old_sector", "from"),
        ("char rwbs[8]", "blk_fill_rwbs(bio->bi_opf)"),
    ),
    print=(
        '"%d,%d %s %llu + %u <- (%d,%d) %llu", MAJOR(REC->dev), MINOR(REC->dev), REC->rwbs, (unsigned long '
        "long)REC->sector, REC->nr_sector, MAJOR(REC->old_dev), MINOR(REC->old_dev), (unsigned long "
        "long)REC->old_sector"
    ),
)  # fmt: skip
block_rq_remap = TraceEventDecl(
    "block", "block_rq_remap",
    missing=NEVER,
    proto="struct request *rq, dev_t dev, sector_t from",
    entry=(
        ("dev_t dev", "rq_dev(rq)"),
        ("sector_t sector", "blk_rq_pos(rq)"),
        ("unsigned int nr_sector", "blk_rq_sectors(rq)"),
        ("dev_t old_dev", "dev"),
        ("sector_t old_sector", "from"),
        ("unsigned int nr_bios", "blk_rq_count_bios(rq)"),
        ("char rwbs[8]", "blk_fill_rwbs(rq->cmd_flags)"),
    ),
    print=(
        '"%d,%d %s %llu + %u <- (%d,%d) %llu %u", MAJOR(REC->dev), MINOR(REC->dev), REC->rwbs, (unsigned long '
        "long)REC->sector, REC->nr_sector, MAJOR(REC->old_dev), MINOR(REC->old_dev), (unsigned long "
        "long)REC->old_sector, REC->nr_bios"
    ),
)  # fmt: skip
