/* Interrupts that programs disable and enable: what the verifier says to it, and runs. */
#include "tries.h"

#define INNER(n) I(BPF_JMP | BPF_CALL, 0, BPF_PSEUDO_CALL, 0, n)
#define SAVE(off) MOV(1, 10), ADD(1, off), KFUNC(save)
#define RESTORE(off) MOV(1, 10), ADD(1, off), KFUNC(restore)
#define JNE(r, i, n) I(BPF_JMP | BPF_JNE | BPF_K, r, 0, n, i)
#define WORD(d, s, o) I(BPF_LDX | BPF_MEM | BPF_W, d, s, o, 0)

static unsigned save, restore, lock_rcu, unlock_rcu, no_preempt, preempt, throw, copy_str;

#define SLEEPY(what, ...) do { struct bpf_insn code[] = { __VA_ARGS__, EXIT }; try(what, BPF_PROG_TYPE_SYSCALL, BPF_F_SLEEPABLE, code, sizeof(code) / sizeof(*code)); } while (0)

int main(int argc, char **argv)
{
	save = btf_id("bpf_local_irq_save", 12), restore = btf_id("bpf_local_irq_restore", 12), throw = btf_id("bpf_throw", 12);
	lock_rcu = btf_id("bpf_rcu_read_lock", 12), unlock_rcu = btf_id("bpf_rcu_read_unlock", 12), copy_str = btf_id("bpf_copy_from_user_str", 12);
	no_preempt = btf_id("bpf_preempt_disable", 12), preempt = btf_id("bpf_preempt_enable", 12);

	TRY("saved and restored", SAVE(-8), RESTORE(-8), SET(0, 5));
	TRY("saved only", SAVE(-8), SET(0, 0));
	TRY("restored only", RESTORE(-8), SET(0, 0));
	TRY("restored what is a number", PUT(-8, 0), RESTORE(-8), SET(0, 0));
	TRY("restored twice", SAVE(-8), RESTORE(-8), RESTORE(-8), SET(0, 0));
	TRY("saved twice", SAVE(-8), SAVE(-8), SET(0, 0));
	TRY("saved over a number", PUT(-8, 5), SAVE(-8), RESTORE(-8), LOAD(0, 10, -8), SET(0, 1));
	TRY("two of them", SAVE(-8), SAVE(-16), RESTORE(-16), RESTORE(-8), SET(0, 2));
	TRY("two in the wrong order", SAVE(-8), SAVE(-16), RESTORE(-8), RESTORE(-16), SET(0, 2));
	TRY("three, the middle first", SAVE(-8), SAVE(-16), SAVE(-24), RESTORE(-16), SET(0, 2));
	TRY("three", SAVE(-8), SAVE(-16), SAVE(-24), RESTORE(-24), SAVE(-32), RESTORE(-32), RESTORE(-16), RESTORE(-8), SET(0, 3));
	TRY("of two one is left", SAVE(-8), SAVE(-16), RESTORE(-16), SET(0, 2));
	TRY("in the context", KFUNC(save), SET(0, 0));
	TRY("in a number", SET(1, 8), KFUNC(save), SET(0, 0));
	TRY("at an odd place", SAVE(-12), SET(0, 0));
	TRY("beyond the stack", SAVE(-520), SET(0, 0));
	TRY("above the stack", SAVE(0), SET(0, 0));
	TRY("restored from an odd place", SAVE(-8), RESTORE(-4), SET(0, 0));
	TRY("overwritten", SAVE(-8), PUT(-8, 0), RESTORE(-8), SET(0, 0));
	TRY("a byte overwritten", SAVE(-8), I(BPF_ST | BPF_MEM | BPF_B, 10, 0, -5, 0), RESTORE(-8), SET(0, 0));
	TRY("overwritten by a register", SAVE(-8), SET(3, 1), STORE(10, 3, -8), RESTORE(-8), SET(0, 0));
	TRY("looked at", SAVE(-8), LOAD(3, 10, -8), RESTORE(-8), SET(0, 0));
	TRY("half of it looked at", SAVE(-8), WORD(3, 10, -8), RESTORE(-8), SET(0, 0));
	TRY("given to a helper", SAVE(-8), MOV(1, 10), ADD(1, -8), SET(2, 8), SET(3, 0), CALL(BPF_FUNC_probe_read_kernel), RESTORE(-8), SET(0, 0));
	TRY("read by a helper", SAVE(-8), MOV(1, 10), ADD(1, -8), SET(2, 8), SET(3, 0), SET(4, 0), SET(5, 0), CALL(BPF_FUNC_csum_diff), RESTORE(-8), SET(0, 0));
	TRY("an atomic on it", SAVE(-8), SET(3, 1), I(BPF_STX | BPF_ATOMIC | BPF_DW, 10, 3, -8, BPF_ADD), RESTORE(-8), SET(0, 0));
	TRY("a helper in between", SAVE(-8), CALL(BPF_FUNC_ktime_get_ns), RESTORE(-8), SET(0, 0));
	TRY("on one path only", WORD(3, 1, 0), JNE(3, 0, 3), SAVE(-8), RESTORE(-8), SET(0, 0));
	TRY("saved on one path", WORD(6, 1, 0), PUT(-8, 0), JNE(6, 0, 3), SAVE(-8), RESTORE(-8), SET(0, 0));
	TRY("saved on both paths", WORD(6, 1, 0), JNE(6, 0, 4), SAVE(-8), I(BPF_JMP | BPF_JA, 0, 0, 3, 0), SAVE(-8), RESTORE(-8), SET(0, 0));
	TRY("in different places", WORD(6, 1, 0), PUT(-8, 0), PUT(-16, 0), JNE(6, 0, 4), SAVE(-8), I(BPF_JMP | BPF_JA, 0, 0, 3, 0), SAVE(-16), RESTORE(-8), SET(0, 0));
	TRY("saved after a number is kept", WORD(6, 1, 0), STORE(10, 6, -8), SAVE(-8), RESTORE(-8), SET(0, 0));
	TRY("LD_ABS", MOV(6, 1), SAVE(-8), I(BPF_LD | BPF_ABS | BPF_B, 0, 0, 0, 0), RESTORE(-8), SET(0, 0));
	TRY("thrown", SAVE(-8), SET(1, 0), KFUNC(throw), RESTORE(-8), SET(0, 0));
	{
		struct bpf_insn other[] = { SAVE(-8), MOV(1, 10), ADD(1, -8), INNER(2), SET(0, 1), EXIT, KFUNC(restore), SET(0, 0), EXIT };
		try("restored by a function", BPF_PROG_TYPE_SCHED_CLS, 0, other, sizeof(other) / sizeof(*other));
		struct bpf_insn inner[] = { MOV(1, 10), ADD(1, -8), INNER(5), RESTORE(-8), SET(0, 1), EXIT, KFUNC(save), SET(0, 0), EXIT };
		try("saved by a function", BPF_PROG_TYPE_SCHED_CLS, 0, inner, sizeof(inner) / sizeof(*inner));
		struct bpf_insn lost[] = { INNER(2), SET(0, 1), EXIT, SAVE(-8), SET(0, 0), EXIT };
		try("lost by a function", BPF_PROG_TYPE_SCHED_CLS, 0, lost, sizeof(lost) / sizeof(*lost));
		struct bpf_insn exits[] = { SAVE(-8), INNER(5), RESTORE(-8), SET(0, 1), EXIT, SET(0, 0), EXIT };
		try("a function in between", BPF_PROG_TYPE_SCHED_CLS, 0, exits, sizeof(exits) / sizeof(*exits));
	}
	long map = bpf_map(BPF_MAP_TYPE_PROG_ARRAY, 4, 4, 1, 0);
	TRY("a tail call", MOV(6, 1), SAVE(-8), MOV(1, 6), I(BPF_LD | BPF_DW | BPF_IMM, 2, BPF_PSEUDO_MAP_FD, 0, map), { 0 }, SET(3, 0), CALL(BPF_FUNC_tail_call), RESTORE(-8), SET(0, 0));
	SLEEPY("a helper that sleeps", SAVE(-8), MOV(1, 10), ADD(1, -16), SET(2, 8), SET(3, 0), CALL(BPF_FUNC_copy_from_user), RESTORE(-8), SET(0, 0));
	SLEEPY("a function of the kernel that sleeps", SAVE(-8), MOV(1, 10), ADD(1, -16), SET(2, 8), SET(3, 0), SET(4, 0), KFUNC(copy_str), RESTORE(-8), SET(0, 0));
	SLEEPY("sleeps afterwards", SAVE(-8), RESTORE(-8), MOV(1, 10), ADD(1, -16), SET(2, 8), SET(3, 0), CALL(BPF_FUNC_copy_from_user), SET(0, 4));
	SLEEPY("a read section across", SAVE(-8), KFUNC(lock_rcu), RESTORE(-8), KFUNC(unlock_rcu), SET(0, 1));
	SLEEPY("no preemption across", KFUNC(no_preempt), SAVE(-8), KFUNC(preempt), RESTORE(-8), SET(0, 1));
	SLEEPY("all open", KFUNC(no_preempt), KFUNC(lock_rcu), SAVE(-8), SET(0, 1));
	SLEEPY("all open, a helper sleeps", KFUNC(no_preempt), KFUNC(lock_rcu), SAVE(-8), MOV(1, 10), ADD(1, -16), SET(2, 8), SET(3, 0), CALL(BPF_FUNC_copy_from_user), SET(0, 1));
	SLEEPY("no preemption, a helper sleeps", KFUNC(no_preempt), SAVE(-8), MOV(1, 10), ADD(1, -16), SET(2, 8), SET(3, 0), CALL(BPF_FUNC_copy_from_user), SET(0, 1));
	SLEEPY("no preemption, a function sleeps", KFUNC(no_preempt), SAVE(-8), MOV(1, 10), ADD(1, -16), SET(2, 8), SET(3, 0), SET(4, 0), KFUNC(copy_str), SET(0, 1));
	return 0;
}
