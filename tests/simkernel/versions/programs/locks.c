/* Resilient locks of programs: what the verifier says to them, and runs. */
#include "tries.h"

#define JNZ(n) I(BPF_JMP | BPF_JNE | BPF_K, 0, 0, n, 0)
#define MAPFD(r, fd) I(BPF_LD | BPF_DW | BPF_IMM, r, BPF_PSEUDO_MAP_FD, 0, fd), { 0 }
/* r = the value of a map; ends the program where there is none */
#define VALUE(r, fd) PUT(-8, 0), MOV(2, 10), ADD(2, -8), MAPFD(1, fd), CALL(BPF_FUNC_map_lookup_elem), JNZ(1), EXIT, MOV(r, 0)
#define LOCK(r) MOV(1, r), ADD(1, 8), KFUNC(lock), JNZ_OUT
#define TAKE(r) MOV(1, r), ADD(1, 8), KFUNC(lock)
#define GIVE(r) MOV(1, r), ADD(1, 8), KFUNC(unlock)
#define TAKEI(r, off) MOV(1, r), ADD(1, 8), MOV(2, 10), ADD(2, off), KFUNC(lock_irq)
#define GIVEI(r, off) MOV(1, r), ADD(1, 8), MOV(2, 10), ADD(2, off), KFUNC(unlock_irq)
#define RET I(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 1, 0), EXIT

static unsigned lock, unlock, lock_irq, unlock_irq, save, restore;

/* struct { u64 n; struct NAME lock; } with a lock of so many bytes, and perhaps a second member of that kind */
static long with_lock(const char *name, int bytes, int type, int entries)
{
	static const char member[] = "\0int\0n\0lock\0value\0";
	struct {
		struct { unsigned short magic; unsigned char version, flags; unsigned hdr_len, type_off, type_len, str_off, str_len; } head;
		unsigned types[40];
		char strings[64];
	} b;
	int n = 0;

	memset(&b, 0, sizeof(b));
	memcpy(b.strings, member, sizeof(member));
	memcpy(b.strings + sizeof(member), name, strlen(name) + 1);
	unsigned t[] = {
		1, 1 << 24, 4, 32,                                        /* 1: int of 4 bytes */
		1, 1 << 24, 8, 64,                                        /* 2: of 8 */
		sizeof(member), 4 << 24 | 1, bytes, 5, bytes == 4 ? 1 : 2, 0, /* 3: the lock */
		12, 4 << 24 | 2, 16, 5, 2, 0, 7, 3, 64,                   /* 4: the value */
	};
	n = sizeof(t);
	memcpy(b.types, t, n);
	b.head.magic = 0xeb9f, b.head.version = 1, b.head.hdr_len = 24, b.head.type_len = n, b.head.str_off = n, b.head.str_len = sizeof(member) + strlen(name) + 1;
	memcpy((char *)b.types + n, b.strings, b.head.str_len);
	attr.btf = (ulong)&b, attr.btf_size = 24 + n + b.head.str_len;
	long btf = bpf(BPF_BTF_LOAD);
	if (btf < 0)
		return btf;
	attr.btf_fd = btf, attr.btf_key_type_id = 1, attr.btf_value_type_id = 4;
	return bpf_map(type, 4, 16, entries, 0);
}

int main(int argc, char **argv)
{
	lock = btf_id("bpf_res_spin_lock", 12), unlock = btf_id("bpf_res_spin_unlock", 12);
	lock_irq = btf_id("bpf_res_spin_lock_irqsave", 12), unlock_irq = btf_id("bpf_res_spin_unlock_irqrestore", 12);
	save = btf_id("bpf_local_irq_save", 12), restore = btf_id("bpf_local_irq_restore", 12);
	long a = with_lock("bpf_res_spin_lock", 4, BPF_MAP_TYPE_ARRAY, 2), b = with_lock("bpf_res_spin_lock", 4, BPF_MAP_TYPE_ARRAY, 1);
	long plain = with_lock("bpf_spin_lock", 4, BPF_MAP_TYPE_ARRAY, 1), none = bpf_map(BPF_MAP_TYPE_ARRAY, 4, 16, 1, 0);
	say("maps %d %d %d %r\n", a > 0, b > 0, plain > 0, with_lock("bpf_res_spin_lock", 8, BPF_MAP_TYPE_ARRAY, 1) > 0);

	TRY("taken and given back", VALUE(6, a), TAKE(6), RET, GIVE(6), SET(0, 3));
	TRY("not looked at", VALUE(6, a), TAKE(6), GIVE(6), SET(0, 3));
	TRY("kept", VALUE(6, a), TAKE(6), RET, SET(0, 3));
	TRY("kept where it was not taken", VALUE(6, a), TAKE(6), I(BPF_JMP | BPF_JNE | BPF_K, 0, 0, 3, 0), GIVE(6), SET(0, 3));
	TRY("not taken", VALUE(6, a), GIVE(6), SET(0, 3));
	TRY("twice", VALUE(6, a), TAKE(6), RET, TAKE(6), I(BPF_JMP | BPF_JNE | BPF_K, 0, 0, 3, 0), GIVE(6), GIVE(6), SET(0, 3));
	TRY("two", VALUE(6, a), VALUE(7, b), TAKE(6), RET, TAKE(7), I(BPF_JMP | BPF_JNE | BPF_K, 0, 0, 3, 0), GIVE(7), GIVE(6), SET(0, 3));
	TRY("two elements", VALUE(6, a), VALUE(7, a), TAKE(6), RET, TAKE(7), I(BPF_JMP | BPF_JNE | BPF_K, 0, 0, 3, 0), GIVE(7), GIVE(6), SET(0, 3));
	TRY("two in the wrong order", VALUE(6, a), VALUE(7, b), TAKE(6), RET, TAKE(7), I(BPF_JMP | BPF_JNE | BPF_K, 0, 0, 3, 0), GIVE(6), GIVE(7), SET(0, 3));
	TRY("another", VALUE(6, a), VALUE(7, b), TAKE(6), RET, GIVE(7), SET(0, 3));
	TRY("without a lock", VALUE(6, none), TAKE(6), SET(0, 3));
	TRY("of another kind", VALUE(6, plain), TAKE(6), SET(0, 3));
	TRY("at the wrong place", VALUE(6, a), MOV(1, 6), KFUNC(lock), SET(0, 3));
	TRY("at an unknown place", VALUE(6, a), LOAD(3, 6, 0), AND(3, 8), MOV(1, 6), I(BPF_ALU64 | BPF_ADD | BPF_X, 1, 3, 0, 0), KFUNC(lock), SET(0, 3));
	TRY("of the stack", MOV(1, 10), ADD(1, -8), KFUNC(lock), SET(0, 3));
	TRY("of the context", KFUNC(lock), SET(0, 3));
	TRY("maybe not there", PUT(-8, 0), MOV(2, 10), ADD(2, -8), MAPFD(1, a), CALL(BPF_FUNC_map_lookup_elem), MOV(1, 0), ADD(1, 8), KFUNC(lock), SET(0, 3));
	TRY("written to", VALUE(6, a), I(BPF_ST | BPF_MEM | BPF_DW, 6, 0, 8, 0), SET(0, 3));
	TRY("a helper under it", VALUE(6, a), TAKE(6), RET, CALL(BPF_FUNC_ktime_get_ns), GIVE(6), SET(0, 3));
	TRY("a spin lock under it", VALUE(6, a), VALUE(7, plain), TAKE(6), RET, MOV(1, 7), ADD(1, 8), CALL(BPF_FUNC_spin_lock), SET(0, 3));
	TRY("under a spin lock", VALUE(6, a), VALUE(7, plain), MOV(1, 7), ADD(1, 8), CALL(BPF_FUNC_spin_lock), TAKE(6), SET(0, 3));
	TRY("by the other helper", VALUE(6, a), MOV(1, 6), ADD(1, 8), CALL(BPF_FUNC_spin_lock), SET(0, 3));
	TRY("with flags", VALUE(6, a), TAKEI(6, -16), RET, GIVEI(6, -16), SET(0, 4));
	TRY("with flags, kept", VALUE(6, a), TAKEI(6, -16), RET, SET(0, 4));
	TRY("with flags, given back without", VALUE(6, a), TAKEI(6, -16), RET, GIVE(6), SET(0, 4));
	TRY("without flags, given back with", VALUE(6, a), TAKE(6), RET, GIVEI(6, -16), SET(0, 4));
	TRY("flags of another kind", VALUE(6, a), TAKEI(6, -16), RET, MOV(1, 10), ADD(1, -16), KFUNC(restore), GIVE(6), SET(0, 4));
	TRY("flags of the other kind", VALUE(6, a), MOV(1, 10), ADD(1, -16), KFUNC(save), TAKE(6), I(BPF_JMP | BPF_JNE | BPF_K, 0, 0, 5, 0), GIVEI(6, -16), MOV(1, 10), ADD(1, -16), KFUNC(restore), SET(0, 4));
	TRY("interrupts off, then locked", VALUE(6, a), MOV(1, 10), ADD(1, -16), KFUNC(save), TAKE(6), I(BPF_JMP | BPF_JNE | BPF_K, 0, 0, 3, 0), GIVE(6), MOV(1, 10), ADD(1, -16), KFUNC(restore), SET(0, 4));
	TRY("locked, then interrupts off", VALUE(6, a), TAKE(6), RET, MOV(1, 10), ADD(1, -16), KFUNC(save), SET(0, 4));
	TRY("two with flags", VALUE(6, a), VALUE(7, b), TAKEI(6, -16), RET, TAKEI(7, -24), I(BPF_JMP | BPF_JNE | BPF_K, 0, 0, 5, 0), GIVEI(7, -24), GIVEI(6, -16), SET(0, 4));
	TRY("two with flags, flags exchanged", VALUE(6, a), VALUE(7, b), TAKEI(6, -16), RET, TAKEI(7, -24), I(BPF_JMP | BPF_JNE | BPF_K, 0, 0, 5, 0), GIVEI(7, -16), GIVEI(6, -24), SET(0, 4));
	TRY("what it returned", VALUE(6, a), TAKE(6), MOV(7, 0), I(BPF_JMP | BPF_JNE | BPF_K, 0, 0, 4, 0), GIVE(6), MOV(0, 7), EXIT, MOV(0, 7));
	{
		struct bpf_insn code[] = { VALUE(6, a), TAKE(6), RET, GIVE(6), SET(0, 3), EXIT };
		try("of a socket filter", BPF_PROG_TYPE_SOCKET_FILTER, 0, code, sizeof(code) / sizeof(*code));
		try("of a kprobe", BPF_PROG_TYPE_KPROBE, 0, code, sizeof(code) / sizeof(*code));
	}
	return 0;
}
