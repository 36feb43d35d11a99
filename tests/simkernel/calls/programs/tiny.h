/*
 * What the programs of this folder are written with instead of a C library: system calls as the kernel answers them
 * (a result or -errno), lines of text, a few functions of string.h.  x86-64, i386, s390x.
 */
#include <asm/unistd.h>
#include <linux/errno.h>
#include <linux/fcntl.h>
#include <linux/poll.h>
#include <linux/time.h>
#include <linux/time_types.h>
#include <linux/types.h>
#include <stdarg.h>
#include <stddef.h>

typedef unsigned long ulong;

#if defined(__x86_64__)
static long call6(long n, long a, long b, long c, long d, long e, long f)
{
	register long r10 __asm__("r10") = d, r8 __asm__("r8") = e, r9 __asm__("r9") = f;
	__asm__ volatile("syscall" : "+a"(n) : "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9) : "rcx", "r11", "memory");
	return n;
}
__asm__(".globl _start\n_start: mov %rsp,%rdi\n and $-16,%rsp\n call begin\n"
	"restorer: mov $15,%eax\n syscall\n"
	"start_thread: push %r12\n push %r13\n mov %rdi,%r12\n mov %rsi,%r13\n mov %rdx,%rdi\n mov %rcx,%rsi\n mov $56,%eax\n xor %edx,%edx\n"
	" xor %r10d,%r10d\n syscall\n test %eax,%eax\n jnz 1f\n mov %r13,%rdi\n call *%r12\n mov %rax,%rdi\n mov $60,%eax\n"
	" syscall\n1: pop %r13\n pop %r12\n ret\n");
#elif defined(__i386__)
static long call6(long n, long a, long b, long c, long d, long e, long f)
{
	long args[7] = { n, a, b, c, d, e, f }, ret;
	__asm__ volatile("push %%ebx\n push %%esi\n push %%edi\n push %%ebp\n mov %1,%%eax\n mov 4(%%eax),%%ebx\n"
			 "mov 8(%%eax),%%ecx\n mov 12(%%eax),%%edx\n mov 16(%%eax),%%esi\n mov 20(%%eax),%%edi\n"
			 "mov 24(%%eax),%%ebp\n mov (%%eax),%%eax\n int $0x80\n pop %%ebp\n pop %%edi\n pop %%esi\n pop %%ebx\n"
			 : "=a"(ret) : "0"(args) : "ecx", "edx", "memory");
	return ret;
}
__asm__(".globl _start\n_start: mov %esp,%eax\n and $-16,%esp\n sub $12,%esp\n push %eax\n call begin\n"
	"restorer: mov $173,%eax\n int $0x80\n"
	"start_thread: push %ebx\n push %esi\n push %edi\n mov 16(%esp),%esi\n mov 20(%esp),%edi\n mov 24(%esp),%ebx\n"
	" mov 28(%esp),%ecx\n xor %edx,%edx\n push %esi\n xor %esi,%esi\n mov %edi,%edx\n mov (%esp),%eax\n add $4,%esp\n"
	" sub $8,%ecx\n mov %edx,(%ecx)\n mov %eax,4(%ecx)\n xor %edx,%edx\n xor %edi,%edi\n mov $120,%eax\n int $0x80\n"
	" test %eax,%eax\n jnz 1f\n pop %ebx\n pop %eax\n push %ebx\n call *%eax\n mov %eax,%ebx\n mov $1,%eax\n int $0x80\n"
	"1: pop %edi\n pop %esi\n pop %ebx\n ret\n");
#elif defined(__s390x__)
static long call6(long n, long a, long b, long c, long d, long e, long f)
{
	register long r1 __asm__("r1") = n, r2 __asm__("r2") = a, r3 __asm__("r3") = b, r4 __asm__("r4") = c,
		      r5 __asm__("r5") = d, r6 __asm__("r6") = e, r7 __asm__("r7") = f;
	__asm__ volatile("svc 0" : "+d"(r2) : "d"(r1), "d"(r3), "d"(r4), "d"(r5), "d"(r6), "d"(r7) : "memory");
	return r2;
}
__asm__(".globl _start\n_start: lgr %r2,%r15\n aghi %r15,-160\n brasl %r14,begin\n"
	"restorer: svc 173\n"
	"start_thread: stmg %r6,%r15,48(%r15)\n lgr %r6,%r2\n lgr %r7,%r3\n lgr %r3,%r4\n lgr %r2,%r5\n aghi %r2,-160\n"
	" lghi %r4,0\n lghi %r5,0\n svc 120\n ltgr %r2,%r2\n jnz 1f\n lgr %r2,%r7\n basr %r14,%r6\n svc 1\n"
	"1: lmg %r6,%r15,48(%r15)\n br %r14\n");
#endif
void restorer(void);
long start_thread(int (*fn)(void *), void *arg, long flags, void *stack_top); /* clone(2): the thread's number */

#define PICK(n, a, b, c, d, e, f, g, ...) call6(n, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f))
#define sys(...) PICK(__VA_ARGS__, 0, 0, 0, 0, 0, 0, 0, 0)

int main(int argc, char **argv);
__attribute__((used)) static void begin(long *sp)
{
	int ret = main((int)sp[0], (char **)(sp + 1));
	for (;;)
		sys(__NR_exit_group, ret);
}

void *memset(void *p, int c, size_t n) { char *q = p; while (n--) *q++ = c; return p; }
void *memcpy(void *p, const void *s, size_t n) { char *q = p; const char *r = s; while (n--) *q++ = *r++; return p; }
int memcmp(const void *a, const void *b, size_t n)
{
	const unsigned char *p = a, *q = b;
	for (; n--; p++, q++)
		if (*p != *q)
			return *p - *q;
	return 0;
}
size_t strlen(const char *s) { size_t n = 0; while (s[n]) n++; return n; }
static int streq(const char *a, const char *b) { return strlen(a) == strlen(b) && !memcmp(a, b, strlen(a)); }

static const char *error_name(int e)
{
	static const char *const names[] = {
		[EPERM] = "EPERM", [ENOENT] = "ENOENT", [ESRCH] = "ESRCH", [EINTR] = "EINTR", [EIO] = "EIO", [ENXIO] = "ENXIO",
		[E2BIG] = "E2BIG", [ENOEXEC] = "ENOEXEC", [EBADF] = "EBADF", [ECHILD] = "ECHILD", [EAGAIN] = "EAGAIN",
		[ENOMEM] = "ENOMEM", [EACCES] = "EACCES", [EFAULT] = "EFAULT", [EBUSY] = "EBUSY", [EEXIST] = "EEXIST",
		[EXDEV] = "EXDEV", [ENODEV] = "ENODEV", [ENOTDIR] = "ENOTDIR", [EISDIR] = "EISDIR", [EINVAL] = "EINVAL",
		[ENFILE] = "ENFILE", [EMFILE] = "EMFILE", [ENOTTY] = "ENOTTY", [ETXTBSY] = "ETXTBSY", [EFBIG] = "EFBIG",
		[ENOSPC] = "ENOSPC", [ESPIPE] = "ESPIPE", [EROFS] = "EROFS", [EMLINK] = "EMLINK", [EPIPE] = "EPIPE",
		[EDOM] = "EDOM", [ERANGE] = "ERANGE", [EDEADLK] = "EDEADLK", [ENAMETOOLONG] = "ENAMETOOLONG",
		[ENOLCK] = "ENOLCK", [ENOSYS] = "ENOSYS", [ENOTEMPTY] = "ENOTEMPTY", [ELOOP] = "ELOOP", [ENOMSG] = "ENOMSG",
		[EIDRM] = "EIDRM", [ENODATA] = "ENODATA", [ETIME] = "ETIME", [EOVERFLOW] = "EOVERFLOW",
		[ENOTSOCK] = "ENOTSOCK", [EDESTADDRREQ] = "EDESTADDRREQ", [EMSGSIZE] = "EMSGSIZE",
		[ENOPROTOOPT] = "ENOPROTOOPT", [EPROTONOSUPPORT] = "EPROTONOSUPPORT", [EOPNOTSUPP] = "EOPNOTSUPP",
		[EAFNOSUPPORT] = "EAFNOSUPPORT", [EADDRINUSE] = "EADDRINUSE", [EADDRNOTAVAIL] = "EADDRNOTAVAIL",
		[ENETUNREACH] = "ENETUNREACH", [ECONNRESET] = "ECONNRESET", [ENOBUFS] = "ENOBUFS", [EISCONN] = "EISCONN",
		[ENOTCONN] = "ENOTCONN", [ETIMEDOUT] = "ETIMEDOUT", [ECONNREFUSED] = "ECONNREFUSED", [EALREADY] = "EALREADY",
		[EINPROGRESS] = "EINPROGRESS", [ESTALE] = "ESTALE", [EUSERS] = "EUSERS", [ECANCELED] = "ECANCELED",
		[ETOOMANYREFS] = "ETOOMANYREFS",
		[ENOKEY] = "ENOKEY", [EKEYEXPIRED] = "EKEYEXPIRED", [EKEYREVOKED] = "EKEYREVOKED", [EBADMSG] = "EBADMSG",
	};
	return e < (int)(sizeof(names) / sizeof(*names)) && names[e] ? names[e] : "E?";
}

static char line[8192];
static int used;
static void flush(void) { sys(__NR_write, 1, line, used); used = 0; }
static void put(char c) { line[used++] = c; if (used == sizeof(line)) flush(); }
static void put_number(unsigned long long v, unsigned base)
{
	char digits[24];
	int n = 0;
	do { /* bit by bit: 32-bit machines divide 64 bits in a library */
		unsigned long long quotient = 0;
		unsigned rest = 0;
		for (int bit = 63; bit >= 0; bit--) {
			rest = rest << 1 | (unsigned)(v >> bit & 1);
			if (rest >= base)
				rest -= base, quotient |= 1ULL << bit;
		}
		digits[n++] = "0123456789abcdef"[rest];
		v = quotient;
	} while (v);
	while (n)
		put(digits[--n]);
}

/* %s text, %d int, %l long, %x hexadecimal long, %L long long, %r the result of a call: a number or the errno's name */
static void say(const char *format, ...)
{
	va_list list;
	va_start(list, format);
	for (; *format; format++) {
		if (*format != '%') {
			put(*format);
			continue;
		}
		switch (*++format) {
		case 's': for (const char *s = va_arg(list, char *); *s; s++) put(*s); break;
		case 'x': put_number((ulong)va_arg(list, long), 16); break;
		case 'd': case 'l': case 'r': case 'L': {
			long long v = *format == 'd' ? va_arg(list, int) : *format == 'L' ? va_arg(list, long long) : va_arg(list, long);
			if (*format == 'r' && v < 0 && v > -4096) {
				for (const char *s = error_name(-v); *s; s++)
					put(*s);
				break;
			}
			if (v < 0)
				put('-'), v = -v;
			put_number(v, 10);
			break;
		}
		default: put(*format);
		}
	}
	va_end(list);
	flush();
}

/* a call, as it is written, and what it said */
#define T(...) say("%s: %r\n", #__VA_ARGS__, sys(__VA_ARGS__))

#ifdef __NR_fork
#define fork() sys(__NR_fork)
#else
#define fork() sys(__NR_clone, 17, 0, 0, 0, 0)
#endif
static void *map(void *at, size_t size, int prot, int flags, long fd, long offset)
{
#if defined(__s390x__)
	long block[6] = { (long)at, (long)size, prot, flags, fd, offset };
	return (void *)sys(__NR_mmap, block);
#elif defined(__NR_mmap2)
	return (void *)sys(__NR_mmap2, at, size, prot, flags, fd, offset >> 12);
#else
	return (void *)sys(__NR_mmap, at, size, prot, flags, fd, offset);
#endif
}
static int bad(const void *p) { return (ulong)p > -4096UL; }
static void leave(int code) { for (;;) sys(__NR_exit_group, code); }
static int wait_for(long pid) { int status = -1; while (sys(__NR_wait4, pid, &status, 0, 0) == -EINTR); return status; }
static void nap(long ms) { struct __kernel_old_timespec t = { ms / 1000, ms % 1000 * 1000000 }; sys(__NR_nanosleep, &t, 0); }
static int polled(int fd, int events) /* what poll(2) says of one file at once */
{
	struct pollfd p = { fd, events };
	struct __kernel_timespec now = { 0, 0 };
#ifdef __NR_ppoll_time64
	sys(__NR_ppoll_time64, &p, 1, &now, 0, 0);
#else
	sys(__NR_ppoll, &p, 1, &now, 0, 0);
#endif
	return p.revents;
}
static long slurp(const char *path, char *to, long size)
{
	long fd = sys(__NR_openat, AT_FDCWD, path, O_RDONLY, 0), n = 0, got;
	if (fd < 0)
		return fd;
	while ((got = sys(__NR_read, fd, to + n, size - 1 - n)) > 0)
		n += got;
	sys(__NR_close, fd);
	to[n] = 0;
	return n;
}
static long spit(const char *path, const char *text)
{
	long fd = sys(__NR_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC, 0644), n;
	if (fd < 0)
		return fd;
	n = sys(__NR_write, fd, text, strlen(text));
	sys(__NR_close, fd);
	return n;
}

/* rt_sigaction(2) takes the kernel's own struct sigaction */
struct action {
	void (*handler)(int, void *, void *);
	ulong flags;
	void (*restore)(void);
	unsigned long mask[8 / sizeof(long)];
};
static long on_signal(int sig, void (*handler)(int, void *, void *), ulong flags)
{
	struct action a = { handler, flags | 0x04000000 | 4, restorer, { 0 } };
	return sys(__NR_rt_sigaction, sig, &a, 0, 8);
}
static long block_signals(int how, unsigned long long mask)
{
	unsigned long words[8 / sizeof(long)];
	for (unsigned i = 0; i < sizeof(words) / sizeof(*words); i++)
		words[i] = (unsigned long)(mask >> (8 * sizeof(long) * i));
	return sys(__NR_rt_sigprocmask, how, words, 0, 8);
}
#define SIGBIT(n) (1ULL << ((n) - 1))
