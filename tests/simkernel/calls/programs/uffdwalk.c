/* userfaultfd of private memory: flags, modes, what each ioctl refuses, ranges. not: s390x i386 */
#include "tiny.h"
#include <linux/mman.h>
#include <linux/ioctl.h>
#include <linux/userfaultfd.h>
#include <asm/ioctl.h>
#define P 4096UL
static int fd;
static char page[P] __attribute__((aligned(4096)));
static long io(unsigned long cmd, void *arg) { return sys(__NR_ioctl, fd, cmd, arg); }
int main(int argc, char **argv)
{
	for (int b = 0; b < 32; b++) { long r = sys(__NR_userfaultfd, 1L << b); if (r != -EINVAL) say("flag %x: %r\n", 1L << b, r < 0 ? r : 0L), sys(__NR_close, r); }
	static const char *const kinds[] = { "private", "growing" };
	static const unsigned long modes[] = { 0, 1, 2, 3, 4, 5, 6, 7, 8 };
	for (int k = 0; k < 2; k++)
		for (int m = 0; m < 9; m++) {
			struct uffdio_api a = { UFFD_API, 0, 0 };
			fd = sys(__NR_userfaultfd, O_NONBLOCK | 1), io(UFFDIO_API, &a);
			char *at = map(0, 16 * P, 3, k ? 0x122 : 0x22, -1, 0);
			struct uffdio_register r = { { (ulong)at, 16 * P }, modes[m], 0 };
			long ret = io(UFFDIO_REGISTER, &r);
			say("%s mode %x: %r ioctls %x", kinds[k], (long)modes[m], ret, ret ? 0L : (long)r.ioctls);
			struct uffdio_range whole = { (ulong)at, P };
			struct uffdio_copy c = { (ulong)at, (ulong)page, P, 0, 0 };
			struct uffdio_zeropage z = { whole, 0, 0 };
			struct uffdio_continue co = { whole, 0, 0 };
			struct uffdio_writeprotect w = { whole, 1 };
			say(" continue %r %r copy %r again %r", io(UFFDIO_CONTINUE, &co), (long)co.mapped, io(UFFDIO_COPY, &c), io(UFFDIO_COPY, &c));
			whole.start += P, z.range = whole, co.range = whole;
			say(" zero %r %r continue %r protect %r", io(UFFDIO_ZEROPAGE, &z), (long)z.zeropage, io(UFFDIO_CONTINUE, &co), io(UFFDIO_WRITEPROTECT, &w));
			say(" wake %r unregister %r\n", io(UFFDIO_WAKE, &whole), io(UFFDIO_UNREGISTER, &r.range));
			sys(__NR_close, fd), sys(__NR_munmap, at, 16 * P);
		}
	/* ranges and other wrong words */
	struct uffdio_api a = { UFFD_API, 0, 0 };
	fd = sys(__NR_userfaultfd, O_NONBLOCK | 1);
	char *at = map(0, 16 * P, 3, 0x22, -1, 0), *other = map(0, 4 * P, 3, 0x22, -1, 0);
	struct uffdio_register r = { { (ulong)at, 4 * P }, 1, 0 };
	say("before the api: register %r read %r poll %x", io(UFFDIO_REGISTER, &r), sys(__NR_read, fd, page, 32), (long)polled(fd, 1));
	a.api = 7, say(" wrong api %r", io(UFFDIO_API, &a)), a.api = UFFD_API, a.features = 0, say(" right %r", io(UFFDIO_API, &a)), a.features = 0, say(" again %r", io(UFFDIO_API, &a));
	say(" null %r bad %r\n", io(UFFDIO_API, 0), io(UFFDIO_API, (void *)8));
	static const struct { long start, len; } ranges[] = { { 0, 0 }, { 1, 4096 }, { 0, 100 }, { 0, -4096 }, { -4096, 8192 }, { 16 * 4096, 4096 }, { 15 * 4096, 8192 } };
	for (int i = 0; i < 7; i++) {
		r.range.start = (ulong)at + ranges[i].start, r.range.len = ranges[i].len;
		struct uffdio_copy c = { r.range.start, (ulong)page, r.range.len, 0, 0 };
		struct uffdio_zeropage z = { r.range, 0, 0 };
		struct uffdio_writeprotect w = { r.range, 1 };
		if (i < 5) say("range %d: register %r unregister %r", i, io(UFFDIO_REGISTER, &r), io(UFFDIO_UNREGISTER, &r.range));
		else say("range %d:", i);
		say(" copy %r %r zero %r protect %r wake %r\n", io(UFFDIO_COPY, &c), (long)c.copy, io(UFFDIO_ZEROPAGE, &z), io(UFFDIO_WRITEPROTECT, &w), i < 5 ? io(UFFDIO_WAKE, &r.range) : 0L);
	}
	r.range.start = (ulong)at, r.range.len = 4 * P, r.mode = 1;
	say("register %r again %r other mode %r", io(UFFDIO_REGISTER, &r), io(UFFDIO_REGISTER, &r), (r.mode = 3, io(UFFDIO_REGISTER, &r)));
	int second = (int)sys(__NR_userfaultfd, O_NONBLOCK | 1), first = fd;
	a.features = 0, fd = second, io(UFFDIO_API, &a);
	say(" by another %r", io(UFFDIO_REGISTER, &r)), fd = first;
	for (int mode = 0; mode < 8; mode++) {
		struct uffdio_copy c = { (ulong)at + mode % 4 * P, (ulong)page, P, mode, 0 };
		struct uffdio_zeropage z = { { (ulong)at + mode % 4 * P, P }, mode, 0 };
		struct uffdio_writeprotect w = { { (ulong)at, P }, mode };
		say("\nmode %d: zero %r", mode, io(UFFDIO_ZEROPAGE, &z));
		say(" copy %r %r", io(UFFDIO_COPY, &c), (long)c.copy);
		say(" protect %r", io(UFFDIO_WRITEPROTECT, &w));
	}
	struct uffdio_copy c = { (ulong)at, (ulong)other, P, 0, 0 };
	sys(__NR_munmap, other, 4 * P);
	sys(__NR_madvise, at, 4 * P, 4);
	say("\ncopy from nowhere %r %r unaligned source %r %r", io(UFFDIO_COPY, &c), (long)c.copy, (c.src = (ulong)page - 16, io(UFFDIO_COPY, &c)), (long)c.copy);
	c.src = (ulong)page, c.len = 4 * P, say(" over what is there %r %r", io(UFFDIO_COPY, &c), (long)c.copy);
	c.dst = (ulong)at + 2 * P, c.len = 4 * P, say(" over the end %r %r", io(UFFDIO_COPY, &c), (long)c.copy);
	say(" other ioctl %r read %r short %r write %r lseek %r\n", io(0x5401, page), sys(__NR_read, fd, page, 32), sys(__NR_read, fd, page, 8), sys(__NR_write, fd, page, 8), sys(__NR_lseek, fd, 0, 0));
	return 0;
}
