/* Probes, trace events and perf events. include/linux/kprobes.h, trace_events.h, tracepoint-defs.h, perf_event.h, ring_buffer.h. */

struct trace_entry {
	unsigned short type;
	unsigned char flags;
	unsigned char preempt_count;
	int pid;
};
struct tracepoint {
	const char *name;
	int (*regfunc)(void);
	void (*unregfunc)(void);
	struct tracepoint_func *funcs;
};
struct tracepoint_func {
	void *func;
	void *data;
	int prio;
};
struct trace_event_call {
	struct list_head list;
	struct trace_event_class *class;
	union {
		const char *name;
		struct tracepoint *tp;
	};
	struct trace_event event;
	char *print_fmt;
	struct event_filter *filter;
	union {
		void *module;
		atomic_t refcnt;
	};
	int flags;
	int perf_refcount;
};
struct trace_event {
	int type;
	struct trace_event_functions *funcs;
};
struct trace_event_class {
	const char *system;
};
struct kprobe;

typedef int (*kprobe_pre_handler_t)(struct kprobe *, struct pt_regs *);
typedef void (*kprobe_post_handler_t)(struct kprobe *, struct pt_regs *, unsigned long);
struct arch_specific_insn {
	kprobe_opcode_t *insn;
	bool boostable; /* until 5.13 */
	unsigned int boostable : 1; /* since 5.13 */
};
struct kprobe {
	struct hlist_node hlist;
	struct list_head list;
	unsigned long nmissed;
	kprobe_opcode_t *addr;
	const char *symbol_name;
	unsigned int offset;
	kprobe_pre_handler_t pre_handler;
	kprobe_post_handler_t post_handler;
	kprobe_opcode_t opcode;
	struct arch_specific_insn ainsn;
	u32 flags;
};
typedef int (*kretprobe_handler_t)(struct kretprobe_instance *, struct pt_regs *);
struct kretprobe {
	struct kprobe kp;
	kretprobe_handler_t handler;
	kretprobe_handler_t entry_handler;
	int maxactive;
	int nmissed;
	size_t data_size;
	struct rethook *rh; /* since 5.18 */
};
struct kretprobe_instance {
	struct rethook_node node;
	char data[];
};
struct rethook_node {
	union {
		struct freelist_node freelist;
		struct callback_head rcu;
	};
	struct llist_node llist;
	struct rethook *rethook;
	unsigned long ret_addr;
	unsigned long frame;
};
struct freelist_node {
	atomic_t refs;
	struct freelist_node *next;
};
enum perf_event_state {
	PERF_EVENT_STATE_DEAD = -4,
	PERF_EVENT_STATE_EXIT,
	PERF_EVENT_STATE_ERROR,
	PERF_EVENT_STATE_OFF,
	PERF_EVENT_STATE_INACTIVE,
	PERF_EVENT_STATE_ACTIVE,
};
enum perf_type_id {
	PERF_TYPE_HARDWARE,
	PERF_TYPE_SOFTWARE,
	PERF_TYPE_TRACEPOINT,
	PERF_TYPE_HW_CACHE,
	PERF_TYPE_RAW,
	PERF_TYPE_BREAKPOINT,
	PERF_TYPE_MAX,
};
enum perf_hw_id {
	PERF_COUNT_HW_CPU_CYCLES,
	PERF_COUNT_HW_INSTRUCTIONS,
	PERF_COUNT_HW_CACHE_REFERENCES,
	PERF_COUNT_HW_CACHE_MISSES,
	PERF_COUNT_HW_BRANCH_INSTRUCTIONS,
	PERF_COUNT_HW_BRANCH_MISSES,
	PERF_COUNT_HW_BUS_CYCLES,
	PERF_COUNT_HW_STALLED_CYCLES_FRONTEND,
	PERF_COUNT_HW_STALLED_CYCLES_BACKEND,
	PERF_COUNT_HW_REF_CPU_CYCLES,
	PERF_COUNT_HW_MAX,
};
enum perf_sw_ids {
	PERF_COUNT_SW_CPU_CLOCK,
	PERF_COUNT_SW_TASK_CLOCK,
	PERF_COUNT_SW_PAGE_FAULTS,
	PERF_COUNT_SW_CONTEXT_SWITCHES,
	PERF_COUNT_SW_CPU_MIGRATIONS,
	PERF_COUNT_SW_PAGE_FAULTS_MIN,
	PERF_COUNT_SW_PAGE_FAULTS_MAJ,
	PERF_COUNT_SW_ALIGNMENT_FAULTS,
	PERF_COUNT_SW_EMULATION_FAULTS,
	PERF_COUNT_SW_DUMMY,
	PERF_COUNT_SW_BPF_OUTPUT,
	PERF_COUNT_SW_CGROUP_SWITCHES,
	PERF_COUNT_SW_MAX,
};
enum perf_event_sample_format {
	PERF_SAMPLE_IP = 1,
	PERF_SAMPLE_TID,
	PERF_SAMPLE_TIME = 4,
	PERF_SAMPLE_ADDR = 8,
	PERF_SAMPLE_READ = 16,
	PERF_SAMPLE_CALLCHAIN = 32,
	PERF_SAMPLE_ID = 64,
	PERF_SAMPLE_CPU = 128,
	PERF_SAMPLE_PERIOD = 256,
	PERF_SAMPLE_STREAM_ID = 512,
	PERF_SAMPLE_RAW = 1024,
	PERF_SAMPLE_BRANCH_STACK = 2048,
	PERF_SAMPLE_REGS_USER = 4096,
	PERF_SAMPLE_STACK_USER = 8192,
	PERF_SAMPLE_WEIGHT = 16384,
	PERF_SAMPLE_DATA_SRC = 32768,
	PERF_SAMPLE_IDENTIFIER = 65536,
	PERF_SAMPLE_TRANSACTION = 131072,
	PERF_SAMPLE_REGS_INTR = 262144,
	PERF_SAMPLE_PHYS_ADDR = 524288,
	PERF_SAMPLE_AUX = 1048576,
	PERF_SAMPLE_CGROUP = 2097152,
	PERF_SAMPLE_DATA_PAGE_SIZE = 4194304,
	PERF_SAMPLE_CODE_PAGE_SIZE = 8388608,
	PERF_SAMPLE_WEIGHT_STRUCT = 16777216,
	PERF_SAMPLE_MAX = 33554432,
};
enum perf_event_type {
	PERF_RECORD_MMAP = 1,
	PERF_RECORD_LOST,
	PERF_RECORD_COMM,
	PERF_RECORD_EXIT,
	PERF_RECORD_THROTTLE,
	PERF_RECORD_UNTHROTTLE,
	PERF_RECORD_FORK,
	PERF_RECORD_READ,
	PERF_RECORD_SAMPLE,
	PERF_RECORD_MMAP2,
	PERF_RECORD_AUX,
	PERF_RECORD_ITRACE_START,
	PERF_RECORD_LOST_SAMPLES,
	PERF_RECORD_SWITCH,
	PERF_RECORD_SWITCH_CPU_WIDE,
	PERF_RECORD_NAMESPACES,
	PERF_RECORD_KSYMBOL,
	PERF_RECORD_BPF_EVENT,
	PERF_RECORD_CGROUP,
	PERF_RECORD_TEXT_POKE,
	PERF_RECORD_AUX_OUTPUT_HW_ID,
	PERF_RECORD_MAX,
};
struct perf_event_attr {
	__u32 type;
	__u32 size;
	__u64 config;
	union {
		__u64 sample_period;
		__u64 sample_freq;
	};
	__u64 sample_type;
	__u64 read_format;
	__u64 disabled : 1;
	__u64 inherit : 1;
	__u64 pinned : 1;
	__u64 exclusive : 1;
	__u64 exclude_user : 1;
	__u64 exclude_kernel : 1;
	__u64 exclude_hv : 1;
	__u64 exclude_idle : 1;
	__u64 mmap : 1;
	__u64 comm : 1;
	__u64 freq : 1;
	__u64 inherit_stat : 1;
	__u64 enable_on_exec : 1;
	__u64 task : 1;
	__u64 watermark : 1;
	__u64 precise_ip : 2;
	__u64 mmap_data : 1;
	__u64 sample_id_all : 1;
	__u64 exclude_host : 1;
	__u64 exclude_guest : 1;
	__u64 exclude_callchain_kernel : 1;
	__u64 exclude_callchain_user : 1;
	__u64 mmap2 : 1;
	__u64 comm_exec : 1;
	__u64 use_clockid : 1;
	__u64 context_switch : 1;
	__u64 write_backward : 1;
	__u64 namespaces : 1;
	__u64 ksymbol : 1;
	__u64 bpf_event : 1;
	__u64 aux_output : 1;
	__u64 cgroup : 1;
	__u64 text_poke : 1;
	__u64 build_id : 1;
	__u64 inherit_thread : 1;
	__u64 remove_on_exec : 1;
	__u64 sigtrap : 1;
	__u64 __reserved_1 : 26;
	union {
		__u32 wakeup_events;
		__u32 wakeup_watermark;
	};
	__u32 bp_type;
	union {
		__u64 bp_addr;
		__u64 kprobe_func;
		__u64 uprobe_path;
		__u64 config1;
	};
	union {
		__u64 bp_len;
		__u64 kprobe_addr;
		__u64 probe_offset;
		__u64 config2;
	};
	__u64 branch_sample_type;
	__u64 sample_regs_user;
	__u32 sample_stack_user;
	__s32 clockid;
	__u64 sample_regs_intr;
	__u32 aux_watermark;
	__u16 sample_max_stack;
	__u16 __reserved_2;
	__u32 aux_sample_size;
	__u32 __reserved_3;
	__u64 sig_data;
};
struct perf_event_mmap_page {
	__u32 version;
	__u32 compat_version;
	__u32 lock;
	__u32 index;
	__s64 offset;
	__u64 time_enabled;
	__u64 time_running;
	union {
		__u64 capabilities;
		struct {
			__u64 cap_bit0 : 1;
			__u64 cap_bit0_is_deprecated : 1;
			__u64 cap_user_rdpmc : 1;
			__u64 cap_user_time : 1;
			__u64 cap_user_time_zero : 1;
			__u64 cap_user_time_short : 1;
			__u64 cap_____res : 58;
		};
	};
	__u16 pmc_width;
	__u16 time_shift;
	__u32 time_mult;
	__u64 time_offset;
	__u64 time_zero;
	__u32 size;
	__u32 __reserved_1;
	__u64 time_cycles;
	__u64 time_mask;
	__u8 __reserved[928];
	__u64 data_head;
	__u64 data_tail;
	__u64 data_offset;
	__u64 data_size;
	__u64 aux_head;
	__u64 aux_tail;
	__u64 aux_offset;
	__u64 aux_size;
};
struct perf_event_header {
	__u32 type;
	__u16 misc;
	__u16 size;
};
typedef unsigned long (*perf_copy_f)(void *, const void *, unsigned long, unsigned long);
struct perf_raw_frag {
	union {
		struct perf_raw_frag *next;
		unsigned long pad;
	};
	perf_copy_f copy;
	void *data;
	u32 size;
} __attribute__((packed));
struct perf_raw_record {
	struct perf_raw_frag frag;
	u32 size;
} __attribute__((packed));
union perf_mem_data_src {
	__u64 val;
};
struct perf_branch_stack {
	__u64 nr;
	__u64 hw_idx;
};
struct perf_regs {
	__u64 abi;
	struct pt_regs *regs;
};
struct perf_sample_data {
	u64 sample_flags;
	u64 period;
	struct perf_branch_stack *br_stack;
	union perf_sample_weight weight;
	union perf_mem_data_src data_src;
	u64 txn;
	u64 addr;
	struct perf_raw_record *raw;
	u64 type;
	u64 ip;
	struct {
		u32 pid;
		u32 tid;
	} tid_entry;
	u64 time;
	u64 id;
	u64 stream_id;
	struct {
		u32 cpu;
		u32 reserved;
	} cpu_entry;
	struct perf_callchain_entry *callchain;
	u64 aux_size;
	struct perf_regs regs_user;
	struct perf_regs regs_intr;
	u64 stack_user_size;
	u64 phys_addr;
	u64 cgroup;
	u64 data_page_size;
	u64 code_page_size;
};
struct perf_callchain_entry {
	__u64 nr;
	__u64 ip[];
};
union perf_sample_weight {
	__u64 full;
	struct {
		__u32 var1_dw;
		__u16 var2_w;
		__u16 var3_w;
	};
};
struct pmu {
	struct list_head entry;
	struct device *dev;
	const char *name;
	int type;
	int capabilities;
	int task_ctx_nr;
};
struct perf_event {
	struct list_head event_entry;
	struct list_head sibling_list;
	int nr_siblings;
	struct perf_event *group_leader;
	struct pmu *pmu;
	enum perf_event_state state;
	unsigned int attach_state;
	local64_t count;
	atomic64_t child_count;
	u64 total_time_enabled;
	u64 total_time_running;
	struct perf_event_attr attr;
	struct perf_event_context *ctx;
	atomic_long_t refcount;
	struct perf_event *parent;
	int oncpu;
	int cpu;
	struct task_struct *owner;
	struct perf_buffer *rb;
	wait_queue_head_t waitq;
	unsigned int pending_wakeup;
	unsigned int pending_kill;
	unsigned int pending_disable;
	atomic_t event_limit;
	void (*destroy)(struct perf_event *);
	struct pid_namespace *ns;
	u64 id;
	u64 (*clock)(void);
	void *overflow_handler_context;
	struct bpf_prog *prog;
	u64 bpf_cookie;
	struct trace_event_call *tp_event;
};
struct perf_event_context {
	raw_spinlock_t lock;
	struct mutex mutex;
	struct list_head event_list;
	int nr_events;
	int nr_active;
	int is_active;
	int nr_stat;
	refcount_t refcount;
	struct task_struct *task;
	u64 time;
	u64 timestamp;
};
struct bpf_perf_event_data {
	bpf_user_pt_regs_t regs;
	__u64 sample_period;
	__u64 addr;
};
struct bpf_perf_event_data_kern {
	bpf_user_pt_regs_t *regs;
	struct perf_sample_data *data;
	struct perf_event *event;
};
