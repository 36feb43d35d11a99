/* What the kernel log says of signals that nobody takes; times, task numbers and stack pointers are left out.  not: i386 s390x */
#include "tiny.h"

static char log[1 << 17];
static int before(const char *s, const char *what) { return !memcmp(s, what, strlen(what)); }
static void handler(int s, void *i, void *c) { leave(40 + s); }
static void run(const char *name, void (*f)(void))
{
	sys(__NR_syslog, 5, 0, 0);
	long pid = fork();
	if (!pid) {
		sys(__NR_prctl, 15, "child");
		f();
		leave(0);
	}
	say("-- %s: %x\n", name, (long)wait_for(pid));
	long n = sys(__NR_syslog, 3, log, sizeof(log) - 1);
	log[n < 0 ? 0 : n] = 0;
	for (char *s = log; *s; s++) {
		put(*s);
		if (before(s, "[ ") && s - log >= 3 && s[-1] == '>')
			while (s[1] != ']') s++;
		else if (before(s, "child["))
			for (s += 5, put('['); s[1] != ']'; s++);
		else if (before(s, "sp ") || before(s, "sp:"))
			for (s += 2; s[1] != ' '; s++);
	}
	flush();
}
static char *page(int prot) { return map((void *)0x10000000, 8192, prot, 0x32, -1, 0); }
static void nothing(void) {}
static void null_read(void) { asm volatile("mov 8,%eax"); }
static void null_write(void) { asm volatile("movl $1,16"); }
static void null_call(void) { asm volatile("xor %eax,%eax; call *%rax"); }
static void read_only(void) { *(volatile char *)(page(1) + 5) = 1; }
static void not_code(void) { char *p = page(3); memset(p, 0, 64); asm volatile("call *%0" :: "r"(p + 16)); }
static void no_rights(void) { (void)*(volatile char *)(page(0) + 5000); }
static void bus(void)
{
	long fd = sys(__NR_memfd_create, "bus", 0);
	(void)*(volatile char *)map((void *)0x10000000, 4096, 1, 0x11, fd, 0);
}
static void handled(void) { on_signal(11, handler, 0); null_read(); }
static void ignored(void) { on_signal(11, (void *)1, 0); null_read(); }
static void blocked(void) { on_signal(11, handler, 0); block_signals(0, SIGBIT(11)); null_read(); }
static void killed(void) { sys(__NR_kill, sys(__NR_getpid), 11); }
static void kernel_half(void) { asm volatile("movabs 0xffff888000000000,%al"); }
static void int3(void) { asm volatile("int3"); }
static void ud2(void) { asm volatile("ud2"); }
static void hlt(void) { asm volatile("hlt"); }
static void divide(void) { asm volatile("mov $1,%eax; xor %edx,%edx; xor %ecx,%ecx; div %ecx"); }
static void step(void) { asm volatile("pushf; orl $0x100,(%rsp); popf; nop; nop"); }
static void not_canonical(void) { asm volatile("movabs 0x8000000000000000,%al"); }
static void call_not_canonical(void) { asm volatile("movabs $0x8000000000000000,%rax; call *%rax"); }
static void no_stack(void) { asm volatile("mov $0x20,%rsp; push %rax"); }
static void many(void)
{
	for (int i = 0; i < 14; i++) {
		long pid = fork();
		if (!pid)
			null_read();
		wait_for(pid);
	}
}
#define RUN(f) run(#f, f)

int main(int argc, char **argv)
{
	spit("/proc/sys/kernel/printk", "1\n");
	nap(6000);
	RUN(nothing), RUN(null_read), RUN(null_write), RUN(null_call), RUN(read_only), RUN(not_code), RUN(no_rights), RUN(bus), RUN(handled);
	RUN(ignored), RUN(blocked), RUN(killed), RUN(kernel_half);
	nap(6000);
	RUN(int3), RUN(ud2), RUN(hlt), RUN(divide), RUN(step), RUN(not_canonical), RUN(call_not_canonical), RUN(no_stack);
	nap(6000);
	RUN(many);
	nap(6000);
	RUN(null_read);
	spit("/proc/sys/debug/exception-trace", "0\n");
	RUN(null_read);
	spit("/proc/sys/debug/exception-trace", "1\n");
	return 0;
}
