/* Selectors that a signal handler leaves behind it and that cannot be loaded, and those that can.  not: i386 s390x */
#include "tiny.h"
#include <asm/ldt.h>

#define CS(c) (*(unsigned short *)((char *)(c) + 40 + 144))
#define SS(c) (*(unsigned short *)((char *)(c) + 40 + 150))
#define REG(c, n) (((long *)((char *)(c) + 40))[n])
#define FLAGS(c) (*(long *)(c))

static volatile int cs, ss, flags = 6;

static void changes(int sig, void *info, void *context)
{
	CS(context) = cs;
	SS(context) = ss;
	FLAGS(context) = flags;
}
static void refused(int sig, void *info, void *context)
{
	say("signal %d code %d err %x trapno %d cs %x ss %x flags %x\n", sig, ((int *)info)[2], (int)REG(context, 19), (int)REG(context, 20), CS(context), SS(context), (int)FLAGS(context) & ~1); /* UC_FP_XSTATE is a matter of the CPU */
	CS(context) = 0x33;
	SS(context) = 0x2b;
}
static void entry(int number, int contents, int absent, int wide)
{
	struct user_desc d;
	memset(&d, 0, sizeof(d));
	d.entry_number = number; d.limit = 0xfffff; d.limit_in_pages = 1; d.seg_32bit = wide; d.contents = contents; d.seg_not_present = absent;
	sys(__NR_modify_ldt, 0x11, &d, sizeof(d));
}
static void test(int code, int stack, int uc_flags)
{
	unsigned short now;
	cs = code; ss = stack; flags = uc_flags;
	say("cs %x ss %x: ", code, stack);
	sys(__NR_kill, sys(__NR_getpid), 10);
	asm volatile("mov %%ss, %0" : "=r"(now));
	say("ss %x\n", now);
}

int main(int argc, char **argv)
{
	on_signal(10, changes, 4);
	on_signal(11, refused, 4);
	on_signal(7, refused, 4);
	entry(0, 0, 0, 1); /* 7: data */
	entry(1, 0, 1, 1); /* f: data that is not there */
	entry(2, 2, 1, 1); /* 17: code that is not there */
	entry(3, 1, 0, 1); /* 1f: a stack that grows down */
	test(0x33, 0x2b, 6); test(0x33, 7, 6); test(0x30, 0x28, 6); test(0x33, 0xf, 6); test(0x33, 0x47, 6); test(0x33, 0x33, 6); test(0x33, 0, 6); test(0x33, 0x18, 6);
	test(0x17, 0x2b, 6); test(0x17, 7, 6); test(0, 0x2b, 6); test(0x2b, 0x2b, 6); test(0x47, 0x2b, 6); test(0x63, 0x2b, 6); test(0x10, 0x2b, 6);
	test(0x33, 0x47, 2); test(0x33, 7, 2); test(0x33, 0, 2);
	flush();
	return 0;
}
