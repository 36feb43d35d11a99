/*
 * What only this architecture has: saved registers, and types whose layout differs.
 * arch/arm/include/asm/{ptrace,syscall,kprobes}.h.  A test holds struct pt_regs against registers.py.
 */

struct pt_regs {
	unsigned long uregs[18];
};

typedef struct pt_regs bpf_user_pt_regs_t;

struct epoll_event {
	__poll_t events;
	__u64 data;
};

typedef u32 kprobe_opcode_t;
