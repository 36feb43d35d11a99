/* ioprio, adjtimex and clock_adjtime, pidfd_send_signal by a directory of /proc.  not: i386 */
#include "tiny.h"
#include <linux/timex.h>

static void show(const char *what, int clock, unsigned modes, long freq, int status, long constant)
{
	static long raw[64];
	struct __kernel_old_timespec skip;
	struct timex_ { unsigned modes; long offset, freq, maxerror, esterror; int status; long constant, precision, tolerance; } *t = (void *)raw;
	(void)skip;
	for (int i = 0; i < 64; i++)
		raw[i] = 0;
	t->modes = modes, t->freq = freq, t->status = status, t->constant = constant;
	long ret = clock < 0 ? sys(__NR_adjtimex, t) : sys(__NR_clock_adjtime, clock, t);
	say("%s %r offset %l freq %l status %x constant %l precision %l tolerance %l\n", what, ret, t->offset, t->freq, (long)t->status, t->constant, t->precision, t->tolerance);
}

int main(int argc, char **argv)
{
#if !defined(__i386__)
	show("read", -1, 0, 0, 0, 0);
	show("clock", 0, 0, 0, 0, 0);
	show("freq", -1, 2, 6553600, 0, 0);
	show("much", -1, 2, 99999999, 0, 0);
	show("back", -1, 2, 0, 0, 0);
	show("const", -1, 0x20, 0, 0, 3);
	show("nano", -1, 0x2000, 0, 0, 0);
	show("micro", -1, 0x1000, 0, 0, 0);
	show("status", -1, 0x10, 0, 1, 0);
	show("unsync", -1, 0x10, 0, 0x40, 0);
	show("tick", -1, 0x4000, 0, 0, 0);
	show("monotonic", 1, 0, 0, 0, 0);
	show("unknown", 99, 0, 0, 0, 0);
	show("bad", -1, 0x8000, 0, 0, 0);
#endif
	{
		long self = sys(__NR_openat, AT_FDCWD, "/proc/self", O_RDONLY | O_DIRECTORY, 0);
		long root = sys(__NR_openat, AT_FDCWD, "/proc", O_RDONLY | O_DIRECTORY, 0);
		long thread = sys(__NR_openat, AT_FDCWD, "/proc/thread-self", O_RDONLY | O_DIRECTORY, 0);
		say("signal by /proc/self %r /proc %r thread %r flags %r\n", sys(__NR_pidfd_send_signal, self, 0, 0, 0), sys(__NR_pidfd_send_signal, root, 0, 0, 0),
		    sys(__NR_pidfd_send_signal, thread, 0, 0, 0), sys(__NR_pidfd_send_signal, self, 0, 0, 1));
		say("wait by it %r\n", sys(__NR_waitid, 3, self, 0, 4, 0));
	}
	say("ioprio %r", sys(__NR_ioprio_get, 1, 0));
	say(" set %r", sys(__NR_ioprio_set, 1, 0, 2 << 13 | 3));
	say(" get %x\n", sys(__NR_ioprio_get, 1, 0));
	say("level %r class %r none %r", sys(__NR_ioprio_set, 1, 0, 2 << 13 | 8), sys(__NR_ioprio_set, 1, 0, 5 << 13), sys(__NR_ioprio_set, 1, 0, 4));
	say(" idle %r", sys(__NR_ioprio_set, 1, 0, 3 << 13 | 2));
	say(" rt %r", sys(__NR_ioprio_set, 1, 0, 1 << 13 | 2));
	say(" get %x\n", sys(__NR_ioprio_get, 1, 0));
	say("nobody %r %r which %r\n", sys(__NR_ioprio_get, 1, 0x7fffff), sys(__NR_ioprio_set, 1, 0x7fffff, 0), sys(__NR_ioprio_get, 4, 0));
	long pid = fork();
	if (!pid) {
		say("child %x\n", sys(__NR_ioprio_get, 1, 0));
#ifdef __NR_setresuid32
		sys(__NR_setresuid32, 1000, 1000, 1000);
#else
		sys(__NR_setresuid, 1000, 1000, 1000);
#endif
		say("rt %r other %r own %r\n", sys(__NR_ioprio_set, 1, 0, 1 << 13), sys(__NR_ioprio_set, 1, sys(__NR_getppid), 2 << 13), sys(__NR_ioprio_set, 1, 0, 2 << 13 | 7));
#if !defined(__i386__)
		show("user reads", -1, 0, 0, 0, 0);
		show("user sets", -1, 2, 5, 0, 0);
#endif
		leave(0);
	}
	wait_for(pid);
	return 0;
}
