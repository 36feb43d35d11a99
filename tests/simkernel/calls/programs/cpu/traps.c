/* traps: instructions that the CPU does not do for user code: which signal, which si_code, si_addr and where the program counter stands,
 * as distances from the instruction.  No libc; built as counters.c.
 *
 * The answers are of Debian's 6.1 on a Cortex-A72 and on s390x, of its 6.12 on riscv64. */
#include <signal.h>
#include <ucontext.h>

typedef unsigned long u64;
#if defined(__aarch64__)
enum { WRITE = 64, EXIT = 93, SIGACTION = 134 };
#define PC(u) ((u)->uc_mcontext.pc)
static long call(long n, long a, long b, long c, long d, long e, long f)
{
	register long x8 __asm__("x8") = n, x0 __asm__("x0") = a, x1 __asm__("x1") = b, x2 __asm__("x2") = c, x3 __asm__("x3") = d,
		x4 __asm__("x4") = e, x5 __asm__("x5") = f;
	__asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
	return x0;
}
#elif defined(__s390x__)
enum { EXIT = 1, WRITE = 4, SIGACTION = 174 };
#define PC(u) ((u)->uc_mcontext.psw.addr)
static long call(long n, long a, long b, long c, long d, long e, long f)
{
	register long r1 __asm__("1") = n, r2 __asm__("2") = a, r3 __asm__("3") = b, r4 __asm__("4") = c, r5 __asm__("5") = d,
		r6 __asm__("6") = e, r7 __asm__("7") = f;
	__asm__ volatile("svc 0" : "+d"(r2) : "d"(r1), "d"(r3), "d"(r4), "d"(r5), "d"(r6), "d"(r7) : "memory");
	return r2;
}
#else
enum { WRITE = 64, EXIT = 93, SIGACTION = 134 };
#define PC(u) ((u)->uc_mcontext.__gregs[0])
static long call(long n, long a, long b, long c, long d, long e, long f)
{
	register long a7 __asm__("a7") = n, a0 __asm__("a0") = a, a1 __asm__("a1") = b, a2 __asm__("a2") = c, a3 __asm__("a3") = d,
		a4 __asm__("a4") = e, a5 __asm__("a5") = f;
	__asm__ volatile("ecall" : "+r"(a0) : "r"(a7), "r"(a1), "r"(a2), "r"(a3), "r"(a4), "r"(a5) : "memory");
	return a0;
}
#endif
#define CALL(n, a, b, c) call(n, (long)(a), (long)(b), (long)(c), 0, 0, 0)

static void say(const char *text)
{
	long n = 0;
	while (text[n])
		n++;
	CALL(WRITE, 1, text, n);
}
static void number(long value)
{
	char text[24];
	int at = 23;
	u64 left = value < 0 ? -value : value;
	text[at] = 0;
	do
		text[--at] = '0' + left % 10;
	while (left /= 10);
	if (value < 0)
		text[--at] = '-';
	say(text + at);
}
static volatile u64 from, resume;
static char data[64] __attribute__((aligned(64)));
static struct { int sig, code; u64 addr, pc; } volatile got;

static void on_signal(int sig, siginfo_t *info, void *context)
{
	got.sig = sig, got.code = info->si_code, got.addr = (u64)info->si_addr, got.pc = PC((ucontext_t *)context);
	PC((ucontext_t *)context) = resume;
}
static void catch(int sig)
{
	struct {
		void (*handler)(int, siginfo_t *, void *);
		u64 flags;
#if !defined(__riscv)
		void *restorer;
#endif
		u64 mask;
	} action = { on_signal, SA_SIGINFO };
	call(SIGACTION, sig, (long)&action, 0, 8, 0, 0);
}
static void place(const char *what, u64 at)
{
	say(what);
	if (at - from + 64 < 128)
		say("insn+"), number(at - from);
	else if (at - (u64)data < 64)
		say("data+"), number(at - (u64)data);
	else
		number(at);
}
static void told(const char *name)
{
	say(name);
	if (got.sig) {
		say(": signal "), number(got.sig), say(" code "), number(got.code);
		place(" addr ", got.addr), place(" pc ", got.pc);
		say("\n");
	} else
		say(": nothing\n");
	got.sig = 0;
}

#if defined(__aarch64__)
#define TRY(name, insn) do { \
	__asm__ volatile("adr x9, 1f\n str x9, %0\n adr x9, 2f\n str x9, %1\n mov x10, %2\n mov x11, sp\n1: " insn "\n2: mov sp, x11" \
		: "=m"(from), "=m"(resume) : "r"(data) : "x9", "x10", "x11", "x12", "x13", "x30", "memory", "cc"); told(name); } while (0)
static void all(void)
{
	TRY("udf 0", ".inst 0x00000000");
	TRY("udf 65535", ".inst 0x0000ffff");
	TRY("unallocated", ".inst 0x04000000 | 0x02000000");
	TRY("brk 0", "brk 0");
	TRY("brk 1", "brk 1");
	TRY("brk 65535", "brk 65535");
	TRY("hlt 0", "hlt 0");
	TRY("hvc 0", "hvc 0");
	TRY("smc 0", "smc 0");
	TRY("eret", "eret");
	TRY("dcps1", "dcps1");
	TRY("msr daifset", "msr daifset, 2");
	TRY("mrs sctlr_el1", "mrs x12, sctlr_el1");
	TRY("msr ttbr0_el1", "msr ttbr0_el1, x12");
	TRY("msr sctlr_el1", "msr sctlr_el1, x12");
	TRY("tlbi vmalle1", "tlbi vmalle1");
	TRY("ic iallu", "ic iallu");
	TRY("dc isw", "dc isw, x12");
	TRY("msr spsel", "msr spsel, 0");
	TRY("at s1e1r", "at s1e1r, x10");
	TRY("unaligned ldr", "ldr x12, [x10, 1]");
	TRY("unaligned ldxr", "add x10, x10, 1\n ldxr x12, [x10]");
	TRY("unaligned ldar", "add x10, x10, 1\n ldar x12, [x10]");
	TRY("odd br", "add x10, x9, 2\n br x10");
	TRY("store to text", "adr x12, 1b\n str x12, [x12]");
	TRY("null", "mov x12, 16\n ldr x13, [x12]");
	TRY("br null", "mov x12, 0\n br x12");
}
#elif defined(__riscv)
#define TRY(name, insn) do { \
	__asm__ volatile(".option push\n .option norelax\n lla t0, 1f\n sd t0, %0\n lla t0, 2f\n sd t0, %1\n mv t1, %2\n1: " insn "\n .option pop\n2:" \
		: "=m"(from), "=m"(resume) : "r"(data) : "t0", "t1", "t2", "t3", "memory"); told(name); } while (0)
static void all(void)
{
	TRY("zeros", ".half 0\n .half 0x0001");
	TRY("ones", ".word 0xffffffff");
	TRY("custom", ".word 0x0000000b");
	TRY("reserved compressed", ".half 0x8002\n .half 1");
	TRY("ebreak", ".option norvc\n ebreak");
	TRY("c.ebreak", ".half 0x9002");
	TRY("sret", "sret");
	TRY("mret", "mret");
	TRY("wfi", "wfi");
	TRY("sfence.vma", "sfence.vma");
	TRY("csrr sstatus", "csrr t2, sstatus");
	TRY("csrw satp", "csrw satp, t2");
	TRY("csrr mstatus", "csrr t2, mstatus");
	TRY("csrw cycle", "csrw cycle, t2");
	TRY("csr of none", "csrr t2, 0x123");
	TRY("unaligned lr.d", "addi t1, t1, 1\n lr.d t2, (t1)");
	TRY("unaligned amoadd.w", "addi t1, t1, 2\n amoadd.w t2, t2, (t1)");
	TRY("store to text", "lla t2, 1b\n sd t2, 0(t2)");
	TRY("null", "li t2, 16\n ld t3, 0(t2)");
	TRY("jr null", "li t2, 0\n jr t2");
}
#else
#define TRY(name, insn) do { \
	__asm__ volatile("larl %%r1, 1f\n stg %%r1, %0\n larl %%r1, 2f\n stg %%r1, %1\n lgr %%r3, %2\n lghi %%r0, 0\n lghi %%r4, 0\n lghi %%r5, 0\n lr %%r1, %%r1\n .balign 2\n1: " insn "\n2:" \
		: "=m"(from), "=m"(resume) : "a"(data) : "0", "1", "2", "3", "4", "5", "memory", "cc"); told(name); } while (0)
static void all(void)
{
	TRY("zeros", ".short 0");
	TRY("breakpoint", ".short 1");
	TRY("0002", ".short 2");
	TRY("00ff", ".short 0x00ff");
	TRY("none of four bytes", ".long 0xb2ff0000");
	TRY("none of six bytes", ".long 0xe3000000\n .short 0x00ff");
	TRY("ffff", ".long 0xff000000\n .short 0");
	TRY("ssm", "ssm 0(%%r3)");
	TRY("stosm", ".long 0xad003000");
	TRY("lpsw", "lpsw 0(%%r3)");
	TRY("lpswe", "lpswe 0(%%r3)");
	TRY("lctlg", ".long 0xeb003000\n .short 0x002f");
	TRY("stctl", ".long 0xb6003000");
	TRY("diag 44", ".long 0x83000044");
	TRY("diag 8", ".long 0x83000008");
	TRY("stap", ".long 0xb2123000");
	TRY("stidp", ".long 0xb2023000");
	TRY("ptlb", ".long 0xb20d0000");
	TRY("spka", ".long 0xb20a0000");
	TRY("iske", ".long 0xb2290024");
	TRY("sigp", ".long 0xae000000");
	TRY("ssch", ".long 0xb2333000");
	TRY("sck", ".long 0xb2043000");
	TRY("servc", ".long 0xb2200023");
	TRY("lra", ".long 0xb1203000");
	TRY("ex of ex", "larl %%r1, 3f\n ex %%r0, 0(%%r1)\n j 2f\n3: .long 0x44001004");
	TRY("ex of zeros", "larl %%r1, 3f\n ex %%r0, 0(%%r1)\n j 2f\n3: .long 0");
	TRY("ex of ssm", "larl %%r1, 3f\n ex %%r0, 0(%%r1)\n j 2f\n3: ssm 0(%%r3)");
	TRY("dr of odd register", ".short 0x1d10");
	TRY("mvcl of odd register", ".short 0x0e13");
	TRY("unaligned lpq", ".long 0xe3403004\n .short 0x008f");
	TRY("unaligned cs", "cs %%r0, %%r1, 1(%%r3)");
	TRY("unaligned csg", "csg %%r0, %%r1, 4(%%r3)");
	TRY("br null", "lghi %%r1, 0\n br %%r1");
	TRY("divide by zero", "dr %%r4, %%r0");
	TRY("dsgr by zero", "dsgr %%r4, %%r0");
	TRY("dlgr by zero", "dlgr %%r4, %%r0");
	TRY("quotient too large", "lhi %%r4, 5\n lhi %%r0, 1\n dr %%r4, %%r0");
	TRY("cgrt", "cgrt %%r0, %%r0, 8");
	TRY("cgrt without", "cgrt %%r0, %%r0, 6");
	TRY("store to text", "larl %%r1, 1b\n stg %%r1, 0(%%r1)");
	TRY("null", "lghi %%r1, 16\n lg %%r1, 0(%%r1)");
}
#endif

void run(void)
{
	catch(SIGILL), catch(SIGTRAP), catch(SIGBUS), catch(SIGFPE), catch(SIGSEGV);
	all();
	CALL(EXIT, 0, 0, 0);
}

#if defined(__aarch64__)
__asm__(".globl _start\n_start: ldr x0, [sp]\n b run");
#elif defined(__riscv)
__asm__(".globl _start\n_start: ld a0, 0(sp)\n j run");
#else
__asm__(".globl _start\n_start: lg %r2, 0(%r15)\n aghi %r15, -160\n jg run");
#endif
