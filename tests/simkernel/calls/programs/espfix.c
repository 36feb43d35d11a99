/* not: i386 s390x.  A signal taken by 32-bit code on a 16-bit stack segment: the way back gives it all 32 bits of its stack pointer. */
#include "tiny.h"
#include <asm/ldt.h>

ulong saved;
struct { unsigned ip; unsigned short cs; } __attribute__((packed)) far32;
static char alternate[16384];
static int trapped;

static void on_trap(int sig, void *info, void *context) { trapped++; }

static unsigned trap_on(unsigned ss, unsigned esp)
{
	unsigned after;

	asm volatile("push %%rbx\n"
		     "mov %%rsp, saved(%%rip)\n"
		     "movl $1f, far32(%%rip)\n"
		     "movw $0x23, 4+far32(%%rip)\n"
		     "mov %%esi, %%ss\n"
		     "mov %%edi, %%esp\n"
		     "ljmpl *far32(%%rip)\n"
		     ".code32\n"
		     "1: int3\n"
		     "mov %%esp, %%edx\n"
		     "ljmp $0x33, $2f\n"
		     ".code64\n"
		     "2: mov $0x2b, %%eax\n"
		     "mov %%eax, %%ss\n"
		     "mov saved(%%rip), %%rsp\n"
		     "pop %%rbx\n"
		     : "=&d"(after) : "S"(ss), "D"(esp)
		     : "rax", "rcx", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "memory", "cc");
	return after;
}

int main(int argc, char **argv)
{
	static const unsigned pointers[] = { 0x5aadc0de, 0x12345678, 0xfffefff0, 0x00010000, 0x8000 };
	struct user_desc narrow = { .entry_number = 0, .limit = 0xfffff, .limit_in_pages = 1, .useable = 1 };
	struct user_desc wide = { .entry_number = 1, .limit = 0xfffff, .limit_in_pages = 1, .useable = 1, .seg_32bit = 1 };
	struct { void *sp; int flags; long size; } stack = { alternate, 0, sizeof(alternate) };

	T(__NR_modify_ldt, 17, &narrow, sizeof(narrow));
	T(__NR_modify_ldt, 17, &wide, sizeof(wide));
	T(__NR_sigaltstack, &stack, 0);
	on_signal(5, on_trap, 0x08000000);
	for (int i = 0; i < 5; i++)
		for (unsigned ss = 7; ss <= 15; ss += 8) {
			unsigned after = trap_on(ss, pointers[i]);
			say("%x with ss %x: %x, signals %d\n", pointers[i], ss, after, trapped);
		}
	flush();
	return 0;
}
