/*
 * What only this architecture has: saved registers, and types whose layout differs.
 * arch/s390/include/asm/{ptrace,syscall,kprobes}.h.  A test holds struct pt_regs against registers.py.
 */

typedef struct {
	unsigned long mask;
	unsigned long addr;
} psw_t;

typedef struct {
	unsigned long args[1];
	psw_t psw;
	unsigned long gprs[16];
} user_pt_regs;

struct pt_regs {
	union {
		user_pt_regs user_regs;
		struct {
			unsigned long args[1];
			psw_t psw;
			unsigned long gprs[16];
		};
	};
	unsigned long orig_gpr2;
	union {
		struct {
			unsigned int int_code;
			unsigned int int_parm;
			unsigned long int_parm_long;
		};
	};
	unsigned long flags;
	unsigned long cr1; /* since 5.11 */
	unsigned long last_break; /* since 5.19 */
};

typedef user_pt_regs bpf_user_pt_regs_t;

struct epoll_event {
	__poll_t events;
	__u64 data;
};

typedef u16 kprobe_opcode_t;
