/*
 * Saved registers.  arch/<arch>/include/asm/ptrace.h.  A test holds these against the register tables of arch/.
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
}; /* arch x86_64 */

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
}; /* arch i386 */

struct pt_regs {
	unsigned long uregs[18];
}; /* arch arm */

struct user_pt_regs {
	__u64 regs[31];
	__u64 sp;
	__u64 pc;
	__u64 pstate;
}; /* arch arm64 */
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
}; /* arch arm64 */

struct pt_regs {
	unsigned long epc;
	unsigned long ra;
	unsigned long sp;
	unsigned long gp;
	unsigned long tp;
	unsigned long t0;
	unsigned long t1;
	unsigned long t2;
	unsigned long s0;
	unsigned long s1;
	unsigned long a0;
	unsigned long a1;
	unsigned long a2;
	unsigned long a3;
	unsigned long a4;
	unsigned long a5;
	unsigned long a6;
	unsigned long a7;
	unsigned long s2;
	unsigned long s3;
	unsigned long s4;
	unsigned long s5;
	unsigned long s6;
	unsigned long s7;
	unsigned long s8;
	unsigned long s9;
	unsigned long s10;
	unsigned long s11;
	unsigned long t3;
	unsigned long t4;
	unsigned long t5;
	unsigned long t6;
	unsigned long status;
	unsigned long badaddr;
	unsigned long cause;
	unsigned long orig_a0;
}; /* arch riscv64 */
struct user_regs_struct {
	unsigned long pc;
	unsigned long ra;
	unsigned long sp;
	unsigned long gp;
	unsigned long tp;
	unsigned long t0;
	unsigned long t1;
	unsigned long t2;
	unsigned long s0;
	unsigned long s1;
	unsigned long a0;
	unsigned long a1;
	unsigned long a2;
	unsigned long a3;
	unsigned long a4;
	unsigned long a5;
	unsigned long a6;
	unsigned long a7;
	unsigned long s2;
	unsigned long s3;
	unsigned long s4;
	unsigned long s5;
	unsigned long s6;
	unsigned long s7;
	unsigned long s8;
	unsigned long s9;
	unsigned long s10;
	unsigned long s11;
	unsigned long t3;
	unsigned long t4;
	unsigned long t5;
	unsigned long t6;
}; /* arch riscv64 */

typedef struct {
	unsigned long mask;
	unsigned long addr;
} psw_t; /* arch s390x */
typedef struct {
	unsigned long args[1];
	psw_t psw;
	unsigned long gprs[16];
} user_pt_regs; /* arch s390x */
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
}; /* arch s390x */

typedef struct pt_regs bpf_user_pt_regs_t; /* arch x86_64,i386,arm */
typedef struct user_regs_struct bpf_user_pt_regs_t; /* arch riscv64 */
typedef struct user_pt_regs bpf_user_pt_regs_t; /* arch arm64 */
typedef user_pt_regs bpf_user_pt_regs_t; /* arch s390x */

/* Entries of the system-call tables.  arch/<arch>/include/asm/syscall.h. */
typedef long (*sys_call_ptr_t)(const struct pt_regs *regs); /* arch x86_64,i386 */
typedef long (*syscall_fn_t)(const struct pt_regs *regs); /* arch arm64 */
typedef long (*syscall_t)(unsigned long, unsigned long, unsigned long, unsigned long, unsigned long, unsigned long, unsigned long); /* arch riscv64 */
