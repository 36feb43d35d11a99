/*
 * What only this architecture has: saved registers, and types whose layout differs.
 * arch/arm64/include/asm/{ptrace,syscall,kprobes}.h.  A test holds struct pt_regs against registers.py.
 */

struct user_pt_regs {
	__u64 regs[31];
	__u64 sp;
	__u64 pc;
	__u64 pstate;
};

struct pt_regs {
	union {
		struct user_pt_regs user_regs;
		struct {
			u64 regs[31];
			u64 sp;
			u64 pc;
			u64 pstate;
		};
	};
	u64 orig_x0;
	u64 syscallno; /* until 4.14 */
	s32 syscallno; /* since 4.14 */
	u32 unused2; /* since 4.14 */
	u64 sdei_ttbr1; /* since 4.17 */
	u64 pmr_save; /* since 5.1 */
	u64 stackframe[2]; /* since 4.14 */
	u64 lockdep_hardirqs; /* since 5.11 */
	u64 exit_rcu; /* since 5.11 */
};

typedef struct user_pt_regs bpf_user_pt_regs_t;

typedef long (*syscall_fn_t)(const struct pt_regs *regs);

struct epoll_event {
	__poll_t events;
	__u64 data;
};

typedef u32 kprobe_opcode_t;
