/* Floating point and signals: what a handler begins with, what its frame holds, what it may change there; traps of x87 and of divisions.
 * not: s390x i386 */
#include "tiny.h"

struct fpx { unsigned short cwd, swd, twd, fop; unsigned long long rip, rdp; unsigned mxcsr, mask, st[32], xmm[64], reserved[12], magic[12]; };

static unsigned mxcsr(void) { unsigned v; __asm__ volatile("stmxcsr %0" : "=m"(v)); return v; }
static void set_mxcsr(unsigned v) { __asm__ volatile("ldmxcsr %0" : : "m"(v)); }
static unsigned short cw(void) { unsigned short v; __asm__ volatile("fnstcw %0" : "=m"(v)); return v; }
static void set_cw(unsigned short v) { __asm__ volatile("fldcw %0" : : "m"(v)); }
static unsigned short sw(void) { unsigned short v; __asm__ volatile("fnstsw %0" : "=m"(v)); return v; }

static struct fpx *frame_of(void *context) { return *(struct fpx **)((char *)context + 40 + 23 * 8); }
static int change, quiet;
static void handler(int sig, void *info, void *context)
{
	struct fpx *f = frame_of(context);
	if (!quiet) {
		say("in handler: mxcsr %x cw %x sw %x\n", (long)mxcsr(), (long)cw(), (long)sw());
		say("frame: mxcsr %x mask %x cw %x sw %x tw %x\n", (long)f->mxcsr, (long)f->mask, (long)f->cwd, (long)f->swd & 0x7fff, (long)f->twd);
	}
	if (change == 1)
		f->mxcsr = 0x1f80 | 0x4000;
	if (change == 2)
		f->cwd = 0x77f;
	if (change == 3)
		f->mxcsr = 0xffffffff;
	if (change == 4)
		f->xmm[0] = 0x12345678;
	set_mxcsr(0x1f80 | 0x2000);
	set_cw(0xb7f);
}
static void trapped(int sig, int *info, void *context)
{
	struct fpx *f = frame_of(context);
	unsigned char *at = *(unsigned char **)((char *)context + 40 + 16 * 8), *told = *(unsigned char **)(info + 4);
	say("signal %d code %d at the instruction %d: %x %x %x\n", sig, info[2], told == at, (long)at[0], (long)at[1], (long)at[2]);
	say("mxcsr %x sw %x\n", (long)f->mxcsr, (long)f->swd & 0x7f);
	leave(0);
}
static void tell(const char *what) { say("%s: mxcsr %x cw %x\n", what, (long)mxcsr(), (long)cw()); }
#define TRAP(name, ...) do { long pid = fork(); if (!pid) { say("%s\n", name); on_signal(8, (void *)trapped, 0); __VA_ARGS__; say("no signal: mxcsr %x sw %x\n", (long)mxcsr(), (long)sw() & 0x7f); leave(0); } \
	say("status %d\n", wait_for(pid)); } while (0)

int main(int argc, char **argv)
{
	unsigned low;

	tell("at first");
	on_signal(10, (void *)handler, 0);
	sys(__NR_kill, sys(__NR_getpid), 10);
	tell("after a signal");
	set_mxcsr(0x1f80 | 0x6000);
	set_cw(0x27f);
	sys(__NR_kill, sys(__NR_getpid), 10);
	tell("after a signal, rounding to zero");
	change = 1;
	sys(__NR_kill, sys(__NR_getpid), 10);
	tell("a handler that changed mxcsr");
	change = 2;
	sys(__NR_kill, sys(__NR_getpid), 10);
	tell("a handler that changed the control word");
	change = 3;
	sys(__NR_kill, sys(__NR_getpid), 10);
	tell("a handler that set every bit of mxcsr");
	change = 4;
	quiet = 1;
	__asm__ volatile("xorps %%xmm0, %%xmm0\n mov %1, %%edi\n mov $10, %%esi\n mov $62, %%eax\n syscall\n movd %%xmm0, %0" : "=r"(low) : "r"((int)sys(__NR_getpid)) : "rcx", "r11", "rdi", "rsi", "rax", "xmm0", "memory");
	say("a handler that changed xmm0: %x\n", (long)low);
	change = 0;
	set_mxcsr(0x1f80);
	set_cw(0x37f);
	long pid = fork();
	if (!pid) {
		tell("a child");
		leave(0);
	}
	wait_for(pid);
	set_mxcsr(0x1f80 | 0x6000);
	set_cw(0x27f);
	pid = fork();
	if (!pid) {
		tell("a child of one that rounds to zero");
		leave(0);
	}
	wait_for(pid);
	nap(2);
	tell("after a sleep");
	set_mxcsr(0x1f80);
	set_cw(0x37f);
	TRAP("x87 1/0", set_cw(0x37f & ~4); __asm__ volatile("fldz\n fld1\n fdivp\n fwait"));
	TRAP("int 1/0", __asm__ volatile("xor %%edx, %%edx\n mov $1, %%eax\n xor %%ecx, %%ecx\n idiv %%ecx" : : : "eax", "ecx", "edx"));
	TRAP("int min/-1", __asm__ volatile("mov $0x80000000, %%eax\n cltd\n mov $-1, %%ecx\n idiv %%ecx" : : : "eax", "ecx", "edx"));
	return 0;
}
