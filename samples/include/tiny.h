/*
 * A C library of one page: start-up, system calls and printing, for six architectures.  The programs built on it need
 * nothing else, so their objects stay small and their system calls are exactly those written down.
 */
#pragma once

typedef unsigned long ulong;

#if defined(__x86_64__)
enum { SYS_write = 1, SYS_close = 3, SYS_getpid = 39, SYS_exit = 60, SYS_openat = 257 };
#elif defined(__aarch64__) || defined(__riscv)
enum { SYS_openat = 56, SYS_close = 57, SYS_write = 64, SYS_exit = 93, SYS_getpid = 172 };
#elif defined(__s390x__)
enum { SYS_exit = 1, SYS_write = 4, SYS_close = 6, SYS_getpid = 20, SYS_openat = 288 };
#elif defined(__arm__)
enum { SYS_exit = 1, SYS_write = 4, SYS_close = 6, SYS_getpid = 20, SYS_openat = 322 };
#elif defined(__i386__)
enum { SYS_exit = 1, SYS_write = 4, SYS_close = 6, SYS_getpid = 20, SYS_openat = 295 };
#endif

static inline long syscall4(long nr, long a, long b, long c, long d)
{
#if defined(__x86_64__)
	long ret;
	register long r10 __asm__("r10") = d;
	__asm__ volatile("syscall" : "=a"(ret) : "0"(nr), "D"(a), "S"(b), "d"(c), "r"(r10) : "rcx", "r11", "memory");
	return ret;
#elif defined(__aarch64__)
	register long x8 __asm__("x8") = nr, x0 __asm__("x0") = a, x1 __asm__("x1") = b, x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = d;
	__asm__ volatile("svc #0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3) : "memory");
	return x0;
#elif defined(__riscv)
	register long a7 __asm__("a7") = nr, a0 __asm__("a0") = a, a1 __asm__("a1") = b, a2 __asm__("a2") = c;
	register long a3 __asm__("a3") = d;
	__asm__ volatile("ecall" : "+r"(a0) : "r"(a7), "r"(a1), "r"(a2), "r"(a3) : "memory");
	return a0;
#elif defined(__s390x__)
	register long r1 __asm__("r1") = nr, r2 __asm__("r2") = a, r3 __asm__("r3") = b, r4 __asm__("r4") = c;
	register long r5 __asm__("r5") = d;
	__asm__ volatile("svc 0" : "+d"(r2) : "d"(r1), "d"(r3), "d"(r4), "d"(r5) : "memory");
	return r2;
#elif defined(__arm__)
	register long r7 __asm__("r7") = nr, r0 __asm__("r0") = a, r1 __asm__("r1") = b, r2 __asm__("r2") = c;
	register long r3 __asm__("r3") = d;
	__asm__ volatile("svc #0" : "+r"(r0) : "r"(r7), "r"(r1), "r"(r2), "r"(r3) : "memory");
	return r0;
#elif defined(__i386__)
	long ret;
	__asm__ volatile("int $0x80" : "=a"(ret) : "0"(nr), "b"(a), "c"(b), "d"(c), "S"(d) : "memory");
	return ret;
#endif
}

/* The kernel leaves argc, argv, envp on the stack. */
#if defined(__x86_64__)
__asm__(".globl _start\n_start: xor %ebp, %ebp; mov %rsp, %rdi; and $-16, %rsp; call start\n");
#elif defined(__aarch64__)
__asm__(".globl _start\n_start: mov x29, #0; mov x0, sp; bl start\n");
#elif defined(__riscv)
__asm__(".globl _start\n_start: li s0, 0\nmv a0, sp\ncall start\n");
#elif defined(__s390x__)
__asm__(".globl _start\n_start: lgr %r2, %r15\naghi %r15, -160\nlghi %r0, 0\nstg %r0, 0(%r15)\nbrasl %r14, start\n");
#elif defined(__arm__)
__asm__(".globl _start\n_start: mov r11, #0\nmov r0, sp\nbl start\n");
#elif defined(__i386__)
__asm__(".globl _start\n_start: xor %ebp, %ebp; mov %esp, %eax; and $-16, %esp; sub $12, %esp; push %eax; call start\n");
#endif

int main(int argc, char **argv);

__attribute__((used, noreturn)) void start(long *stack)
{
	int status = main(stack[0], (char **)(stack + 1));
	for (;;)
		syscall4(SYS_exit, status, 0, 0, 0);
}

/* The compiler may call these on its own. */
__attribute__((used)) void *memset(void *to, int byte, ulong count)
{
	volatile char *at = to;
	while (count--)
		*at++ = byte;
	return to;
}

__attribute__((used)) void *memcpy(void *to, const void *from, ulong count)
{
	volatile char *at = to;
	const char *source = from;
	while (count--)
		*at++ = *source++;
	return to;
}

static inline ulong length(const char *text)
{
	ulong n = 0;
	while (text[n])
		n++;
	return n;
}

static inline void put(const char *text)
{
	syscall4(SYS_write, 1, (long)text, length(text), 0);
}

/* Append text or a number to a line, then put it at once: one line is one write. */
static inline char *add(char *at, const char *text)
{
	while (*text)
		*at++ = *text++;
	*at = 0;
	return at;
}

static inline char *add_number(char *at, ulong value)
{
	char digits[24];
	int n = 0;
	do {
		digits[n++] = '0' + value % 10;
		value /= 10;
	} while (value);
	while (n)
		*at++ = digits[--n];
	*at = 0;
	return at;
}

static inline ulong number_of(const char *text)
{
	ulong value = 0;
	while (*text >= '0' && *text <= '9')
		value = value * 10 + *text++ - '0';
	return value;
}
