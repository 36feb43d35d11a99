/* Descriptors that programs make, what the selectors of them reach, and what a signal frame tells of traps.  not: s390x */
#include "tiny.h"
#include <asm/ldt.h>
#include <linux/ptrace.h>

#define PT(req, pid, addr, data) sys(__NR_ptrace, req, pid, addr, data)
#define __WALL 0x40000000
#ifdef __x86_64__
#define IP 16
#define ERR 19
#define TRAPNO 20
#define MCONTEXT 40
#define RESUME "movq $9f, resume(%%rip)\n\t"
#define REGS 27
#define R_GS 26
#define R_FS 25
#define R_DS 23
#define FIRST_TLS 12
#else
#define IP 14
#define ERR 13
#define TRAPNO 12
#define MCONTEXT 20
#define RESUME "movl $9f, resume\n\t"
#define REGS 17
#define R_GS 10
#define R_FS 9
#define R_DS 7
#endif
#define TRY(what, code, ...) do { say("%s:", what); resume = 0; asm volatile(RESUME code "\n9:" :: __VA_ARGS__ : "memory", "eax", "ecx", "edx"); say(caught ? "" : " fine\n"); caught = 0; } while (0)

void *resume;
static volatile int caught;
static int *area;

static void trapped(int sig, void *info, void *context)
{
	long *regs = (long *)((char *)context + MCONTEXT);
	int code = ((int *)info)[2];
	say(" signal %d code %d err %x trapno %d\n", sig, code, (int)regs[ERR], (int)regs[TRAPNO]);
	regs[IP] = (long)resume;
	caught = 1;
}

static int ldt(int func, void *p, long size) { return (int)sys(__NR_modify_ldt, func, p, size); }
static struct user_desc desc(int entry, unsigned base, unsigned limit, int wide, int contents, int read_only, int pages, int absent, int useable)
{
	struct user_desc d;
	memset(&d, 0, sizeof(d));
	d.entry_number = entry; d.base_addr = base; d.limit = limit; d.seg_32bit = wide; d.contents = contents;
	d.read_exec_only = read_only; d.limit_in_pages = pages; d.seg_not_present = absent; d.useable = useable;
	return d;
}
static void write_entry(const char *what, int func, struct user_desc d) { say("%s: %r\n", what, (long)ldt(func, &d, sizeof(d))); }
static void table(void)
{
	unsigned char b[80];
	memset(b, 0xee, sizeof(b));
	int got = ldt(0, b, sizeof(b)), i;
	say("table %d", got);
	for (i = 0; i < got; i++) say("%s%x%x", i % 8 ? "" : " ", b[i] >> 4, b[i] & 15);
	say("\n");
}
static void load_gs(int selector) { asm volatile("mov %0,%%gs" :: "r"((unsigned short)selector)); }
static int gs(void) { unsigned short v; asm volatile("mov %%gs,%0" : "=r"(v)); return v; }
static int fs(void) { unsigned short v; asm volatile("mov %%fs,%0" : "=r"(v)); return v; }
static unsigned by_gs(void) { unsigned v; asm volatile("mov %%gs:0,%0" : "=r"(v)); return v; }
static void stop(void) { sys(__NR_kill, sys(__NR_getpid), 19); }
static void next(long pid) { int status; PT(PTRACE_CONT, pid, 0, 0); sys(__NR_wait4, pid, &status, __WALL, 0); say("status %x\n", status); }

static void tables(void)
{
	char b[200];
	int contents, absent, func;
	struct user_desc d;
	say("nothing: %d %d\n", ldt(0, b, 100), ldt(0, (void *)8, 100));
	say("default: %d %d %r\n", ldt(2, b, 200) >= 40, ldt(2, b, 5), (long)ldt(2, (void *)8, 5));
	say("functions: %r %r\n", (long)ldt(3, b, 16), (long)ldt(-1, b, 16));
	d = desc(1, 0x1234, 0xfffff, 1, 0, 0, 1, 0, 1);
	say("sizes: %r %r %r\n", (long)ldt(1, &d, 15), (long)ldt(0x11, &d, 17), (long)ldt(1, (void *)8, 16));
	d.entry_number = 8192;
	say("entries: %r ", (long)ldt(0x11, &d, 16));
	d.entry_number = -1;
	say("%r\n", (long)ldt(1, &d, 16));
	table();
	for (contents = 0; contents < 4; contents++)
		for (absent = 0; absent < 2; absent++)
			for (func = 1; func < 0x12; func += 16) {
				say("%d %d ", contents, absent);
				write_entry(func == 1 ? "old" : "new", func, desc(contents, 0x12345678, 0xabcde, contents & 1, contents, absent, contents >> 1, absent, 1));
			}
	table();
	write_entry("empty", 0x11, desc(1, 0, 0, 0, 0, 1, 0, 1, 0));
	write_entry("old empty", 1, desc(2, 0, 0, 1, 1, 0, 0, 0, 1));
	write_entry("16 bits", 0x11, desc(3, 1, 2, 0, 2, 0, 0, 0, 0));
	table();
	say("read: %d %d %r\n", ldt(0, b, 12), ldt(0, b, 200), (long)ldt(0, (void *)8, 20));
}

static void selectors(void)
{
	long pid;
	write_entry("data", 0x11, desc(0, (unsigned)(long)area, 8191, 1, 0, 0, 0, 0, 0));
	load_gs(7);
	say("gs %x %x", gs(), by_gs());
	sys(__NR_getpid);
	say(", after a call %x %x\n", gs(), by_gs());
	pid = fork();
	if (!pid) {
		say("child %x %x", gs(), by_gs());
		*area = 1;
		say(" %x", by_gs());
		struct user_desc d = desc(0, (unsigned)(long)area + 4096, 100, 1, 0, 0, 0, 0, 0);
		ldt(0x11, &d, sizeof(d));
		load_gs(7);
		say(" moved %x\n", by_gs());
		flush();
		leave(0);
	}
	wait_for(pid);
	say("parent %x %x\n", gs(), by_gs());
	TRY("empty", "mov %0,%%gs", "r"(0xf));
	write_entry("absent", 0x11, desc(4, 1, 2, 1, 0, 0, 0, 1, 0));
	TRY("absent", "mov %0,%%gs", "r"(0x27));
	TRY("beyond", "mov %0,%%gs", "r"(0x7fff));
	TRY("null", "mov %0,%%gs", "r"(3));
	say("gs %x\n", gs());
	TRY("without a segment", "mov %%gs:0,%%eax", "r"(0));
	TRY("null pointer", "movl $1,16", "r"(0));
	TRY("read", "movl 16,%%eax", "r"(0));
	TRY("not to write", "movl $1,(%0)", "r"((long)"abc"));
	TRY("ud2", "ud2", "r"(0));
	TRY("int3", "int3", "r"(0));
	TRY("div", "xor %%edx,%%edx; xor %%ecx,%%ecx; div %%ecx", "r"(0));
	TRY("hlt", "hlt", "r"(0));
#ifdef __x86_64__
	TRY("the kernel's", "movl $1,(%0)", "r"(0xffffffff81000000ul));
	TRY("no address", "movl $1,(%0)", "r"(1ul << 63));
#endif
}

#ifdef __x86_64__
#include <asm/prctl.h>
#define AP(...) say("%s: %r\n", #__VA_ARGS__, sys(__NR_arch_prctl, __VA_ARGS__))
static void bases(void)
{
	unsigned long base = 0;
	long far = (long)(area + 1024);
	say("set: %r", sys(__NR_arch_prctl, ARCH_SET_GS, far));
	say(" gs %x %x\n", gs(), by_gs());
	say("get: %r", sys(__NR_arch_prctl, ARCH_GET_GS, &base));
	say(" %d\n", base == far);
	AP(ARCH_SET_GS, -4096); AP(ARCH_SET_GS, 0x7ffffffff000); AP(ARCH_SET_GS, 0x7fffffffefff); AP(ARCH_SET_FS, -1);
	AP(ARCH_GET_GS, 8); AP(ARCH_GET_FS, 8); AP(ARCH_GET_CPUID, 0); AP(ARCH_SET_CPUID, 1); AP(0x2002, 0); AP(0x2003, 0); AP(0x1005, 0); AP(0, 0);
	say("thread areas: %r %r\n", sys(__NR_set_thread_area, &base), sys(__NR_get_thread_area, &base));
}
#else
static void told(struct user_desc *d) { say("%d %d %x %d %d %d %d %d %d\n", d->entry_number < 32, d->base_addr == (unsigned)area, d->limit, d->seg_32bit, d->contents, d->read_exec_only, d->limit_in_pages, d->seg_not_present, d->useable); }
static void bases(void)
{
	int i, first;
	struct user_desc d = desc(-1, (unsigned)area, 0xfffff, 1, 0, 0, 1, 0, 1);
	say("set: %r\n", sys(__NR_set_thread_area, &d));
	first = d.entry_number;
	for (i = 0; i < 3; i++) { d.entry_number = -1; say("another: %r", sys(__NR_set_thread_area, &d)); say(" %d\n", d.entry_number == -1 ? -1 : d.entry_number - first); }
	for (i = -1; i < 4; i++) { struct user_desc g; memset(&g, 0xff, sizeof(g)); g.entry_number = first + i; say("get %d: %r ", i, sys(__NR_get_thread_area, &g)); told(&g); }
	load_gs(first << 3 | 3);
	say("by the thread's: %d %x\n", gs() == (first << 3 | 3), by_gs());
	d = desc(first, (unsigned)area + 4096, 0xfffff, 1, 0, 0, 1, 0, 1);
	say("moved: %r ", sys(__NR_set_thread_area, &d));
	say("%x\n", by_gs());
	d.seg_32bit = 0; say("16 bits: %r\n", sys(__NR_set_thread_area, &d));
	d.seg_32bit = 1; d.contents = 2; say("code: %r\n", sys(__NR_set_thread_area, &d));
	d.contents = 0; d.seg_not_present = 1; say("absent: %r\n", sys(__NR_set_thread_area, &d));
	say("bad: %r %r\n", sys(__NR_set_thread_area, 8), sys(__NR_get_thread_area, 8));
	d = desc(first, 0, 0, 0, 0, 1, 0, 1, 0);
	say("none: %r ", sys(__NR_set_thread_area, &d));
	say("gs %x\n", gs());
	TRY("by none", "mov %%gs:0,%%eax", "r"(0));
	d = desc(first + 1, 0, 0, 0, 0, 0, 0, 0, 0);
	say("zeros: %r\n", sys(__NR_set_thread_area, &d));
}
#endif

static void traced(void)
{
	int i, status, first = 0;
	long regs[REGS], pid;
	struct user_desc d = desc(0, (unsigned)(long)area, 8191, 1, 0, 0, 0, 0, 0);
	ldt(0x11, &d, sizeof(d));
	pid = fork();
	if (!pid) {
		PT(PTRACE_TRACEME, 0, 0, 0);
		load_gs(7);
		stop();
		say("tracee %x %x\n", gs(), by_gs()); flush();
		stop();
		say("tracee %d %x\n", gs() > 7, by_gs()); flush();
		stop();
		say("tracee %x %x\n", gs(), fs()); flush();
		leave(5);
	}
	sys(__NR_wait4, pid, &status, __WALL, 0);
	say("regs: %r", PT(PTRACE_GETREGS, pid, 0, regs));
	say(" gs %x fs %x\n", (int)regs[R_GS], (int)regs[R_FS] & ~3); /* a real kernel of 64 bits gives programs of 32 null selectors with 3 */
	say("set: %r\n", PT(PTRACE_SETREGS, pid, 0, regs));
	flush(); next(pid);
	memset(&d, 0xff, sizeof(d));
	for (i = 4; i < 18; i++)
		if (!first && !PT(25, pid, i, &d)) first = i;
	for (i = -1; i < 4; i++) say("area %d: %r\n", i, PT(25, pid, first + i, &d));
	say("areas that are none: %r %r\n", PT(25, pid, -1, &d), PT(26, pid, -1, &d));
	d = desc(0, (unsigned)(long)area + 4096, 0xfffff, 1, 0, 0, 1, 0, 0);
	say("set area: %r %r\n", PT(26, pid, first, &d), PT(26, pid, first + 3, &d));
	say("bad: %r %r\n", PT(25, pid, first, 8), PT(26, pid, first, 8));
	say("poke: %r\n", PT(PTRACE_POKEUSR, pid, R_GS * sizeof(long), first << 3 | 3));
#ifdef __x86_64__
	unsigned long base = 0;
	say("prctl: %r", PT(30, pid, (long)area + 4096, ARCH_SET_GS));
	say(" %r", PT(30, pid, &base, ARCH_GET_GS));
	say(" %d %r %r %r\n", base == (long)area + 4096, PT(30, pid, 8, ARCH_GET_GS), PT(30, pid, 0, ARCH_GET_CPUID), PT(30, pid, -8, ARCH_SET_GS));
	say("poke: %r\n", PT(PTRACE_POKEUSR, pid, R_GS * sizeof(long), first << 3 | 3));
	PT(PTRACE_GETREGS, pid, 0, regs);
	say("base stays %d\n", regs[22] == (long)area + 4096);
#endif
	flush(); next(pid);
	say("pokes: %r %r %r\n", PT(PTRACE_POKEUSR, pid, R_GS * sizeof(long), 7), PT(PTRACE_POKEUSR, pid, R_FS * sizeof(long), 0x10007), PT(PTRACE_POKEUSR, pid, R_DS * sizeof(long), 6));
	flush(); next(pid);
}

int main(int argc, char **argv)
{
	int i, signals[] = { 4, 5, 7, 8, 11 };
	for (i = 0; i < 5; i++) on_signal(signals[i], trapped, 4 | 0x40000000);
	area = map((void *)0x20000000, 8192, 3, 0x32, -1, 0);
	area[0] = 0x11223344; area[1024] = 0x55667788;
#ifdef __x86_64__
	say("low: %d %d\n", (unsigned long)map(0, 4096, 3, 0x62, -1, 0) - 0x40000000 < 0x40000000, bad(map(0, 0x40001000, 3, 0x62, -1, 0)));
#endif
	tables();
	selectors();
	bases();
	traced();
	flush();
	return 0;
}
