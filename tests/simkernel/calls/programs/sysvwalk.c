/* not: s390x i386 */
/* System V IPC: every command with strange arguments, who may do what, limits, *_INFO and *_STAT_ANY, SEM_UNDO over exits, segments' flags, /proc/sysvipc. */
#include "tiny.h"
#include <linux/ipc.h>
#include <linux/msg.h>
#include <linux/sem.h>
#include <linux/mman.h>
static char text[65536];
static long sign(long v) { return v < 0 ? v : 0; }
/* struct ipc64_perm and what follows, as x86-64 has them */
struct perm { int key; unsigned uid, gid, cuid, cgid; unsigned mode; unsigned short seq, pad; unsigned long u1, u2; };
struct msqid { struct perm perm; long stime, rtime, ctime; unsigned long cbytes, qnum, qbytes; int lspid, lrpid; unsigned long u[2]; };
struct semid { struct perm perm; long otime, u1, ctime, u2; unsigned long nsems, u3, u4; };
struct shmid { struct perm perm; unsigned long segsz; long atime, dtime, ctime; int cpid, lpid; unsigned long nattch, u4, u5; };
static void perm(struct perm *p) { say(" uid %d gid %d cuid %d cgid %d mode %x", (int)p->uid, (int)p->gid, (int)p->cuid, (int)p->cgid, (long)p->mode); }

static void files(void)
{
	static const char *const names[] = { "/proc/sysvipc/msg", "/proc/sysvipc/sem", "/proc/sysvipc/shm", "/proc/sys/kernel/msgmax", "/proc/sys/kernel/msgmnb", "/proc/sys/kernel/msgmni", "/proc/sys/kernel/sem", "/proc/sys/kernel/shmall", "/proc/sys/kernel/shmmax", "/proc/sys/kernel/shmmni", "/proc/sys/kernel/shm_rmid_forced", "/proc/sys/kernel/auto_msgmni" };
	for (int i = 0; i < 12; i++) {
		long n = slurp(names[i], text, sizeof(text));
		say("%s %r\n%s", names[i], n < 0 ? n : 0L, n < 0 ? "" : text);
	}
}

static void commands(void)
{
	long q = sys(__NR_msgget, 0, 0600), s = sys(__NR_semget, 0, 3, 0600), m = sys(__NR_shmget, 0, 10000, 0600);
	for (int cmd = -1; cmd < 22; cmd++) {
		if (cmd == 0 || cmd == 1) continue;
		memset(text, 0, 4096);
		long a = sys(__NR_msgctl, q, cmd, text), b = sys(__NR_msgctl, q, cmd, 0), c = sys(__NR_msgctl, 0x7fff0000, cmd, text), d = sys(__NR_msgctl, -1, cmd, text), e = sys(__NR_msgctl, q, cmd | 0x100, text), f = sys(__NR_msgctl, 100, cmd, text);
		say("msgctl %d: %r null %r none %r -1 %r 64 %r index %r\n", cmd, sign(a), sign(b), c, d, sign(e), f);
		memset(text, 0, 4096);
		a = sys(__NR_shmctl, m, cmd, text), b = sys(__NR_shmctl, m, cmd, 0), c = sys(__NR_shmctl, 0x7fff0000, cmd, text), d = sys(__NR_shmctl, -1, cmd, text), e = sys(__NR_shmctl, m, cmd | 0x100, text), f = sys(__NR_shmctl, 100, cmd, text);
		say("shmctl %d: %r null %r none %r -1 %r 64 %r index %r\n", cmd, sign(a), sign(b), c, d, sign(e), f);
		memset(text, 0, 4096);
		a = sys(__NR_semctl, s, 1, cmd, text), b = sys(__NR_semctl, s, 1, cmd, 0), c = sys(__NR_semctl, 0x7fff0000, 1, cmd, text), d = sys(__NR_semctl, -1, 0, cmd, text), e = sys(__NR_semctl, s, 9, cmd, text), f = sys(__NR_semctl, s, -1, cmd, text);
		say("semctl %d: %r null %r none %r -1 %r beyond %r before %r\n", cmd, sign(a), sign(b), c, d, e, f);
	}
	sys(__NR_msgctl, q, 0, 0), sys(__NR_semctl, s, 0, 0, 0), sys(__NR_shmctl, m, 0, 0);
	static const unsigned long sizes[] = { 0, 1, 4095, 4096, 4097, 1UL << 26, 1UL << 40, -4096UL, -1UL };
	for (int i = 0; i < 9; i++) {
		m = sys(__NR_shmget, 0, sizes[i], 0600);
		say("shmget %x: %r", (long)sizes[i], sign(m));
		struct shmid d;
		if (m >= 0) say(" segsz %x", sys(__NR_shmctl, m, 2, &d) ? -1L : (long)d.segsz), sys(__NR_shmctl, m, 0, 0);
		say("\n");
	}
	static const long counts[] = { -1, 0, 1, 32000, 32001, 0x7fffffff };
	for (int i = 0; i < 6; i++) {
		s = sys(__NR_semget, 0, counts[i], 0600);
		say("semget %l: %r\n", counts[i], sign(s));
		if (s >= 0) sys(__NR_semctl, s, 0, 0, 0);
	}
	static const int flags[] = { 0, 01000, 02000, 03000, 0600, 01600, 03600, 04000, 010000, 0777, 01777, 0200000 };
	for (int i = 0; i < 12; i++) {
		q = sys(__NR_msgget, 4711, flags[i]), s = sys(__NR_semget, 4711, 2, flags[i]), m = sys(__NR_shmget, 4711, 5000, flags[i]);
		say("flags %x: msg %r sem %r shm %r", (long)flags[i], sign(q), sign(s), sign(m));
		say(" again: msg %r sem %r larger %r shm %r larger %r 0 %r\n", sign(sys(__NR_msgget, 4711, flags[i])), sign(sys(__NR_semget, 4711, 2, flags[i])), sign(sys(__NR_semget, 4711, 3, flags[i])), sign(sys(__NR_shmget, 4711, 5000, flags[i])), sign(sys(__NR_shmget, 4711, 9000, flags[i])), sign(sys(__NR_shmget, 4711, 0, flags[i])));
	}
	say("left: msg %r sem %r shm %r\n", sign(sys(__NR_msgget, 4711, 0)), sign(sys(__NR_semget, 4711, 0, 0)), sign(sys(__NR_shmget, 4711, 0, 0)));
	sys(__NR_msgctl, sys(__NR_msgget, 4711, 0), 0, 0), sys(__NR_semctl, sys(__NR_semget, 4711, 0, 0), 0, 0, 0), sys(__NR_shmctl, sys(__NR_shmget, 4711, 0, 0), 0, 0);
	/* huge pages of each size; no reserve */
	static const int huge[] = { 04000, 04000 | 21 << 26, 04000 | 30 << 26, 04000 | 12 << 26, 04000 | 16 << 26, 04000 | 63 << 26, 010000 };
	for (int i = 0; i < 7; i++)
	{
		m = sys(__NR_shmget, 0, 1 << 21, huge[i] | 0600);
		say("shm flags %x: %r\n", (long)huge[i], sign(m));
		if (m >= 0) sys(__NR_shmctl, m, 0, 0);
	}
	files();
	sys(__NR_shmctl, 0, 0, 0);
}

struct mb { long type; char data[9000]; };
static struct mb out, in;
static void messages(void)
{
	long q = sys(__NR_msgget, 0, 0600);
	for (int i = 0; i < 9000; i++) out.data[i] = 'a' + i % 26;
	static const long types[] = { 1, 0, -1, 5, 0x7fffffffffffffff };
	for (int i = 0; i < 5; i++) out.type = types[i], say("send type %l: %r\n", types[i], sys(__NR_msgsnd, q, &out, 3, 0x800));
	static const unsigned long sizes[] = { 0, 1, 4047, 4048, 4049, 8191, 8192, 8193, -1UL, 0x7fffffffUL };
	out.type = 2;
	for (int i = 0; i < 10; i++) {
		say("send %l: %r", (long)sizes[i], sys(__NR_msgsnd, q, &out, sizes[i], 0x800));
		memset(&in, 0, sizeof(in));
		long got = sys(__NR_msgrcv, q, &in, 9000, 2, 0x800);
		say(" back %r", got);
		if (got > 0) say(" whole %d", !memcmp(in.data, out.data, got));
		say("\n");
	}
	say("null %r bad id %r bad flags %r\n", sys(__NR_msgsnd, q, 0, 3, 0x800), sys(__NR_msgsnd, -1, &out, 3, 0), sys(__NR_msgsnd, q, &out, 0, 0xfffff7ff | 0x800));
	for (int i = 1; i < 6; i++) out.type = i % 3 + 1, out.data[0] = '0' + i, sys(__NR_msgsnd, q, &out, i, 0x800);
	static const struct { long type; int flags; unsigned long size; } takes[] = { { 0, 0x8000, 10 }, { 0, 0x4000 | 0x800, 10 }, { 1, 0x4000 | 0x800, 10 }, { 9, 0x4000 | 0x800, 10 }, { 0, 0xc000 | 0x800, 10 }, { 3, 0x2000 | 0x800, 10 }, { 0, 0x2000 | 0x800, 10 }, { -2, 0x2000 | 0x800, 10 }, { -2, 0x800, 10 }, { -1, 0x800, 10 }, { 1, 0x800, 0 }, { 1, 0x1800, 0 }, { 1, 0x1800, 1 }, { 0, 0x800, -1UL }, { -0x7fffffffffffffff - 1, 0x800, 10 }, { 0, 0x800, 10 }, { 0, 0x800, 10 }, { 0, 0x800, 10 }, { 0, 0x800, 10 }, { 0, 0x800, 10 }, { 0, 0x800, 10 }, { 0, 0x800, 10 }, { 0, 0x800, 10 } };
	for (unsigned i = 0; i < sizeof(takes) / sizeof(*takes); i++) {
		memset(&in, 0, 32);
		long got = sys(__NR_msgrcv, q, &in, takes[i].size, takes[i].type, takes[i].flags);
		say("take %l flags %x size %l: %r type %l first %d\n", takes[i].type, (long)takes[i].flags, (long)takes[i].size, got, in.type, in.data[0]);
	}
	/* full */
	struct msqid d;
	int sent = 0;
	out.type = 1;
	while (!sys(__NR_msgsnd, q, &out, 1000, 0x800)) sent++;
	sys(__NR_msgctl, q, 2, &d);
	say("full after %d: bytes %l number %l room %l last %r", sent, (long)d.cbytes, (long)d.qnum, (long)d.qbytes, sys(__NR_msgsnd, q, &out, 1000, 0x800));
	say(" less %r", sys(__NR_msgsnd, q, &out, 384, 0x800));
	perm(&d.perm);
	say(" lspid me %d lrpid me %d\n", d.lspid == sys(__NR_getpid), d.lrpid == sys(__NR_getpid));
	d.qbytes = 100;
	say("set fewer %r", sys(__NR_msgctl, q, 1, &d));
	d.qbytes = 20000;
	say(" more %r", sys(__NR_msgctl, q, 1, &d));
	say(" now it goes %r", sys(__NR_msgsnd, q, &out, 1000, 0x800));
	d.perm.mode = 0xffff, d.perm.uid = -1;
	say(" uid -1 %r", sys(__NR_msgctl, q, 1, &d));
	d.perm.uid = 1000, d.perm.gid = 1000;
	say(" mode all %r", sys(__NR_msgctl, q, 1, &d));
	sys(__NR_msgctl, q, 2, &d), perm(&d.perm);
	say("\n");
	long pid = fork();
	if (!pid) {
		sys(__NR_setresgid, 1000, 1000, 1000), sys(__NR_setresuid, 1000, 1000, 1000);
		d.qbytes = 16385;
		say("user: set more %r", sys(__NR_msgctl, q, 1, &d));
		d.qbytes = 16384;
		say(" as many %r", sys(__NR_msgctl, q, 1, &d));
		sys(__NR_msgctl, q, 0, 0);
		leave(0);
	}
	sys(__NR_wait4, pid, 0, 0, 0);
	say(" removed %r\n", sys(__NR_msgctl, q, 2, &d));
	/* waits that end otherwise */
	q = sys(__NR_msgget, 0, 0600);
	pid = fork();
	if (!pid) {
		say("waiting: %r\n", sys(__NR_msgrcv, q, &in, 10, 0, 0));
		leave(0);
	}
	nap(30), sys(__NR_msgctl, q, 0, 0), wait_for(pid);
	q = sys(__NR_msgget, 0, 0600), sent = 0;
	while (!sys(__NR_msgsnd, q, &out, 8192, 0x800));
	pid = fork();
	if (!pid) {
		say("full: %r\n", sys(__NR_msgsnd, q, &out, 8192, 0));
		leave(0);
	}
	nap(30), sys(__NR_msgctl, q, 0, 0), wait_for(pid);
}

static void values(long s, const char *what)
{
	unsigned short all[8];
	memset(all, 0, sizeof(all));
	long r = sys(__NR_semctl, s, 0, 13, all);
	say("%s: %r %d %d %d", what, r, all[0], all[1], all[2]);
	say(" pids %d %d %d", sys(__NR_semctl, s, 0, 11, 0) > 0, sys(__NR_semctl, s, 1, 11, 0) > 0, sys(__NR_semctl, s, 2, 11, 0) > 0);
	say(" waiting %r %r zero %r %r\n", sys(__NR_semctl, s, 0, 14, 0), sys(__NR_semctl, s, 1, 14, 0), sys(__NR_semctl, s, 0, 15, 0), sys(__NR_semctl, s, 1, 15, 0));
}
#define op(...) ({ struct sembuf b_[] = { __VA_ARGS__ }; sys(__NR_semtimedop, s, b_, sizeof(b_) / sizeof(*b_), 0); })
static void semaphores(void)
{
	long s = sys(__NR_semget, 0, 3, 0600);
	struct sembuf many[600];
	memset(many, 0, sizeof(many));
	values(s, "new");
	static const long vals[] = { -1, 0, 1, 32767, 32768, 65535, 1L << 32 };
	for (int i = 0; i < 7; i++) say("setval %l: %r now %r\n", vals[i], sys(__NR_semctl, s, 0, 16, vals[i]), sys(__NR_semctl, s, 0, 12, 0));
	unsigned short all[3] = { 1, 2, 40000 };
	say("setall too much %r", sys(__NR_semctl, s, 0, 17, all));
	all[2] = 3;
	say(" %r null %r\n", sys(__NR_semctl, s, 0, 17, all), sys(__NR_semctl, s, 0, 17, 0));
	values(s, "all");
	static const long counts[] = { 0, 1, 500, 501, 600, -1 };
	for (int i = 0; i < 6; i++) say("semop of %l: %r null %r bad id %r\n", counts[i], counts[i] == 1 || counts[i] == 500 ? 7L : sys(__NR_semop, s, many, counts[i]), sys(__NR_semop, s, 0, counts[i]), sys(__NR_semop, -1, many, counts[i]));
	say("number beyond %r", op({ 3, 1, 0x800 }));
	say(" too large %r", op({ 0, 32767, 0x800 }));
	say(" less than none %r", op({ 0, -5, 0x800 }));
	say(" zero of one %r", op({ 0, 0, 0x800 }));
	say(" both or none %r", op({ 1, 5, 0x800 }, { 0, -9, 0x800 }));
	values(s, "after");
	say("down and up %r", op({ 0, -1, 0x800 }, { 0, 1, 0x800 }));
	say(" up then down %r", op({ 0, 5, 0 }, { 0, -6, 0 }));
	say(" zero then up %r", op({ 0, 0, 0x800 }, { 0, 2, 0x800 }));
	say(" flags %r", op({ 0, 1, 0x7fff }));
	values(s, "then");
	struct { long s, n; } ts[] = { { 0, 0 }, { 0, 10000000 }, { 0, 1000000000 }, { -1, 0 }, { 0, -1 }, { 1L << 40, 5 } };
	for (int i = 0; i < 5; i++) {
		struct sembuf b = { 1, -9, 0 };
		say("timed %l.%l: %r\n", ts[i].s, ts[i].n, sys(__NR_semtimedop, s, &b, 1, &ts[i]));
	}
	struct sembuf b = { 1, -9, 0x800 };
	say("nowait timed %r bad time %r satisfied with a bad time %r\n", sys(__NR_semtimedop, s, &b, 1, &ts[1]), sys(__NR_semtimedop, s, &b, 1, 8), (b.sem_op = -1, sys(__NR_semtimedop, s, &b, 1, &ts[2])));
	/* undo */
	all[0] = 5, all[1] = 5, all[2] = 5;
	sys(__NR_semctl, s, 0, 17, all);
	long pid = fork();
	if (!pid) {
		say("undo %r", op({ 0, -3, 0x1000 }, { 1, 4, 0x1000 }, { 2, -5, 0 }));
		values(s, " inside");
		say("setval clears it %r\n", sys(__NR_semctl, s, 1, 16, 1));
		long inner = fork();
		if (!inner) leave(0);
		wait_for(inner);
		values(s, "a child inherits none");
		leave(0);
	}
	wait_for(pid);
	values(s, "undone");
	pid = fork();
	if (!pid) {
		op({ 0, 3, 0x1000 });
		leave(0);
	}
	nap(20);
	wait_for(pid);
	values(s, "undone again");
	pid = fork();
	if (!pid) {
		say("up with undo %r", op({ 0, 10, 0x1000 }));
		sys(__NR_semctl, s, 0, 12, 0);
		long inner = fork();
		if (!inner) {
			op({ 0, -12, 0 });
			leave(0);
		}
		wait_for(inner);
		leave(0);
	}
	wait_for(pid);
	values(s, " not below zero");
	pid = fork();
	if (!pid) {
		long r = 0;
		int n = 0;
		for (; n < 4 && !r; n++) r = op({ 2, 30000, 0x1800 }, { 2, -30000, 0x800 });
		say("undo range %r", r);
		say(" after %d %r", n, op({ 2, 32000, 0x1800 }, { 2, -32000, 0x800 }));
		say(" shared %r\n", sys(__NR_unshare, 0x40000));
		values(s, "after unshare");
		leave(0);
	}
	wait_for(pid);
	/* waiters, in order */
	all[0] = all[1] = all[2] = 0;
	sys(__NR_semctl, s, 0, 17, all);
	long kids[4], *ends = map(0, 4096, 3, 0x21, -1, 0);
	for (int i = 0; i < 4; i++) {
		kids[i] = fork();
		if (!kids[i]) {
			long r = i == 0 ? op({ 0, -2, 0 }) : i == 1 ? op({ 0, -1, 0 }) : i == 2 ? op({ 1, -1, 0 }, { 2, 0, 0 }) : op({ 0, -1, 0 }, { 1, 1, 0 });
			ends[i] = r + 1000;
			leave(0);
		}
		nap(20);
	}
	values(s, "sleepers");
	slurp("/proc/sysvipc/sem", text, 4096);
	for (int i = 0; i < 3; i++) {
		say("up %d %r\n", i, op({ 0, 1, 0 }));
		nap(30);
		values(s, "now");
		say(" ended %r %r %r %r\n", ends[0] ? ends[0] - 1000 : 99, ends[1] ? ends[1] - 1000 : 99, ends[2] ? ends[2] - 1000 : 99, ends[3] ? ends[3] - 1000 : 99);
	}
	say("remove %r\n", sys(__NR_semctl, s, 0, 0, 0));
	for (int i = 0; i < 4; i++) wait_for(kids[i]), say(" kid %d %r\n", i, ends[i] - 1000);
}

static void segments(void)
{
	long m = sys(__NR_shmget, 0, 10000, 0600), ro = sys(__NR_shmget, 0, 4096, 0400);
	struct shmid d;
	char *base = map(0, 1 << 20, 3, 0x22, -1, 0);
	static const int flags[] = { 0, 010000, 020000, 040000, 0100000, 050000, 0110000, 0130000, 060000, 0200000 };
	for (int i = 0; i < 10; i++) {
		long a = sys(__NR_shmat, m, 0, flags[i]), b = sys(__NR_shmat, m, base, flags[i]), c = sys(__NR_shmat, m, base + 5000, flags[i]), r = sys(__NR_shmat, ro, 0, flags[i]);
		say("shmat %x: %r at %r between %r read only %r null with %r\n", (long)flags[i], sign(a) ? a : 0, bad((void *)b) ? b : b - (long)base, bad((void *)c) ? c : c - (long)base, sign(r) ? r : 0, bad((void *)a) ? 0 : sys(__NR_shmdt, a));
		if (!bad((void *)b)) sys(__NR_shmdt, b), base = map(base, 1 << 20, 3, 0x32, -1, 0);
		if (!bad((void *)c)) sys(__NR_shmdt, c), base = map(base, 1 << 20, 3, 0x32, -1, 0);
		if (!bad((void *)r)) sys(__NR_shmdt, r);
	}
	say("bad id %r -1 %r dt nothing %r unaligned %r beyond %r\n", sys(__NR_shmat, 0x7fff0000, 0, 0), sys(__NR_shmat, -1, 0, 0), sys(__NR_shmdt, base), sys(__NR_shmdt, base + 1), sys(__NR_shmat, m, 0x7ffffffff000, 020000));
	char *a = (char *)sys(__NR_shmat, m, 0, 0), *b = (char *)sys(__NR_shmat, m, 0, 010000);
	a[0] = 'x', a[9999] = 'y', a[12287] = 'z';
	say("shared %d %d %d", b[0], b[9999], b[12287]);
	say(" mprotect %r exec %r mremap %r grow %r", sys(__NR_mprotect, b, 4096, 3), sys(__NR_mprotect, a, 4096, 5), sign(sys(__NR_mremap, a, 12288, 4096, 0, 0)), sign(sys(__NR_mremap, b, 12288, 16384, 1, 0)));
	sys(__NR_shmctl, m, 2, &d);
	say(" nattch %l", (long)d.nattch);
	say(" middle %r", sys(__NR_munmap, b + 4096, 4096));
	sys(__NR_shmctl, m, 2, &d);
	say(" nattch %l dt %r", (long)d.nattch, sys(__NR_shmdt, b));
	sys(__NR_shmctl, m, 2, &d);
	say(" nattch %l cpid %d lpid %d", (long)d.nattch, d.cpid == sys(__NR_getpid), d.lpid == sys(__NR_getpid));
	perm(&d.perm);
	say("\nlock %r", sys(__NR_shmctl, m, 11, 0));
	sys(__NR_shmctl, m, 2, &d);
	say(" mode %x unlock %r", (long)d.perm.mode, sys(__NR_shmctl, m, 12, 0));
	say(" rmid %r", sys(__NR_shmctl, m, 0, 0));
	say(" stat %r", sys(__NR_shmctl, m, 2, &d));
	say(" mode %x key %x at %r", (long)d.perm.mode, (long)d.perm.key, sign(sys(__NR_shmat, m, 0, 0)));
	long pid = fork();
	if (!pid) {
		sys(__NR_shmctl, m, 2, &d);
		say(" in a child %l", (long)d.nattch);
		leave(0);
	}
	wait_for(pid);
	say(" dt %r", sys(__NR_shmdt, a));
	say(" gone %r\n", sys(__NR_shmctl, m, 2, &d));
	sys(__NR_shmctl, ro, 0, 0);
}

static void strangers(void)
{
	static const int modes[] = { 0, 0400, 0200, 040, 020, 04, 02, 0666 };
	static const struct { int uid, gid; const char *who; } whom[] = { { 1000, 77, "owner" }, { 77, 1000, "group" }, { 77, 77, "other" } };
	for (int w = 0; w < 3; w++)
		for (int i = 0; i < 8; i++) {
			long q = sys(__NR_msgget, 0x100, 01000 | modes[i]), s = sys(__NR_semget, 0x100, 2, 01000 | modes[i]), m = sys(__NR_shmget, 0x100, 4096, 01000 | modes[i]);
			struct msqid md;
			struct semid sd;
			struct shmid hd;
			sys(__NR_msgctl, q, 2, &md), sys(__NR_semctl, s, 0, 2, &sd), sys(__NR_shmctl, m, 2, &hd);
			md.perm.uid = sd.perm.uid = hd.perm.uid = whom[w].uid, md.perm.gid = sd.perm.gid = hd.perm.gid = whom[w].gid;
			md.perm.mode = sd.perm.mode = hd.perm.mode = modes[i];
			sys(__NR_msgctl, q, 1, &md), sys(__NR_semctl, s, 0, 1, &sd), sys(__NR_shmctl, m, 1, &hd);
			long pid = fork();
			if (!pid) {
				sys(__NR_setgroups, 0, 0), sys(__NR_setresgid, 1000, 1000, 1000), sys(__NR_setresuid, 1000, 1000, 1000);
				out.type = 1;
				say("%s %x: msg get %r %r %r send %r take %r stat %r", whom[w].who, (long)modes[i], sign(sys(__NR_msgget, 0x100, 0)), sign(sys(__NR_msgget, 0x100, 0400)), sign(sys(__NR_msgget, 0x100, 0222)), sys(__NR_msgsnd, q, &out, 1, 0x800), sys(__NR_msgrcv, q, &in, 10, 0, 0x800), sys(__NR_msgctl, q, 2, &md));
				say(" any %r sem get %r %r val %r set %r up %r zero %r any %r", sign(sys(__NR_msgctl, q & 32767, 13, &md)), sign(sys(__NR_semget, 0x100, 0, 0)), sign(sys(__NR_semget, 0x100, 0, 0600)), sys(__NR_semctl, s, 0, 12, 0), sys(__NR_semctl, s, 0, 16, 0), op({ 0, 1, 0x800 }), op({ 1, 0, 0x800 }), sign(sys(__NR_semctl, s & 32767, 0, 20, &sd)));
				long at = sys(__NR_shmat, m, 0, 0), atr = sys(__NR_shmat, m, 0, 010000);
				say(" shm get %r %r at %r read %r stat %r any %r lock %r", sign(sys(__NR_shmget, 0x100, 0, 0)), sign(sys(__NR_shmget, 0x100, 0, 0600)), bad((void *)at) ? at : 0, bad((void *)atr) ? atr : 0, sys(__NR_shmctl, m, 2, &hd), sign(sys(__NR_shmctl, m & 32767, 15, &hd)), sys(__NR_shmctl, m, 11, 0));
				say(" set %r %r %r rmid %r %r %r\n", sys(__NR_msgctl, q, 1, &md), sys(__NR_semctl, s, 0, 1, &sd), sys(__NR_shmctl, m, 1, &hd), sys(__NR_msgctl, q, 0, 0), sys(__NR_semctl, s, 0, 0, 0), sys(__NR_shmctl, m, 0, 0));
				leave(0);
			}
			wait_for(pid);
			sys(__NR_msgctl, q, 0, 0), sys(__NR_semctl, s, 0, 0, 0), sys(__NR_shmctl, m, 0, 0);
		}
}

static void infos(void)
{
	long ids[6] = { sys(__NR_msgget, 0, 0600), sys(__NR_msgget, 0, 0600), sys(__NR_semget, 0, 3, 0600), sys(__NR_semget, 0, 4, 0600), sys(__NR_shmget, 0, 5000, 0600), sys(__NR_shmget, 0, 4096, 0600) };
	out.type = 1, sys(__NR_msgsnd, ids[0], &out, 7, 0), sys(__NR_msgsnd, ids[1], &out, 9, 0);
	char *a = (char *)sys(__NR_shmat, ids[4], 0, 0);
	a[0] = 1;
	for (int cmd = 3; cmd < 20; cmd++) {
		int *w = (int *)text;
		if (cmd == 3 || cmd == 12) {
			memset(text, 0, 200);
			say("msgctl %d %r:", cmd, sys(__NR_msgctl, 0, cmd, text));
			for (int i = 0; i < 7; i++) say(" %d", w[i]);
			say(" seg %d\n", ((unsigned short *)text)[14]);
		}
		if (cmd == 3 || cmd == 19) {
			memset(text, 0, 200);
			say("semctl %d %r:", cmd, sys(__NR_semctl, 0, 0, cmd, text));
			for (int i = 0; i < 10; i++) say(" %d", w[i]);
			say("\n");
		}
		if (cmd == 3 || cmd == 14) {
			unsigned long *l = (unsigned long *)text;
			memset(text, 0, 200);
			say("shmctl %d %r:", cmd, sys(__NR_shmctl, 0, cmd, text));
			if (cmd == 3) for (int i = 0; i < 5; i++) say(" %x", (long)l[i]);
			else say(" %d: %l %l %l %l %l", w[0], (long)l[1], (long)l[2], (long)l[3], (long)l[4], (long)l[5]);
			say("\n");
		}
	}
	static const char *const tables[] = { "/proc/sysvipc/msg", "/proc/sysvipc/sem", "/proc/sysvipc/shm" };
	for (int i = 0; i < 3; i++) {
		slurp(tables[i], text, sizeof(text));
		int field = 0, row = 0;
		for (char *p = text; *p;) {
			while (*p == ' ') p++;
			char *w = p;
			while (*p && *p != ' ' && *p != '\n') p++;
			char had = *p;
			*p = 0;
			int hidden = row && (!i ? field == 5 || field == 6 || (field > 10) : i == 1 ? field > 7 : field == 4 || field == 5 || (field > 10 && field < 14));
			if (*w) say(" %s", hidden ? "-" : w);
			field++;
			if (had == '\n') say("\n"), field = 0, row++;
			p += had != 0;
		}
	}
	say("detach %r", sys(__NR_shmdt, a));
	sys(__NR_msgctl, ids[0], 0, 0), sys(__NR_msgctl, ids[1], 0, 0), sys(__NR_semctl, ids[2], 0, 0, 0), sys(__NR_semctl, ids[3], 0, 0, 0), sys(__NR_shmctl, ids[4], 0, 0), sys(__NR_shmctl, ids[5], 0, 0);
	say("\n");
	/* namespace's limits */
	say("shmmni 2 %r", spit("/proc/sys/kernel/shmmni", "2"));
	long one = sys(__NR_shmget, 0, 4096, 0600), two = sys(__NR_shmget, 0, 4096, 0600), three = sys(__NR_shmget, 0, 4096, 0600);
	say(" %r %r %r", sign(one), sign(two), sign(three));
	sys(__NR_shmctl, one, 0, 0), sys(__NR_shmctl, two, 0, 0), sys(__NR_shmctl, three, 0, 0), spit("/proc/sys/kernel/shmmni", "4096");
	say(" shmall 3 %r", spit("/proc/sys/kernel/shmall", "3"));
	one = sys(__NR_shmget, 0, 8192, 0600), two = sys(__NR_shmget, 0, 8192, 0600), three = sys(__NR_shmget, 0, 4096, 0600);
	say(" %r %r %r", sign(one), sign(two), sign(three));
	sys(__NR_shmctl, one, 0, 0), sys(__NR_shmctl, two, 0, 0), sys(__NR_shmctl, three, 0, 0), spit("/proc/sys/kernel/shmall", "18446744073692774399");
	say(" shmmax 5000 %r", spit("/proc/sys/kernel/shmmax", "5000"));
	one = sys(__NR_shmget, 0, 5000, 0600), two = sys(__NR_shmget, 0, 5001, 0600);
	say(" %r %r", sign(one), sign(two));
	sys(__NR_shmctl, one, 0, 0), spit("/proc/sys/kernel/shmmax", "18446744073692774399");
	say(" msgmni 1 %r", spit("/proc/sys/kernel/msgmni", "1"));
	one = sys(__NR_msgget, 0, 0600), two = sys(__NR_msgget, 0, 0600);
	say(" %r %r", sign(one), sign(two));
	say(" msgmax 10 %r", spit("/proc/sys/kernel/msgmax", "10"));
	say(" %r %r", sys(__NR_msgsnd, one, &out, 10, 0x800), sys(__NR_msgsnd, one, &out, 11, 0x800));
	sys(__NR_msgctl, one, 0, 0), spit("/proc/sys/kernel/msgmni", "32000"), spit("/proc/sys/kernel/msgmax", "8192");
	say(" sem %r", spit("/proc/sys/kernel/sem", "3 5 2 2"));
	one = sys(__NR_semget, 0, 3, 0600), two = sys(__NR_semget, 0, 4, 0600), three = sys(__NR_semget, 0, 3, 0600);
	say(" %r %r %r", sign(one), sign(two), sign(three));
	long s = one;
	say(" ops %r %r\n", op({ 0, 1, 0 }, { 1, 1, 0 }), op({ 0, 1, 0 }, { 1, 1, 0 }, { 2, 1, 0 }));
	sys(__NR_semctl, one, 0, 0, 0), sys(__NR_semctl, three, 0, 0, 0), spit("/proc/sys/kernel/sem", "32000 1024000000 500 32000");
	files();
}

int main(int argc, char **argv)
{
	files();
	commands();
	messages();
	semaphores();
	long pid = fork();
	if (!pid) {
		segments();
		leave(0);
	}
	wait_for(pid);
	strangers();
	infos();
	return 0;
}
