/* sayings: what the kernel log says on riscv64 of signals that nobody takes, with every register of the task.  Times, task numbers, the stack
 * pointer, the kernel's name, the machine's and the state of floating point are left out.  No libc; built as counters.c.
 *
 * The answers are of Debian's 6.12. */
typedef unsigned long u64;
enum { CLOSE = 57, WRITE = 64, EXIT = 93, SYSLOG = 116, SIGACTION = 134, KILL = 129, PRCTL = 167, GETPID = 172, CLONE = 220, MMAP = 222, WAIT4 = 260, MEMFD = 279 };

static long call(long n, long a, long b, long c, long d, long e, long f)
{
	register long a7 __asm__("a7") = n, a0 __asm__("a0") = a, a1 __asm__("a1") = b, a2 __asm__("a2") = c, a3 __asm__("a3") = d,
		a4 __asm__("a4") = e, a5 __asm__("a5") = f;
	__asm__ volatile("ecall" : "+r"(a0) : "r"(a7), "r"(a1), "r"(a2), "r"(a3), "r"(a4), "r"(a5) : "memory");
	return a0;
}
static char line[1 << 17], log[1 << 17];
static int used;
static void put(char c) { line[used++] = c; }
static void flush(void) { call(WRITE, 1, (long)line, used, 0, 0, 0); used = 0; }
static void say(const char *s) { while (*s) put(*s++); }
static void hex(u64 v) { for (int i = 60; i >= 0; i -= 4) if (v >> i || !i) put("0123456789abcdef"[v >> i & 15]); }
static int starts(const char *s, const char *what) { while (*what) if (*s++ != *what++) return 0; return 1; }
void *memset(void *p, int c, u64 n) { char *q = p; while (n--) *q++ = c; return p; }

/* every register has a value of its own, then the jump */
__asm__(".globl go\ngo: li ra,0x101\n li gp,0x103\n li tp,0x104\n li t0,0x105\n li t1,0x106\n li t2,0x107\n li s0,0x108\n li s1,0x109\n"
	" li a2,0x112\n li a3,0x113\n li a4,0x114\n li a5,0x115\n li a6,0x116\n li a7,0x117\n li s2,0x118\n li s3,0x119\n li s4,0x11a\n"
	" li s5,0x11b\n li s6,0x11c\n li s7,0x11d\n li s8,0x11e\n li s9,0x11f\n li s10,0x120\n li s11,0x121\n li t3,0x122\n li t4,0x123\n"
	" li t5,0x124\n li t6,0x125\n jr a1\n"
	".globl load\nload: lw a0,0(a0)\n ret\n.globl store\nstore: sw a0,0(a0)\n ret\n.globl jump\njump: jr a0\n"
	".globl none\nnone: .half 0, 0\n.globl word\nword: .word 0xffffffff\n.globl wait\nwait: wfi\n ret\n.globl halt\nhalt: ebreak\n ret\n");
void go(u64 a0, void *to);
void load(void), store(void), jump(void), none(void), word(void), halt(void);

static void copy_line(const char *s)
{
	if (starts(s, "CPU: ") || starts(s, "Hardware name")) {
		for (int i = 0; i < 4; i++)
			put(s[i]);
		put('\n');
		return;
	}
	for (; *s && *s != '\n'; s++) {
		put(*s);
		if (starts(s, "d[") )
			for (s++, put('['); s[1] != ']'; s++);
		else if (starts(s, "sp : "))
			for (s += 4; s[1] && s[1] != '\n'; s++);
		else if (starts(s, "status: "))
			for (s += 7, put(' '); s[1] != ' '; s++);
	}
	put('\n');
}
static void run(const char *name, void (*f)(void), u64 a0, int prepare)
{
	int status = 0;
	call(SYSLOG, 5, 0, 0, 0, 0, 0);
	long pid = call(CLONE, 17, 0, 0, 0, 0, 0);
	if (!pid) {
		call(PRCTL, 15, (long)"child", 0, 0, 0, 0);
		if (prepare == 1) call(MMAP, 0x10000000, 4096, 1, 0x32, -1, 0);
		if (prepare == 2) call(MMAP, 0x10000000, 8192, 0, 0x32, -1, 0);
		if (prepare == 3) call(MMAP, 0x10000000, 4096, 3, 0x11, call(MEMFD, (long)"bus", 0, 0, 0, 0, 0), 0);
		if (prepare == 4) call(MMAP, 0x10000000, 4096, 3, 0x32, -1, 0);
		if (prepare == 5) { struct { u64 handler, flags, mask; } ignore = { 1 }; call(SIGACTION, 11, (long)&ignore, 0, 8, 0, 0); }
		if (prepare == 6) call(KILL, call(GETPID, 0, 0, 0, 0, 0, 0), 11, 0, 0, 0, 0);
		go(a0, f);
	}
	call(WAIT4, pid, (long)&status, 0, 0, 0, 0);
	say("-- "), say(name), say(": "), hex(status), put('\n');
	long n = call(SYSLOG, 3, (long)log, sizeof(log) - 1, 0, 0, 0);
	log[n < 0 ? 0 : n] = 0;
	for (char *s = log; *s;) {
		if (*s == '<') {
			put(s[1]), put(' ');
			while (*s != ']') s++;
			s += 2;
			copy_line(s);
		}
		while (*s && *s != '\n') s++;
		if (*s) s++;
	}
	flush();
}
void begin(void)
{
	run("load", load, 8, 0);
	run("store", store, 16, 0);
	run("jump to nothing", jump, 0, 0);
	run("store to what is read-only", store, 0x10000004, 1);
	run("load of what may not be read", load, 0x10001000, 2);
	run("load behind the end of a file", load, 0x10000000, 3);
	run("jump to data", jump, 0x10000010, 4);
	run("ignored", load, 8, 5);
	run("killed", load, 8, 6);
	run("load from the kernel", load, 0xffffffd800000000, 0);
	run("no instruction", none, 0, 0);
	run("no long instruction", word, 0, 0);
	run("breakpoint", halt, 0, 0);
	call(EXIT, 0, 0, 0, 0, 0, 0);
}
__asm__(".globl _start\n_start: call begin\n");
