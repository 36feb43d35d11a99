/*
 * Basic types and the small structures every subsystem is made of.
 * include/linux/types.h, list.h, rbtree.h, spinlock_types.h, mutex.h, rwsem.h, wait.h, timer.h, workqueue.h.
 *
 * These headers are our own selection of the kernel's types: names and order are the kernel's, members that nothing here
 * fills or reads are left out.  A comment after a declaration makes it conditional: "since 5.14" is from 5.14 on,
 * "until 5.14" is before 5.14, "bits 32" where a long has 32 (arch/cscan.py).  What one CPU alone has is in arch/NAME/*.h.
 */

typedef signed char __s8;
typedef unsigned char __u8;
typedef short __s16;
typedef unsigned short __u16;
typedef int __s32;
typedef unsigned int __u32;
typedef long long __s64;
typedef unsigned long long __u64;

typedef __s8 s8;
typedef __u8 u8;
typedef __s16 s16;
typedef __u16 u16;
typedef __s32 s32;
typedef __u32 u32;
typedef __s64 s64;
typedef __u64 u64;

typedef __u8 uint8_t;
typedef __u16 uint16_t;
typedef __u32 uint32_t;
typedef __u64 uint64_t;
typedef __s8 int8_t;
typedef __s16 int16_t;
typedef __s32 int32_t;
typedef __s64 int64_t;
typedef unsigned int uint;
typedef unsigned char u_char;

typedef __u16 __le16;
typedef __u16 __be16;
typedef __u32 __le32;
typedef __u32 __be32;
typedef __u64 __le64;
typedef __u64 __be64;
typedef __u16 __sum16;
typedef __u32 __wsum;

typedef long __kernel_long_t;
typedef unsigned long __kernel_ulong_t;
typedef int __kernel_pid_t;
typedef unsigned int __kernel_uid32_t;
typedef unsigned int __kernel_gid32_t;
typedef unsigned int __kernel_mode_t;
typedef __kernel_ulong_t __kernel_size_t; /* bits 64 */
typedef unsigned int __kernel_size_t; /* bits 32 */
typedef __kernel_long_t __kernel_ssize_t; /* bits 64 */
typedef int __kernel_ssize_t; /* bits 32 */
typedef __kernel_long_t __kernel_off_t;
typedef long long __kernel_loff_t;
typedef __kernel_long_t __kernel_old_time_t;
typedef long long __kernel_time64_t;
typedef __kernel_long_t __kernel_clock_t;
typedef int __kernel_timer_t;
typedef int __kernel_clockid_t;
typedef int __kernel_key_t;
typedef int __kernel_mqd_t;
typedef int __kernel_rwf_t;
typedef unsigned short __kernel_sa_family_t;

typedef _Bool bool;
typedef __kernel_size_t size_t;
typedef __kernel_ssize_t ssize_t;
typedef __kernel_loff_t loff_t;
typedef __kernel_off_t off_t;
typedef __kernel_pid_t pid_t;
typedef __kernel_clock_t clock_t;
typedef __kernel_clockid_t clockid_t;
typedef __kernel_timer_t timer_t;
typedef __kernel_uid32_t uid_t;
typedef __kernel_gid32_t gid_t;
typedef __kernel_uid32_t qid_t;
typedef __kernel_key_t key_t;
typedef __kernel_mqd_t mqd_t;
typedef __kernel_rwf_t rwf_t;
typedef __kernel_sa_family_t sa_family_t;
typedef __u32 __kernel_dev_t;
typedef __kernel_dev_t dev_t;
typedef unsigned short umode_t;
typedef __kernel_ulong_t ino_t;
typedef __kernel_ulong_t aio_context_t;
typedef unsigned long uintptr_t;
typedef u64 sector_t;
typedef u64 blkcnt_t;
typedef unsigned int gfp_t;
typedef unsigned int fmode_t;
typedef unsigned int slab_flags_t;
typedef unsigned long vm_flags_t;
typedef u64 phys_addr_t;
typedef phys_addr_t resource_size_t;
typedef u64 dma_addr_t;
typedef unsigned long pgoff_t;
typedef unsigned long vm_flags_t;
typedef s32 dma_cookie_t;
typedef unsigned int __poll_t;
typedef unsigned long irq_hw_number_t;
typedef int __kernel_daddr_t;
typedef unsigned int nlink_t;
typedef u8 blk_status_t;
typedef __u32 blk_mq_req_flags_t;
typedef unsigned int blk_opf_t;
typedef unsigned int blk_qc_t;
typedef u32 compat_size_t;
typedef u32 compat_ulong_t;
typedef s32 compat_int_t;
typedef s32 compat_long_t;
typedef u32 compat_uptr_t;
typedef s32 compat_pid_t;
typedef s32 compat_time_t;

typedef struct {
	uid_t val;
} kuid_t;
typedef struct {
	gid_t val;
} kgid_t;

typedef struct {
	int counter;
} atomic_t;
typedef struct {
	s64 counter;
} atomic64_t;
typedef atomic64_t atomic_long_t; /* bits 64 */
typedef atomic_t atomic_long_t; /* bits 32 */
typedef struct {
	atomic_long_t a;
} local_t;
typedef struct {
	local_t a;
} local64_t;
typedef struct refcount_struct {
	atomic_t refs;
} refcount_t;
struct kref {
	refcount_t refcount;
};

struct list_head {
	struct list_head *next;
	struct list_head *prev;
};
struct hlist_node {
	struct hlist_node *next;
	struct hlist_node **pprev;
};
struct hlist_head {
	struct hlist_node *first;
};
struct hlist_nulls_node {
	struct hlist_nulls_node *next;
	struct hlist_nulls_node **pprev;
};
struct hlist_nulls_head {
	struct hlist_nulls_node *first;
};
struct hlist_bl_node {
	struct hlist_bl_node *next;
	struct hlist_bl_node **pprev;
};
struct llist_node {
	struct llist_node *next;
};
struct llist_head {
	struct llist_node *first;
};
struct callback_head {
	struct callback_head *next;
	void (*func)(struct callback_head *head);
} __attribute__((aligned(sizeof(void *))));

struct rb_node {
	unsigned long __rb_parent_color;
	struct rb_node *rb_right;
	struct rb_node *rb_left;
} __attribute__((aligned(sizeof(long))));
struct rb_root {
	struct rb_node *rb_node;
};
struct rb_root_cached {
	struct rb_root rb_root;
	struct rb_node *rb_leftmost;
};
struct plist_head {
	struct list_head node_list;
};
struct plist_node {
	int prio;
	struct list_head prio_list;
	struct list_head node_list;
};

/* Locks, as configured without debugging. */
typedef struct qspinlock {
	union {
		atomic_t val;
		struct {
			u8 locked;
			u8 pending;
		};
		struct {
			u16 locked_pending;
			u16 tail;
		};
	};
} arch_spinlock_t;
typedef struct raw_spinlock {
	arch_spinlock_t raw_lock;
} raw_spinlock_t;
typedef struct spinlock {
	union {
		struct raw_spinlock rlock;
	};
} spinlock_t;
typedef struct qrwlock {
	union {
		atomic_t cnts;
		struct {
			u8 wlocked;
			u8 __lstate[3];
		};
	};
	arch_spinlock_t wait_lock;
} arch_rwlock_t;
typedef struct {
	arch_rwlock_t raw_lock;
} rwlock_t;
struct seqcount {
	unsigned int sequence;
};
typedef struct seqcount seqcount_t;
struct seqcount_spinlock {
	seqcount_t seqcount;
};
typedef struct seqcount_spinlock seqcount_spinlock_t;
typedef struct {
	seqcount_spinlock_t seqcount;
	spinlock_t lock;
} seqlock_t;
struct optimistic_spin_queue {
	atomic_t tail;
};
struct mutex {
	atomic_long_t owner;
	raw_spinlock_t wait_lock;
	struct optimistic_spin_queue osq;
	struct list_head wait_list;
};
struct rw_semaphore {
	atomic_long_t count;
	atomic_long_t owner;
	struct optimistic_spin_queue osq;
	raw_spinlock_t wait_lock;
	struct list_head wait_list;
};
struct semaphore {
	raw_spinlock_t lock;
	unsigned int count;
	struct list_head wait_list;
};
struct percpu_rw_semaphore;
struct lockref {
	union {
		__u64 lock_count;
		struct {
			spinlock_t lock;
			int count;
		};
	};
};

typedef struct wait_queue_entry wait_queue_entry_t;
typedef int (*wait_queue_func_t)(struct wait_queue_entry *wq_entry, unsigned int mode, int flags, void *key);
struct wait_queue_entry {
	unsigned int flags;
	void *private;
	wait_queue_func_t func;
	struct list_head entry;
};
struct wait_queue_head {
	spinlock_t lock;
	struct list_head head;
};
typedef struct wait_queue_head wait_queue_head_t;
struct swait_queue_head {
	raw_spinlock_t lock;
	struct list_head task_list;
};
struct completion {
	unsigned int done;
	struct swait_queue_head wait;
};

typedef s64 ktime_t;
struct timespec64 {
	s64 tv_sec;
	long tv_nsec;
};
struct itimerspec64 {
	struct timespec64 it_interval;
	struct timespec64 it_value;
};
struct __kernel_timespec {
	__kernel_time64_t tv_sec;
	long long tv_nsec;
};
struct __kernel_old_timeval {
	__kernel_long_t tv_sec;
	__kernel_long_t tv_usec;
};
struct __kernel_old_timespec {
	__kernel_old_time_t tv_sec;
	long tv_nsec;
};
struct __kernel_itimerspec {
	struct __kernel_timespec it_interval;
	struct __kernel_timespec it_value;
};
struct __kernel_old_itimerval {
	struct __kernel_old_timeval it_interval;
	struct __kernel_old_timeval it_value;
};
struct old_timespec32 {
	s32 tv_sec;
	s32 tv_nsec;
};
struct timezone {
	int tz_minuteswest;
	int tz_dsttime;
};
struct __kernel_timex_timeval {
	__kernel_time64_t tv_sec;
	long long tv_usec;
};
struct timerqueue_node {
	struct rb_node node;
	ktime_t expires;
};
struct rb_node_linked { /* since 7.2 */
	struct rb_node node;
	struct rb_node_linked *prev;
	struct rb_node_linked *next;
};
struct timerqueue_linked_node { /* since 7.2 */
	struct rb_node_linked node;
	ktime_t expires;
};
enum hrtimer_restart {
	HRTIMER_NORESTART,
	HRTIMER_RESTART,
};
struct hrtimer {
	struct timerqueue_node node; /* until 7.2 */
	struct timerqueue_linked_node node; /* since 7.2 */
	ktime_t _softexpires;
	enum hrtimer_restart (*function)(struct hrtimer *timer);
	struct hrtimer_clock_base *base;
	u8 state; /* until 7.2 */
	u8 is_queued; /* since 7.2 */
	u8 is_rel;
	u8 is_soft;
	u8 is_hard;
};
struct timer_list {
	struct hlist_node entry;
	unsigned long expires;
	void (*function)(struct timer_list *timer); /* since 4.15 */
	void (*function)(unsigned long data); /* until 4.15 */
	unsigned long data; /* until 4.15 */
	u32 flags;
};
struct work_struct;
typedef void (*work_func_t)(struct work_struct *work);
struct work_struct {
	atomic_long_t data;
	struct list_head entry;
	work_func_t func;
};
struct worker_pool {
	raw_spinlock_t lock;
	int cpu;
	int node;
	int id;
	unsigned int flags;
};
struct workqueue_struct {
	struct list_head pwqs;
	struct list_head list;
	char name[24];
};
struct pool_workqueue {
	struct worker_pool *pool;
	struct workqueue_struct *wq;
	int work_color;
	int flush_color;
	int refcnt;
};
struct delayed_work {
	struct work_struct work;
	struct timer_list timer;
	struct workqueue_struct *wq;
	int cpu;
};
struct __call_single_node {
	struct llist_node llist;
	union {
		unsigned int u_flags;
		atomic_t a_flags;
	};
	u16 src;
	u16 dst;
};
struct irq_work {
	struct __call_single_node node;
	void (*func)(struct irq_work *work);
};

struct xarray {
	spinlock_t xa_lock;
	gfp_t xa_flags;
	void *xa_head;
};
struct idr {
	struct xarray idr_rt;
	unsigned int idr_base;
	unsigned int idr_next;
};
struct percpu_counter {
	raw_spinlock_t lock;
	s64 count;
	struct list_head list;
	s32 *counters;
};
struct percpu_ref {
	unsigned long percpu_count_ptr;
	struct percpu_ref_data *data;
};
struct ratelimit_state {
	raw_spinlock_t lock;
	int interval;
	int burst;
	int printed;
	int missed;
	unsigned long begin;
	unsigned long flags;
};

struct cpumask {
	unsigned long bits[64 / (8 * sizeof(long))];
};
typedef struct cpumask cpumask_t;
typedef struct cpumask *cpumask_var_t;
typedef struct {
	unsigned long bits[1];
} nodemask_t;

struct iovec {
	void *iov_base;
	__kernel_size_t iov_len;
};
struct kvec {
	void *iov_base;
	size_t iov_len;
};
struct pollfd {
	int fd;
	short events;
	short revents;
};

struct kobject {
	const char *name;
	struct list_head entry;
	struct kobject *parent;
	struct kset *kset;
	const struct kobj_type *ktype;
	struct kernfs_node *sd;
	struct kref kref;
};
struct device {
	struct kobject kobj;
	struct device *parent;
	const char *init_name;
	const struct device_type *type;
	struct bus_type *bus;
	struct device_driver *driver;
	void *platform_data;
	void *driver_data;
	dev_t devt;
	u32 id;
	struct class *class;
};
struct cdev {
	struct kobject kobj;
	struct module *owner;
	const struct file_operations *ops;
	struct list_head list;
	dev_t dev;
	unsigned int count;
};
struct proc_dir_entry {
	atomic_t in_use;
	refcount_t refcnt;
	struct list_head pde_openers;
	void *data;
	unsigned int low_ino;
	nlink_t nlink;
	kuid_t uid;
	kgid_t gid;
	loff_t size;
	struct proc_dir_entry *parent;
	const char *name;
	umode_t mode;
	u8 flags;
	u8 namelen;
};
typedef s64 time64_t;
typedef struct {
	local64_t v;
} u64_stats_t;
