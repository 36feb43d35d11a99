/* The block layer. include/linux/blk_types.h, blkdev.h, blk-mq.h, elevator.h. */

enum req_op {
	REQ_OP_READ,
	REQ_OP_WRITE,
	REQ_OP_FLUSH,
	REQ_OP_DISCARD,
	REQ_OP_SECURE_ERASE = 5,
	REQ_OP_ZONE_APPEND = 7,
	REQ_OP_WRITE_ZEROES = 9,
	REQ_OP_ZONE_OPEN = 11,
	REQ_OP_ZONE_CLOSE = 13,
	REQ_OP_ZONE_FINISH = 15,
	REQ_OP_ZONE_RESET = 17,
	REQ_OP_ZONE_RESET_ALL = 19,
	REQ_OP_DRV_IN = 34,
	REQ_OP_DRV_OUT,
	REQ_OP_LAST,
};
typedef __u32 req_flags_t;
struct bvec_iter {
	sector_t bi_sector;
	unsigned int bi_size;
	unsigned int bi_idx;
	unsigned int bi_bvec_done;
} __attribute__((packed, aligned(4)));
typedef void (bio_end_io_t)(struct bio *);
struct bio {
	struct bio *bi_next;
	struct block_device *bi_bdev; /* until 4.14 */
	struct gendisk *bi_disk; /* since 4.14 until 5.12 */
	struct block_device *bi_bdev; /* since 5.12 */
	blk_opf_t bi_opf;
	unsigned short bi_flags;
	unsigned short bi_ioprio;
	blk_status_t bi_status;
	atomic_t __bi_remaining;
	struct bvec_iter bi_iter;
	blk_qc_t bi_cookie;
	bio_end_io_t *bi_end_io;
	void *bi_private;
	struct blkcg_gq *bi_blkg;
	unsigned short bi_vcnt;
	unsigned short bi_max_vecs;
	atomic_t __bi_cnt;
	struct bio_vec *bi_io_vec;
	struct bio_set *bi_pool;
	struct bio_vec bi_inline_vecs[];
};
struct bio_list {
	struct bio *head;
	struct bio *tail;
};
struct disk_stats {
	u64 nsecs[4];
	unsigned long sectors[4];
	unsigned long ios[4];
	unsigned long merges[4];
	unsigned long io_ticks;
	local_t in_flight[2];
};
struct buffer_head {
	unsigned long b_state;
	struct buffer_head *b_this_page;
	struct page *b_page;
	sector_t b_blocknr;
	size_t b_size;
	char *b_data;
	struct block_device *b_bdev;
};
struct block_device {
	sector_t bd_start_sect; /* since 5.11 */
	sector_t bd_nr_sectors;
	struct disk_stats *bd_stats; /* since 5.11 */
	unsigned long bd_stamp; /* since 5.11 */
	bool bd_read_only; /* since 5.11 */
	dev_t bd_dev;
	atomic_t bd_openers;
	struct inode *bd_inode;
	struct super_block *bd_super;
	void *bd_claiming;
	struct device bd_device;
	void *bd_holder;
	int bd_holders;
	bool bd_write_holder;
	struct kobject *bd_holder_dir;
	u8 bd_partno; /* since 4.14 */
	spinlock_t bd_size_lock;
	struct block_device *bd_contains; /* until 5.11 */
	struct hd_struct *bd_part; /* until 5.11 */
	struct gendisk *bd_disk;
	struct request_queue *bd_queue; /* since 5.15 */
	int bd_fsfreeze_count;
	struct mutex bd_fsfreeze_mutex;
	struct super_block *bd_fsfreeze_sb;
	struct partition_meta_info *bd_meta_info; /* since 5.11 */
};
struct hd_struct { /* until 5.11 */
	sector_t start_sect;
	sector_t nr_sects;
	int partno;
}; /* until 5.11 */
struct gendisk {
	int major;
	int first_minor;
	int minors;
	char disk_name[32];
	unsigned short events;
	unsigned short event_flags;
	struct xarray part_tbl; /* since 5.11 */
	struct block_device *part0;
	const struct block_device_operations *fops;
	struct request_queue *queue;
	void *private_data;
	int flags;
	unsigned long state;
	struct mutex open_mutex;
	unsigned int open_partitions;
	struct backing_dev_info *bdi;
	u64 diskseq;
};
enum mq_rq_state {
	MQ_RQ_IDLE,
	MQ_RQ_IN_FLIGHT,
	MQ_RQ_COMPLETE,
};
typedef enum rq_end_io_ret (rq_end_io_fn)(struct request *, blk_status_t); /* since 6.1 */
typedef void (rq_end_io_fn)(struct request *, blk_status_t); /* until 6.1 */
enum rq_end_io_ret {
	RQ_END_IO_NONE,
	RQ_END_IO_FREE,
};
struct request {
	struct request_queue *q;
	struct blk_mq_ctx *mq_ctx;
	struct blk_mq_hw_ctx *mq_hctx;
	struct gendisk *rq_disk; /* until 5.17 */
	blk_opf_t cmd_flags;
	req_flags_t rq_flags;
	int tag;
	int internal_tag;
	unsigned int timeout;
	unsigned int __data_len;
	sector_t __sector;
	struct bio *bio;
	struct bio *biotail;
	union {
		struct list_head queuelist;
		struct request *rq_next;
	};
	struct block_device *part;
	u64 start_time_ns;
	u64 io_start_time_ns;
	unsigned short stats_sectors;
	unsigned short nr_phys_segments;
	unsigned short write_hint;
	unsigned short ioprio;
	enum mq_rq_state state;
	atomic_t ref;
	unsigned long deadline;
	rq_end_io_fn *end_io;
	void *end_io_data;
};
struct elevator_queue {
	struct elevator_type *type;
	void *elevator_data;
	struct kobject kobj;
	struct mutex sysfs_lock;
	unsigned int registered : 1;
};
struct elevator_type {
	const char *elevator_name;
	const char *elevator_alias;
	const unsigned int elevator_features;
	struct module *elevator_owner;
};
struct queue_limits {
	enum blk_bounce bounce;
	unsigned long seg_boundary_mask;
	unsigned long virt_boundary_mask;
	unsigned int max_hw_sectors;
	unsigned int max_dev_sectors;
	unsigned int chunk_sectors;
	unsigned int max_sectors;
	unsigned int max_segment_size;
	unsigned int physical_block_size;
	unsigned int logical_block_size;
	unsigned int alignment_offset;
	unsigned int io_min;
	unsigned int io_opt;
	unsigned int max_discard_sectors;
	unsigned int max_hw_discard_sectors;
	unsigned int max_secure_erase_sectors;
	unsigned int max_write_zeroes_sectors;
	unsigned int max_zone_append_sectors;
	unsigned int discard_granularity;
	unsigned int discard_alignment;
	unsigned int zone_write_granularity;
	unsigned short max_segments;
	unsigned short max_integrity_segments;
	unsigned short max_discard_segments;
	unsigned char misaligned;
	unsigned char discard_misaligned;
	unsigned char raid_partial_stripes_expensive;
	enum blk_zoned_model zoned;
	unsigned int dma_alignment;
};
enum blk_bounce {
	BLK_BOUNCE_NONE,
	BLK_BOUNCE_HIGH,
};
enum blk_zoned_model {
	BLK_ZONED_NONE,
	BLK_ZONED_HA,
	BLK_ZONED_HM,
};
struct request_queue {
	struct request *last_merge;
	struct elevator_queue *elevator;
	struct percpu_ref q_usage_counter;
	struct blk_queue_stats *stats;
	struct rq_qos *rq_qos;
	const struct blk_mq_ops *mq_ops;
	struct blk_mq_ctx *queue_ctx;
	unsigned int queue_depth;
	unsigned int nr_hw_queues;
	void *queuedata;
	unsigned long queue_flags;
	atomic_t pm_only;
	int id;
	struct gendisk *disk; /* since 5.15 */
	struct kobject kobj;
	unsigned long nr_requests;
	struct queue_limits limits;
	int node;
};
struct blk_mq_hw_ctx {
	struct {
		unsigned long state;
	};
	unsigned long flags;
	struct request_queue *queue;
	unsigned short nr_ctx;
	unsigned int queue_num;
};
struct backing_dev_info {
	u64 id;
	unsigned long ra_pages;
	unsigned long io_pages;
	char dev_name[64];
};
struct block_device_operations {
	void (*submit_bio)(struct bio *);
	int (*open)(struct block_device *, fmode_t);
	void (*release)(struct gendisk *, fmode_t);
	int (*rw_page)(struct block_device *, sector_t, struct page *, enum req_op);
	int (*ioctl)(struct block_device *, fmode_t, unsigned int, unsigned long);
};
struct blk_plug {
	struct request *mq_list;
	struct request *cached_rq;
	unsigned short nr_ios;
	unsigned short rq_count;
	bool multiple_queues;
	bool has_elevator;
	bool nowait;
	struct list_head cb_list;
};
struct mddev {
	unsigned long flags;
	struct gendisk *gendisk;
	int suspended;
	int level;
	int raid_disks;
	int chunk_sectors;
	int major_version;
	int minor_version;
};
