/*
 * What only this architecture has: saved registers, and types whose layout differs.
 * arch/x86/include/asm/{ptrace,syscall,kprobes}.h.  A test holds struct pt_regs against registers.py.
 */

struct pt_regs {
	unsigned long bx;
	unsigned long cx;
	unsigned long dx;
	unsigned long si;
	unsigned long di;
	unsigned long bp;
	unsigned long ax;
	unsigned short ds;
	unsigned short __dsh;
	unsigned short es;
	unsigned short __esh;
	unsigned short fs;
	unsigned short __fsh;
	unsigned short gs;
	unsigned short __gsh;
	unsigned long orig_ax;
	unsigned long ip;
	unsigned short cs;
	unsigned short __csh;
	unsigned long flags;
	unsigned long sp;
	unsigned short ss;
	unsigned short __ssh;
};

typedef struct pt_regs bpf_user_pt_regs_t;

typedef long (*sys_call_ptr_t)(const struct pt_regs *regs);

struct epoll_event {
	__poll_t events;
	__u64 data;
};

typedef u8 kprobe_opcode_t;
