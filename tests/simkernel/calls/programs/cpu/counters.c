/* counters: what user code reads of its CPU: the counters of time and the registers that say what the CPU is.  With an argument: what
 * the counters say.  No libc.
 * CC -nostdlib -static -O1 -s -fno-stack-protector -fno-asynchronous-unwind-tables -fno-pie -no-pie -Wl,--build-id=none
 * -Wl,-z,max-page-size=4096; arm64: -march=armv8-a+crc+crypto; s390x: -march=z10
 *
 * The answers are of Debian's 6.1 on a Cortex-A72 and on s390x, of its 6.12 on riscv64. */
#include <signal.h>
#include <ucontext.h>

typedef unsigned long u64;
#if defined(__aarch64__)
enum { WRITE = 64, EXIT = 93, NANOSLEEP = 101, CLOCK = 113, SIGACTION = 134, MMAP = 222, MPROTECT = 226 };
#define PC(u) ((u)->uc_mcontext.pc)
static long call(long n, long a, long b, long c, long d, long e, long f)
{
	register long x8 __asm__("x8") = n, x0 __asm__("x0") = a, x1 __asm__("x1") = b, x2 __asm__("x2") = c, x3 __asm__("x3") = d,
		x4 __asm__("x4") = e, x5 __asm__("x5") = f;
	__asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
	return x0;
}
#elif defined(__s390x__)
enum { EXIT = 1, WRITE = 4, MMAP = 90, MPROTECT = 125, NANOSLEEP = 162, SIGACTION = 174, CLOCK = 260 };
#define PC(u) ((u)->uc_mcontext.psw.addr)
static long call(long n, long a, long b, long c, long d, long e, long f)
{
	register long r1 __asm__("1") = n, r2 __asm__("2") = a, r3 __asm__("3") = b, r4 __asm__("4") = c, r5 __asm__("5") = d,
		r6 __asm__("6") = e, r7 __asm__("7") = f;
	__asm__ volatile("svc 0" : "+d"(r2) : "d"(r1), "d"(r3), "d"(r4), "d"(r5), "d"(r6), "d"(r7) : "memory");
	return r2;
}
#else
enum { WRITE = 64, EXIT = 93, NANOSLEEP = 101, CLOCK = 113, SIGACTION = 134, MMAP = 222, MPROTECT = 226 };
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
static void hex(u64 value)
{
	char text[20];
	for (int i = 0; i < 16; i++)
		text[i] = "0123456789abcdef"[value >> (60 - 4 * i) & 15];
	text[16] = '\n', text[17] = 0;
	say(text);
}
static volatile int refused;
static void on_signal(int sig, siginfo_t *info, void *context)
{
	refused = sig;
	PC((ucontext_t *)context) += 4; /* all these instructions have four bytes */
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
static void told(const char *name, u64 value, int constant)
{
	say(name);
	if (refused)
		say(refused == SIGILL ? ": SIGILL\n" : ": SIGSEGV\n");
	else if (constant)
		say(": "), hex(value);
	else
		say(value ? ": yes\n" : ": 0\n");
	refused = 0;
}
static void nap(void)
{
	long time[2] = { 0, 20000000 };
	CALL(NANOSLEEP, time, 0, 0);
}
static void check(const char *what, int holds)
{
	say(what);
	say(holds ? ": 1\n" : ": 0\n");
}

#if defined(__aarch64__)
#define READ(reg) ({ u64 value = 0; __asm__ volatile("mrs %0, " reg : "=r"(value)); value; })
static u64 now(void) { return READ("cntvct_el0"); }
enum { PER_MS = 62500 };
static char line[128] __attribute__((aligned(64)));
static void others(void)
{
	u64 value = 1;
	told("cntfrq_el0", READ("cntfrq_el0"), 1);
	told("cntpct_el0", READ("cntpct_el0"), 0);
	told("cntv_ctl_el0", READ("cntv_ctl_el0"), 0);
	told("pmccntr_el0", READ("pmccntr_el0"), 0);
	told("ctr_el0", READ("ctr_el0"), 1);
	told("dczid_el0", READ("dczid_el0"), 1);
	told("midr_el1", READ("midr_el1"), 1);
	told("mpidr_el1", READ("mpidr_el1"), 1);
	told("revidr_el1", READ("revidr_el1"), 1);
	told("id_aa64pfr0_el1", READ("id_aa64pfr0_el1"), 1);
	told("id_aa64pfr1_el1", READ("id_aa64pfr1_el1"), 1);
	told("id_aa64dfr0_el1", READ("id_aa64dfr0_el1"), 1);
	told("id_aa64isar0_el1", READ("id_aa64isar0_el1"), 1);
	told("id_aa64isar1_el1", READ("id_aa64isar1_el1"), 1);
	told("id_aa64mmfr0_el1", READ("id_aa64mmfr0_el1"), 1);
	told("id_aa64mmfr1_el1", READ("id_aa64mmfr1_el1"), 1);
	told("id_aa64mmfr2_el1", READ("id_aa64mmfr2_el1"), 1);
	told("id_pfr0_el1", READ("id_pfr0_el1"), 1);
	told("id_isar5_el1", READ("id_isar5_el1"), 1);
	told("one that is none", READ("s3_0_c0_c7_7"), 1);
	told("clidr_el1", READ("clidr_el1"), 1);
	told("sctlr_el1", READ("sctlr_el1"), 1);
	__asm__ volatile("mrs xzr, cntvct_el0" ::: "memory");
	told("to xzr", 7, 1);
	for (int i = 0; i < 128; i++)
		line[i] = 5;
	__asm__ volatile("dc zva, %0" :: "r"(line + 70) : "memory");
	told("dc zva", line[63] << 8 | line[64] << 4 | line[127], 1);
	__asm__ volatile("dc cvau, %0\n dsb ish\n ic ivau, %0\n dsb ish\n isb" :: "r"(line) : "memory");
	told("dc cvau, ic ivau", 1, 0);
	__asm__ volatile("crc32x %w0, %w0, %1" : "+r"(value) : "r"(0x1234567890abcdefUL));
	told("crc32x", value, 1);
	__asm__ volatile("fmov d0, %1\n fmov d1, %1\n aese v0.16b, v1.16b\n aesmc v0.16b, v0.16b\n fmov %0, d0" : "=r"(value) : "r"(0x1234567890abcdefUL) : "v0", "v1");
	told("aese", value, 1);
	__asm__ volatile("fmov d0, %1\n pmull v0.1q, v0.1d, v0.1d\n fmov %0, d0" : "=r"(value) : "r"(0x1234567890abcdefUL) : "v0");
	told("pmull", value, 1);
	__asm__ volatile("fmov d0, %1\n sha1h s0, s0\n fmov %0, d0" : "=r"(value) : "r"(0x12345678UL) : "v0");
	told("sha1h", value, 1);
	__asm__ volatile("fmov d0, %1\n sha256su0 v0.4s, v0.4s\n fmov %0, d0" : "=r"(value) : "r"(0x1234567890abcdefUL) : "v0");
	told("sha256su0", value, 1);
}
#elif defined(__riscv)
#define CSR(insn) ({ u64 value = 0; __asm__ volatile(insn : "=r"(value) :: "t0"); value; })
static u64 now(void) { return CSR("rdtime %0"); }
enum { PER_MS = 10000 };
static void others(void)
{
	told("rdcycle", CSR("rdcycle %0"), 0);
	told("rdinstret", CSR("rdinstret %0"), 0);
	told("hpmcounter3", CSR("csrr %0, hpmcounter3"), 0);
	told("csrrw time", CSR("csrrw %0, time, x0"), 0);
	told("csrrs time, t0", CSR("li t0, 1\n csrrs %0, time, t0"), 0);
	told("csrrc time, x0", CSR("csrrc %0, time, x0"), 0);
	told("csrrsi time, 0", CSR("csrrsi %0, time, 0"), 0);
	told("csrrci time, 0", CSR("csrrci %0, time, 0"), 0);
	told("csrrci time, 1", CSR("csrrci %0, time, 1"), 0);
	told("csrrwi time, 0", CSR("csrrwi %0, time, 0"), 0);
	told("time to x0", CSR("li %0, 7\n csrr x0, time"), 1);
	told("sstatus", CSR("csrr %0, sstatus"), 0);
	told("satp", CSR("csrr %0, satp"), 0);
	told("fcsr", CSR("csrr %0, fcsr"), 0);
}
#else
static u64 now(void)
{
	u64 value;
	__asm__ volatile("stck %0" : "=Q"(value) :: "cc");
	return value;
}
enum { PER_MS = 4096000 };
static u64 wall(void)
{
	long time[2];
	CALL(CLOCK, 0, time, 0);
	return time[0] * 1000000000UL + time[1];
}
static char pages[3 * 4096] __attribute__((aligned(4096)));
#define CC(insn, place) ({ int cc; __asm__ volatile("lhi 1, 1\n ltr 1, 1\n " insn " %0\n ipm %1\n srl %1, 28" : "=Q"(place), "=d"(cc) :: "cc", "1"); cc; })
static void others(void)
{
	struct { unsigned char byte[24]; } wide = { { 0 } };
	u64 value = 0, before, after;
	told("condition of stck", CC("stck", value), 1);
	told("condition of stckf", CC(".insn s,0xb27c0000,", value), 1);
	told("stckf", value, 0);
	check("behind stck", value > 0 && now() > value);
	told("condition of stcke", CC("stcke", wide), 1);
	told("epoch of stcke", wide.byte[0], 1);
	told("its end", wide.byte[13] << 16 | wide.byte[14] << 8 | wide.byte[15], 1);
	told("what is behind", wide.byte[16], 1);
	value = *(u64 *)(wide.byte + 1);
	check("as stck", now() > value && now() - value < 4096000UL * 1000);
	before = wall();
	value = now();
	after = wall();
	value = (value - 0x7d91048bca000000UL) / 512 * 125;
	check("the wall clock's", value + 1000000000 > before && value < after + 1000000000);
	__asm__ volatile("stck 0(%0)" :: "a"(pages + 4092) : "cc", "memory");
	check("over the end of a page", pages[4092] && *(int *)(pages + 4092) != 0);
	__asm__ volatile("stcke 0(%0)" :: "a"(pages + 8190) : "cc", "memory");
	check("stcke over the end of a page", *(unsigned short *)(pages + 8190) > 0x80 && pages[8192 + 13] == 0 && pages[8192 + 11] == 1);
	CALL(MPROTECT, pages, 4096, 1);
	__asm__ volatile("stck 16(%0)" :: "a"(pages) : "cc", "memory");
	told("what cannot be written", 0, 0);
	__asm__ volatile("stck 0(%0)" :: "a"(8) : "cc", "memory");
	told("where nothing is", 0, 0);
}
#endif

void run(int arguments)
{
	u64 last, first, least = ~0UL;
	catch(SIGILL);
	catch(SIGSEGV);
	first = last = now();
	if (refused)
		told("the counter", 0, 0);
	for (int i = 0; i < 1000; i++) {
		u64 next = now();
		if (next - last < least)
			least = next - last;
		last = next;
	}
	check("never back", least < 1UL << 40);
	check("on", last > first);
	first = now();
	nap();
	last = now();
	check("a sleep of 20 ms took 20 to 2000", last - first >= 20UL * PER_MS && last - first < 2000UL * PER_MS);
	others();
	if (arguments > 1)
		hex(first), hex(last), hex(now());
	CALL(EXIT, 0, 0, 0);
}

#if defined(__aarch64__)
__asm__(".globl _start\n_start: ldr x0, [sp]\n b run");
#elif defined(__riscv)
__asm__(".globl _start\n_start: ld a0, 0(sp)\n j run");
#else
__asm__(".globl _start\n_start: lg %r2, 0(%r15)\n aghi %r15, -160\n jg run");
#endif
