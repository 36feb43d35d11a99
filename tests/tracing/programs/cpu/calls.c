/* calls: two system calls with arguments that are known when seen: sendto(11, 2222, 33, ...), copy_file_range(11, ...), close(-1).  No libc.
 * CC -nostdlib -static -Os -s -fno-stack-protector -fno-asynchronous-unwind-tables -Wl,--build-id=none -Wl,-z,max-page-size=4096 */
#if defined(__aarch64__)
#define SENDTO 206
#define COPY 285
#define CLOSE 57
#define EXIT 93
static long call(long n, long a, long b, long c, long d, long e, long f)
{
	register long x8 __asm__("x8") = n, x0 __asm__("x0") = a, x1 __asm__("x1") = b, x2 __asm__("x2") = c, x3 __asm__("x3") = d,
		x4 __asm__("x4") = e, x5 __asm__("x5") = f;
	__asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
	return x0;
}
#elif defined(__s390x__)
#define SENDTO 369
#define COPY 375
#define CLOSE 6
#define EXIT 1
static long call(long n, long a, long b, long c, long d, long e, long f)
{
	register long r1 __asm__("1") = n, r2 __asm__("2") = a, r3 __asm__("3") = b, r4 __asm__("4") = c, r5 __asm__("5") = d,
		r6 __asm__("6") = e, r7 __asm__("7") = f;
	__asm__ volatile("svc 0" : "+d"(r2) : "d"(r1), "d"(r3), "d"(r4), "d"(r5), "d"(r6), "d"(r7) : "memory");
	return r2;
}
#elif defined(__riscv)
#define SENDTO 206
#define COPY 285
#define CLOSE 57
#define EXIT 93
static long call(long n, long a, long b, long c, long d, long e, long f)
{
	register long a7 __asm__("a7") = n, a0 __asm__("a0") = a, a1 __asm__("a1") = b, a2 __asm__("a2") = c, a3 __asm__("a3") = d,
		a4 __asm__("a4") = e, a5 __asm__("a5") = f;
	__asm__ volatile("ecall" : "+r"(a0) : "r"(a7), "r"(a1), "r"(a2), "r"(a3), "r"(a4), "r"(a5) : "memory");
	return a0;
}
#else
#define SENDTO 44
#define COPY 326
#define CLOSE 3
#define EXIT 60
static long call(long n, long a, long b, long c, long d, long e, long f)
{
	register long r10 __asm__("r10") = d, r8 __asm__("r8") = e, r9 __asm__("r9") = f;
	long result;
	__asm__ volatile("syscall" : "=a"(result) : "0"(n), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9) : "rcx", "r11", "memory");
	return result;
}
#endif

void _start(void)
{
	call(SENDTO, 0x11, 0x2222, 0x33, 0x44, 0x5555, 0x66);
	call(COPY, 0x11, 0x2222, 0x33, 0x4444, 0x55, 0x66);
	call(CLOSE, 0x11, 0, 0, 0, 0, 0);
	call(0x7777, 0x11, 0x2222, 0x33, 0x44, 0x55, 0x66);
	call(EXIT, 0, 0, 0, 0, 0, 0);
}
