/* Timers, queues of messages and watches with odd arguments. not: s390x i386 */
#include "tiny.h"
#include <asm/ioctl.h>
#include <linux/signal.h>
#include <linux/mqueue.h>
#include <linux/inotify.h>
#include <linux/fanotify.h>
#include <linux/timerfd.h>
#include <linux/limits.h>
typedef struct __kernel_timespec ts;
struct its { ts interval, value; };
static char text[4096];
static ts *ns(long s, long n) { static ts t; t.tv_sec = s, t.tv_nsec = n; return &t; }
static void timers(void)
{
	struct sigevent e = { 0 };
	int id = -5, ids[4];
	static const int clocks[] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, -1, -2, -6, 100, 0x7fffffff };
	for (unsigned i = 0; i < sizeof(clocks) / sizeof(*clocks); i++) {
		e.sigev_notify = SIGEV_NONE;
		struct its far = { { 0, 0 }, { 1000000000, 0 } }, got = { { 0 } };
		ts t = { 9, 9 };
		say("clock %d: timer %r", clocks[i], sys(__NR_timer_create, clocks[i], &e, &id) < 0 ? sys(__NR_timer_create, clocks[i], &e, &id) : 0);
		say(" resolution %r set %r get %r", sys(__NR_clock_getres, clocks[i], 0), sys(__NR_clock_settime, clocks[i], &t) == -1 ? -1 : sys(__NR_clock_settime, clocks[i], 0), sys(__NR_clock_gettime, clocks[i], &t));
		long fd = sys(__NR_timerfd_create, clocks[i], 0);
		say(" fd %r sleep %r\n", fd < 0 ? fd : 0, sys(__NR_clock_nanosleep, clocks[i], 0, ns(0, 0), 0));
		(void)far, (void)got, sys(__NR_close, fd);
	}
	for (int notify = -1; notify < 8; notify++)
		for (int signo = -1; signo < 67; signo += 33) {
			memset(&e, 0, sizeof(e)), e.sigev_notify = notify, e.sigev_signo = signo, e._sigev_un._tid = notify == 4 ? sys(__NR_gettid) : 77777;
			long ret = sys(__NR_timer_create, 1, &e, &id);
			say("notify %d signal %d: %r\n", notify, signo, ret);
		}
	for (int i = 0; i < 4; i++)
		ids[i] = -1, e.sigev_notify = SIGEV_SIGNAL, e.sigev_signo = 34, sys(__NR_timer_create, 1, &e, &ids[i]);
	on_signal(34, (void *)1, 0);
	static const struct its odd[] = { { { 0, 0 }, { -1, 0 } }, { { 0, 0 }, { 0, -1 } }, { { 0, 0 }, { 0, 1000000000 } }, { { -1, 0 }, { 1, 0 } }, { { 0, 1000000000 }, { 1, 0 } }, { { 5, 0 }, { 0, 0 } }, { { 0, 1 }, { 1000, 0 } }, { { 3, 4 }, { 0x7fffffffffffffff, 999999999 } } };
	for (unsigned i = 0; i < sizeof(odd) / sizeof(*odd); i++) {
		struct its old = { { 7, 7 }, { 7, 7 } }, now = { { 7, 7 }, { 7, 7 } };
		say("set %d: %r", i, sys(__NR_timer_settime, ids[0], 0, &odd[i], &old)), say(" absolute %r flags %r", sys(__NR_timer_settime, ids[1], 1, &odd[i], 0), sys(__NR_timer_settime, ids[2], 6, &odd[i], 0));
		say(" get %r", sys(__NR_timer_gettime, ids[0], &now)), say(" interval %L.%L armed %d\n", (long long)now.interval.tv_sec, (long long)now.interval.tv_nsec, now.value.tv_sec || now.value.tv_nsec);
		long fd = sys(__NR_timerfd_create, 1, O_NONBLOCK);
		say(" fd %r", sys(__NR_timerfd_settime, fd, 0, &odd[i], &old)), say(" flags %r cancel %r", sys(__NR_timerfd_settime, fd, 4, &odd[i], 0), sys(__NR_timerfd_settime, fd, TFD_TIMER_CANCEL_ON_SET, &odd[i], 0)), say(" read %r short %r", sys(__NR_read, fd, text, 8), sys(__NR_read, fd, text, 7)), say(" get %r", sys(__NR_timerfd_gettime, fd, &now)), say(" interval %L poll %x\n", (long long)now.interval.tv_sec, (long)polled(fd, 5));
		sys(__NR_close, fd);
	}
	say("nobody's %r %r %r %r nowhere %r %r\n", sys(__NR_timer_settime, 999, 0, &odd[6], 0), sys(__NR_timer_gettime, 999, text), sys(__NR_timer_getoverrun, 999), sys(__NR_timer_delete, 999), sys(__NR_timer_settime, ids[0], 0, 0, 0), sys(__NR_timer_gettime, ids[0], 8));
	say("delete %r", sys(__NR_timer_delete, ids[0])), say(" again %r flags of fd %r %r\n", sys(__NR_timer_delete, ids[0]), sys(__NR_timerfd_create, 1, 1), sys(__NR_timerfd_create, 1, 0x1000));
	say("other files %r %r pid %r\n", sys(__NR_timerfd_settime, 0, 0, &odd[6], 0), sys(__NR_timerfd_gettime, 1, text), sys(__NR_timerfd_settime, 999, 0, &odd[6], 0));
	struct { long a, b, c, d; } itv = { 0, 1000000, 0, 0 };
	say("itimer usec %r", sys(__NR_setitimer, 0, &itv, 0)), itv.b = 0, itv.c = -1, say(" sec %r kind %r get %r", sys(__NR_setitimer, 0, &itv, 0), sys(__NR_setitimer, 3, &itv, 0), sys(__NR_getitimer, -1, &itv)), say(" none %r\n", sys(__NR_setitimer, 0, 0, 0));
}
static void queues(void)
{
	static const char *const names[] = { "q", "/q", "", ".", "..", "a/b", "q q", 0 };
	for (int i = 0; names[i]; i++) {
		long q = sys(__NR_mq_open, names[i], O_CREAT | O_RDWR | O_NONBLOCK, 0600, 0);
		say("'%s' %r unlink %r\n", names[i], q < 0 ? q : 0, sys(__NR_mq_unlink, names[i])), sys(__NR_close, q);
	}
	static const struct mq_attr odd[] = { { 0, 0, 8, 0 }, { 0, 8, 0, 0 }, { 0, -1, 8, 0 }, { 0, 8, -1, 0 }, { 0, 70000, 8, 0 }, { 0, 8, 20000000, 0 }, { 0, 10, 8192, 0 }, { 0, 11, 8192, 0 }, { 0, 65536, 16 * 1024 * 1024, 0 } };
	for (unsigned i = 0; i < sizeof(odd) / sizeof(*odd); i++) {
		long q = sys(__NR_mq_open, "odd", O_CREAT | O_RDWR, 0600, &odd[i]);
		say("%d messages of %d: %r\n", (int)odd[i].mq_maxmsg, (int)odd[i].mq_msgsize, q < 0 ? q : 0), sys(__NR_close, q), sys(__NR_mq_unlink, "odd");
	}
	struct mq_attr a = { 0, 2, 8, 0 }, got;
	long q = sys(__NR_mq_open, "m", O_CREAT | O_RDWR | O_NONBLOCK, 0600, &a);
	say("again exclusive %r not there %r odd flags %r\n", sys(__NR_mq_open, "m", O_CREAT | O_EXCL | O_RDWR, 0600, 0), sys(__NR_mq_open, "n", O_RDWR, 0, 0), sys(__NR_mq_open, "m", 3, 0, 0));
	say("send long %r priority %r", sys(__NR_mq_timedsend, q, text, 9, 0, 0), sys(__NR_mq_timedsend, q, text, 1, 32768, 0)), say(" one %r", sys(__NR_mq_timedsend, q, "a", 1, 3, 0)), say(" two %r", sys(__NR_mq_timedsend, q, "bc", 2, 5, 0)), say(" full %r bad time %r\n", sys(__NR_mq_timedsend, q, "d", 1, 5, 0), sys(__NR_mq_timedsend, q, "d", 1, 5, ns(0, -1)));
	unsigned priority = 99;
	say("receive short %r", sys(__NR_mq_timedreceive, q, text, 7, 0, 0)), say(" %r", sys(__NR_mq_timedreceive, q, text, 8, &priority, 0)), say(" '%d' priority %d", text[0], priority), say(" %r", sys(__NR_mq_timedreceive, q, text, 8, &priority, 0)), say(" empty %r poll %x\n", sys(__NR_mq_timedreceive, q, text, 8, 0, 0), (long)polled(q, 5));
	a.mq_flags = O_NONBLOCK | 1, say("attributes odd %r", sys(__NR_mq_getsetattr, q, &a, 0)), a.mq_flags = 0, say(" set %r", sys(__NR_mq_getsetattr, q, &a, &got)), say(" was %x %d %d %d other file %r", (long)got.mq_flags, (int)got.mq_maxmsg, (int)got.mq_msgsize, (int)got.mq_curmsgs, sys(__NR_mq_getsetattr, 1, 0, &got)), say(" times out %r\n", sys(__NR_mq_timedreceive, q, text, 8, 0, ns(1, 0)));
	struct sigevent e = { 0 };
	e.sigev_notify = SIGEV_NONE, say("notify %r", sys(__NR_mq_notify, q, &e)), say(" again %r", sys(__NR_mq_notify, q, &e)), say(" off %r off again %r", sys(__NR_mq_notify, q, 0), sys(__NR_mq_notify, q, 0)), e.sigev_notify = 9, say(" odd %r", sys(__NR_mq_notify, q, &e)), e.sigev_notify = SIGEV_SIGNAL, e.sigev_signo = 70, say(" signal 70 %r other file %r\n", sys(__NR_mq_notify, q, &e), sys(__NR_mq_notify, 1, 0));
	say("read %r", sys(__NR_read, q, text, 100)), say(" write %r seek %r map %r\n", sys(__NR_write, q, "x", 1), sys(__NR_lseek, q, 3, 0), (long)map(0, 4096, 1, 2, q, 0));
	say("unlink %r", sys(__NR_mq_unlink, "m")), say(" again %r still %r\n", sys(__NR_mq_unlink, "m"), sys(__NR_mq_timedsend, q, "a", 1, 3, 0));
}
static void watches(void)
{
	long fd = sys(__NR_inotify_init1, O_NONBLOCK), w;
	say("odd flags %r %r\n", sys(__NR_inotify_init1, 1), sys(__NR_inotify_init1, -1));
	sys(__NR_mkdir, "/tmp", 0777), sys(__NR_mkdir, "/tmp/w", 0755), spit("/tmp/w/f", "x");
	static const unsigned masks[] = { 0, IN_ACCESS, IN_ONLYDIR, IN_ISDIR, IN_IGNORED, IN_UNMOUNT, IN_Q_OVERFLOW, IN_MASK_ADD, IN_MASK_CREATE | IN_OPEN, IN_MASK_ADD | IN_MASK_CREATE | IN_OPEN, IN_ONESHOT, 0x80000000, 0x00100000, IN_EXCL_UNLINK, IN_DONT_FOLLOW | IN_OPEN };
	for (unsigned i = 0; i < sizeof(masks) / sizeof(*masks); i++)
		say("mask %x: %r file %r\n", (long)masks[i], sys(__NR_inotify_add_watch, fd, "/tmp/w", masks[i]), sys(__NR_inotify_add_watch, fd, "/tmp/w/f", masks[i] | IN_ONLYDIR));
	w = sys(__NR_inotify_add_watch, fd, "/tmp/w", IN_ALL_EVENTS);
	say("not there %r bad file %r no file %r rm %r rm %r\n", sys(__NR_inotify_add_watch, fd, "/tmp/none", IN_OPEN), sys(__NR_inotify_add_watch, 0, "/tmp", IN_OPEN), sys(__NR_inotify_add_watch, 999, "/tmp", IN_OPEN), sys(__NR_inotify_rm_watch, fd, 999), sys(__NR_inotify_rm_watch, 0, 1));
	say("read nothing %r short %r", sys(__NR_read, fd, text, 100), sys(__NR_read, fd, text, 8)), spit("/tmp/w/g", "y"), say(" short %r write %r\n", sys(__NR_read, fd, text, 16), sys(__NR_write, fd, text, 8));
	sys(__NR_rename, "/tmp/w/g", "/tmp/w/h"), sys(__NR_unlink, "/tmp/w/h"), sys(__NR_inotify_rm_watch, fd, w);
	long n = sys(__NR_read, fd, text, sizeof(text));
	for (long i = 0; i < n;) {
		struct inotify_event *e = (void *)(text + i);
		say(" mask %x cookie %d len %d '%s'\n", (long)e->mask, e->cookie != 0, e->len, e->len ? e->name : "");
		i += sizeof(*e) + e->len;
	}
	static const unsigned inits[][2] = { { 0, 0 }, { 1, 0 }, { FAN_CLASS_CONTENT | FAN_CLASS_PRE_CONTENT, 0 }, { 0x80000000, 0 }, { FAN_REPORT_FID, 0 }, { FAN_REPORT_FID | FAN_CLASS_CONTENT, 0 }, { FAN_REPORT_NAME, 0 }, { FAN_REPORT_DIR_FID | FAN_REPORT_NAME, 0 }, { FAN_REPORT_TID | FAN_REPORT_PIDFD, 0 }, { 0, 3 }, { 0, O_CREAT }, { FAN_REPORT_TARGET_FID, 0 }, { FAN_ENABLE_AUDIT, 0 } };
	for (unsigned i = 0; i < sizeof(inits) / sizeof(*inits); i++) {
		long f = sys(__NR_fanotify_init, inits[i][0], inits[i][1]);
		say("fanotify %x %x: %r", (long)inits[i][0], (long)inits[i][1], f < 0 ? f : 0);
		say(" mark %r mount %r events %r perm %r odd %r remove %r flush %r\n", sys(__NR_fanotify_mark, f, 1, 1L, -100, "/tmp/w"), sys(__NR_fanotify_mark, f, 1 | FAN_MARK_MOUNT, (long)FAN_CREATE, -100, "/tmp/w"), sys(__NR_fanotify_mark, f, 1, 0L, -100, "/tmp/w"), sys(__NR_fanotify_mark, f, 1, (long)FAN_OPEN_PERM, -100, "/tmp/w"), sys(__NR_fanotify_mark, f, 3, 1L, -100, "/tmp/w"),
		    sys(__NR_fanotify_mark, f, 2, 1L, -100, "/tmp"), sys(__NR_fanotify_mark, f, FAN_MARK_FLUSH | FAN_MARK_ONLYDIR, 0L, -100, "/tmp"));
		sys(__NR_close, f);
	}
	sys(__NR_unlink, "/tmp/w/f"), sys(__NR_rmdir, "/tmp/w");
}
int main(int argc, char **argv)
{
	sys(__NR_alarm, 30);
	timers(), queues(), watches();
	return 0;
}
