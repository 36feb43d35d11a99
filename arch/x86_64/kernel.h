/*
 * What only this architecture has: saved registers, and types whose layout differs.
 * arch/x86/include/asm/{ptrace,syscall,kprobes}.h.  A test holds struct pt_regs against registers.py.
 */

struct pt_regs {
	unsigned long r15;
	unsigned long r14;
	unsigned long r13;
	unsigned long r12;
	unsigned long bp;
	unsigned long bx;
	unsigned long r11;
	unsigned long r10;
	unsigned long r9;
	unsigned long r8;
	unsigned long ax;
	unsigned long cx;
	unsigned long dx;
	unsigned long si;
	unsigned long di;
	unsigned long orig_ax;
	unsigned long ip;
	unsigned long cs;
	unsigned long flags;
	unsigned long sp;
	unsigned long ss;
};

typedef struct pt_regs bpf_user_pt_regs_t;

typedef long (*sys_call_ptr_t)(const struct pt_regs *regs);

/* packed, so that 64-bit and 32-bit programs agree.  include/uapi/linux/eventpoll.h */
struct epoll_event {
	__poll_t events;
	__u64 data;
} __attribute__((packed));

typedef u8 kprobe_opcode_t;
