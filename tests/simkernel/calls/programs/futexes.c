/* Futexes and scheduling with odd arguments not: i386 s390x */
#include "tiny.h"
#include <linux/futex.h>
#include <linux/sched.h>
#include <linux/sched/types.h>
#include <asm/signal.h>
static unsigned word __attribute__((aligned(64))), word2, unmapped_dummy;
static char page[8192] __attribute__((aligned(4096)));
static struct { unsigned long long val, uaddr; unsigned flags, reserved; } w[130];
static struct sched_attr attr;
static char raw[4096] __attribute__((aligned(8)));

static long fx(void *a, int op, long v, void *t, void *b, long v3) { return sys(__NR_futex, a, op, v, t, b, v3); }
static void set(const char *what, long size) { attr.size = size; say("%s: %r", what, sys(__NR_sched_setattr, 0, &attr, 0)); say(" size %d\n", (int)attr.size); }

int main(int argc, char **argv)
{
	struct __kernel_timespec none = { 0, 0 }, bad1 = { 0, 1000000000 }, bad2 = { -1, 0 };
	int tid = sys(__NR_gettid);
	(void)unmapped_dummy;
	say("unaligned wake %r wait %r\n", fx((char *)&word + 1, FUTEX_WAKE, 1, 0, 0, 0), fx((char *)&word + 1, FUTEX_WAIT, 0, &none, 0, 0));
	say("null wake %r, private %r, shared high %r\n", fx(0, FUTEX_WAKE, 1, 0, 0, 0), fx(0, FUTEX_WAKE | 128, 1, 0, 0, 0), fx((void *)0x8000000000000000, FUTEX_WAKE | 128, 1, 0, 0, 0));
	say("wrong value and bad time %r %r\n", fx(&word, FUTEX_WAIT, 1, &bad1, 0, 0), fx(&word, FUTEX_WAIT, 1, &bad2, 0, 0));
	say("time at fault %r\n", fx(&word, FUTEX_WAIT, 1, (void *)8, 0, 0));
	say("bitset 0: %r %r\n", fx(&word, FUTEX_WAIT_BITSET, 0, &none, 0, 0), fx(&word, FUTEX_WAKE_BITSET, 1, 0, 0, 0));
	say("clock flag on wait %r, wake %r, wait_bitset %r, lock_pi %r, lock_pi2 %r\n", fx(&word, FUTEX_WAIT | 256, 1, &none, 0, 0), fx(&word, FUTEX_WAKE | 256, 1, 0, 0, 0), fx(&word, FUTEX_WAIT_BITSET | 256, 0, &none, 0, -1), fx(&word, FUTEX_LOCK_PI | 256, 0, &none, 0, 0), fx(&word, FUTEX_LOCK_PI2 | 256, 0, &none, 0, 0));
	say("word %d\n", word == tid);
	say("again %r trylock %r unlock %r again %r\n", fx(&word, FUTEX_LOCK_PI, 0, &none, 0, 0), fx(&word, FUTEX_TRYLOCK_PI, 0, 0, 0, 0), fx(&word, FUTEX_UNLOCK_PI, 0, 0, 0, 0), fx(&word, FUTEX_UNLOCK_PI, 0, 0, 0, 0));
	word = 0x7ffffff;
	say("lock of nobody %r, of init %r", fx(&word, FUTEX_LOCK_PI, 0, &none, 0, 0), (word = 1, fx(&word, FUTEX_LOCK_PI, 0, &none, 0, 0)));
	say(" word %x\n", (long)word);
	word = 0x7ffffff; say("lock of nobody %r", fx(&word, FUTEX_LOCK_PI, 0, &none, 0, 0)); say(" word %x\n", (long)word); word = 0x7ffffff; say("trylock of nobody %r", fx(&word, FUTEX_TRYLOCK_PI, 0, 0, 0, 0)); say(" word %x\n", (long)word);
	word = 1; say("trylock of init %r", fx(&word, FUTEX_TRYLOCK_PI, 0, 0, 0, 0)); say(" word %x\n", (long)word);
	word = 3; word2 = 0; { static char stack[4096]; (void)stack; long pid = fork(); if (!pid) { nap(50); leave(0); } say("private wait, shared wake %r\n", fx(&word, FUTEX_WAKE, 1, 0, 0, 0)); wait_for(pid); }
	word = 2; /* kthreadd */
	say("lock of a kernel thread %r\n", fx(&word, FUTEX_LOCK_PI, 0, &none, 0, 0));
	word = 0x40000000 | 0x7ffffff;
	say("dead owner bit and nobody %r", fx(&word, FUTEX_LOCK_PI, 0, &none, 0, 0));
	say(" word %x\n", (long)(word == (0x40000000 | tid)));
	word = 0x40000000;
	say("dead owner trylock %r", fx(&word, FUTEX_TRYLOCK_PI, 0, 0, 0, 0));
	say(" mine %d\n", word == (0x40000000 | tid));
	word = 0;
	say("requeue to itself %r cmp %r negative %r %r\n", fx(&word, FUTEX_REQUEUE, 1, (void *)1, &word, 0), fx(&word, FUTEX_CMP_REQUEUE, 1, (void *)1, &word2, 5), fx(&word, FUTEX_REQUEUE, -1, (void *)1, &word2, 0), fx(&word, FUTEX_REQUEUE, 1, (void *)-1, &word2, 0));
	say("cmp_requeue_pi to itself %r, wake 2 %r, wake 0 %r\n", fx(&word, FUTEX_CMP_REQUEUE_PI, 1, (void *)0, &word, 0), fx(&word, FUTEX_CMP_REQUEUE_PI, 2, (void *)0, &word2, 0), fx(&word, FUTEX_CMP_REQUEUE_PI, 0, (void *)0, &word2, 0));
	say("wait_requeue_pi on itself %r, bitset 0 %r, wrong value %r\n", fx(&word, FUTEX_WAIT_REQUEUE_PI, 0, &none, &word, -1), fx(&word, FUTEX_WAIT_REQUEUE_PI, 0, &none, &word2, 0), fx(&word, FUTEX_WAIT_REQUEUE_PI, 7, &none, &word2, -1));
	word = 5; word2 = 5;
	/* op<<28 | cmp<<24 | oparg<<12 | cmparg */
	say("wake_op set %r", fx(&word, FUTEX_WAKE_OP, 1, (void *)1, &word2, FUTEX_OP(FUTEX_OP_SET, 9, FUTEX_OP_CMP_EQ, 5))); say(" %d\n", word2);
	say("wake_op shift %r", fx(&word, FUTEX_WAKE_OP, 1, (void *)1, &word2, FUTEX_OP(FUTEX_OP_OR | FUTEX_OP_OPARG_SHIFT, 4, FUTEX_OP_CMP_EQ, 5))); say(" %d\n", word2);
	say("wake_op shift 40 %r", fx(&word, FUTEX_WAKE_OP, 1, (void *)1, &word2, FUTEX_OP(FUTEX_OP_SET | FUTEX_OP_OPARG_SHIFT, 40, FUTEX_OP_CMP_EQ, 5))); say(" %x\n", (long)word2);
	say("wake_op op 7 %r cmp 9 %r", fx(&word, FUTEX_WAKE_OP, 1, (void *)1, &word2, FUTEX_OP(7, 1, FUTEX_OP_CMP_EQ, 5)), fx(&word, FUTEX_WAKE_OP, 1, (void *)1, &word2, FUTEX_OP(FUTEX_OP_ADD, 1, 9, 5))); say(" %x\n", (long)word2);
	say("wake_op neg %r", fx(&word, FUTEX_WAKE_OP, 1, (void *)1, &word2, FUTEX_OP(FUTEX_OP_ADD, 0xfff, FUTEX_OP_CMP_LT, 0xfff))); say(" %x\n", (long)word2);
	word = 0; say("op 13 %r, op 14 %r, op 2 (fd) %r\n", fx(&word, 13, 0, 0, 0, 0), fx(&word, 14, 0, 0, 0, 0), fx(&word, 2, 0, 0, 0, 0));
	/* waitv */
	T(__NR_futex_waitv, 0, 0, 0, 0, 0);
	T(__NR_futex_waitv, w, 0, 0, 0, 0);
	T(__NR_futex_waitv, w, 129, 0, 0, 0);
	T(__NR_futex_waitv, w, 1, 1, 0, 0);
	T(__NR_futex_waitv, w, 1, 0, &none, 5);
	T(__NR_futex_waitv, w, 1, 0, 0, 5);
	w[0].uaddr = (ulong)&word; w[0].val = 5; w[0].flags = 0;
	T(__NR_futex_waitv, w, 1, 0, &none, 0);
	w[0].flags = 2 | 128;
	T(__NR_futex_waitv, w, 1, 0, &none, 0);
	T(__NR_futex_waitv, w, 1, 0, &bad1, 1);
	w[0].reserved = 1;
	T(__NR_futex_waitv, w, 1, 0, &none, 1);
	w[0].reserved = 0; w[0].val = 5 | 1ULL << 32;
	T(__NR_futex_waitv, w, 1, 0, &none, 1);
	w[0].val = 5; w[1] = w[0]; w[1].val = 6;
	T(__NR_futex_waitv, w, 2, 0, &none, 1);
	w[1].uaddr = 1; w[0].val = 6;
	T(__NR_futex_waitv, w, 2, 0, &none, 1);
	/* robust lists */
	T(__NR_set_robust_list, 0, 23);
	T(__NR_set_robust_list, 8, 24);
	{ long head = 0, len = 0; say("get %r", sys(__NR_get_robust_list, 0, &head, &len)); say(" %l %l\n", head, len);
	say("get of nobody %r, of -1 %r, to null %r\n", sys(__NR_get_robust_list, 0x3fffffff, &head, &len), sys(__NR_get_robust_list, -1, &head, &len), sys(__NR_get_robust_list, 0, 0, &len)); }
	sys(__NR_set_robust_list, 0, 24);
	/* sched_setattr */
	attr.sched_policy = 0; set("size 0", 0);
	set("size 47", 47); set("size 48", 48); set("size 56", 56); set("size 57", 57); set("size 4097", 4097);
	memcpy(raw, &attr, sizeof(attr)); ((struct sched_attr *)raw)->size = 64; raw[60] = 1;
	say("unknown field: %r", sys(__NR_sched_setattr, 0, raw, 0)); say(" size %d\n", ((struct sched_attr *)raw)->size);
	T(__NR_sched_setattr, 0, 0, 0);
	T(__NR_sched_setattr, -1, &attr, 0);
	T(__NR_sched_setattr, 0, &attr, 1);
	T(__NR_sched_setattr, 0x3fffffff, &attr, 0);
	attr.sched_policy = 4; set("policy 4", 48);
	attr.sched_policy = 7; set("policy 7", 48);
	attr.sched_policy = -1; set("policy -1", 48);
	attr.sched_policy = 0; attr.sched_nice = 100; set("nice 100", 48); T(__NR_getpriority, 0, 0);
	attr.sched_nice = -100; set("nice -100", 48); T(__NR_getpriority, 0, 0);
	attr.sched_nice = 0; attr.sched_priority = 1; set("normal with priority", 48);
	attr.sched_policy = 1; attr.sched_priority = 0; set("fifo 0", 48);
	attr.sched_priority = 100; set("fifo 100", 48);
	attr.sched_priority = 5; attr.sched_flags = 1; set("fifo reset", 48); T(__NR_sched_getscheduler, 0);
	attr.sched_flags = 0x80; set("flag 0x80", 48);
	attr.sched_flags = 8; set("keep policy", 48); 
	attr.sched_flags = 16; attr.sched_priority = 50; set("keep params", 48);
	attr.sched_flags = 24; set("keep all", 48);
	attr.sched_flags = 32; set("util clamp without size", 48);
	attr.sched_util_min = 2000; set("util min 2000", 56);
	attr.sched_util_min = 0; attr.sched_flags = 0;
	attr.sched_policy = 6; attr.sched_priority = 0; set("deadline empty", 48);
	attr.sched_runtime = 1000; attr.sched_deadline = 10000; attr.sched_period = 9000; set("deadline period short", 48);
	attr.sched_period = 0; set("runtime small", 48);
	attr.sched_runtime = 10000000; attr.sched_deadline = 5000000; set("runtime over deadline", 48);
	attr.sched_deadline = 1ULL << 63; set("deadline top bit", 48);
	attr.sched_runtime = 1000000; attr.sched_deadline = 10000000; attr.sched_flags = 2 | 4; set("deadline", 48);
	memset(raw, 0xee, sizeof(raw));
	T(__NR_sched_getattr, 0, raw, 47, 0);
	T(__NR_sched_getattr, 0, raw, 48, 1);
	T(__NR_sched_getattr, 0, raw, 4097, 0);
	T(__NR_sched_getattr, -1, raw, 48, 0);
	T(__NR_sched_getattr, 0, 0, 48, 0);
	T(__NR_sched_getattr, 0, raw, 100, 0);
	for (int i = 0; i < 104; i += 4) say("%x ", (long)*(unsigned *)(raw + i)); say("\n");
	say("fork of it %r\n", fork());
	attr.sched_policy = 0; attr.sched_flags = 0; set("normal", 48);
	{ int pr = 3; T(__NR_sched_setparam, 0, &pr); T(__NR_sched_setscheduler, 0, 3, &pr); pr = 0; T(__NR_sched_setscheduler, 0, 3, &pr); T(__NR_sched_setscheduler, 0, 3 | 0x40000000, &pr); T(__NR_sched_getscheduler, 0); T(__NR_sched_setscheduler, 0, 5, &pr); T(__NR_sched_setscheduler, 0, -1, &pr); T(__NR_sched_setscheduler, 0, 6, &pr); T(__NR_sched_getparam, 0, 0); T(__NR_sched_getparam, -5, &pr); }
	{ struct __kernel_timespec t = { 9, 9 }; say("interval %r", sys(__NR_sched_rr_get_interval, 0, &t)); say(" %l %d\n", (long)t.tv_sec, t.tv_nsec > 0); T(__NR_sched_rr_get_interval, -1, &t); }
	{ unsigned long mask[20] = { 0 }; T(__NR_sched_getaffinity, 0, 7, mask); T(__NR_sched_getaffinity, 0, 12, mask); T(__NR_sched_getaffinity, 0, 160, mask); T(__NR_sched_getaffinity, 0, 0, mask); mask[0] = 0; T(__NR_sched_setaffinity, 0, 8, mask); T(__NR_sched_setaffinity, 0, 0, mask); mask[0] = 1UL << 40; T(__NR_sched_setaffinity, 0, 8, mask); mask[0] = ~0UL; T(__NR_sched_setaffinity, 0, 3, mask); T(__NR_sched_setaffinity, 2, 8, (mask[0] = 1, mask)); }
	T(__NR_sched_get_priority_max, 6); T(__NR_sched_get_priority_min, 6); T(__NR_sched_get_priority_max, 4); T(__NR_sched_get_priority_max, 3); T(__NR_sched_get_priority_max, 1);
	T(__NR_setpriority, 3, 0, 0); T(__NR_setpriority, 1, 0x3fffffff, 0); T(__NR_setpriority, 2, 4711, 0); T(__NR_setpriority, 0, 0, 77); T(__NR_getpriority, 0, 0);
	page[0] = 0;
	return 0;
}
