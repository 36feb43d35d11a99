/* POSIX message queues. */
#include "tiny.h"
#include <linux/mqueue.h>

struct event { long value; int signo, notify; char more[48]; };
static int got;
static void handler(int sig, void *info, void *context) { got = ((int *)info)[2]; }
static void receive(long q, size_t size)
{
	char buf[100] = { 0 };
	unsigned prio = 99;
	long n = sys(__NR_mq_timedreceive, q, buf, size, &prio, 0);
	say("receive %r", n);
	if (n >= 0)
		say(" prio %d '%s'", prio, buf);
	say("\n");
}
static void attributes(long q)
{
	struct mq_attr a;
	long ret = sys(__NR_mq_getsetattr, q, 0, &a);
	say("attributes %r flags %l max %l size %l now %l\n", ret, a.mq_flags, a.mq_maxmsg, a.mq_msgsize, a.mq_curmsgs);
}

int main(int argc, char **argv)
{
	static char text[200];
	struct mq_attr a = { 0, 3, 16 };
	long q = sys(__NR_mq_open, "queue", O_RDWR | O_CREAT | O_NONBLOCK, 0600, &a), r, w;
	say("open %d\n", q > 2);
	attributes(q);
	say("exclusive %r\n", sys(__NR_mq_open, "queue", O_RDWR | O_CREAT | O_EXCL, 0600, 0));
	say("missing %r\n", sys(__NR_mq_open, "none", O_RDWR, 0, 0));
	say("slash %r\n", sys(__NR_mq_open, "a/b", O_RDWR | O_CREAT, 0600, 0));
	say("empty %r\n", sys(__NR_mq_open, "", O_RDWR | O_CREAT, 0600, 0));
	a.mq_maxmsg = 0;
	say("no room %r\n", sys(__NR_mq_open, "zero", O_RDWR | O_CREAT, 0600, &a));
	say("send %r\n", sys(__NR_mq_timedsend, q, "low", 3, 1, 0));
	say("send %r\n", sys(__NR_mq_timedsend, q, "high", 4, 9, 0));
	say("send %r\n", sys(__NR_mq_timedsend, q, "low2", 4, 1, 0));
	say("full %r\n", sys(__NR_mq_timedsend, q, "more", 4, 1, 0));
	say("long %r\n", sys(__NR_mq_timedsend, q, text, 17, 1, 0));
	say("priority %r\n", sys(__NR_mq_timedsend, q, "x", 1, 32768, 0));
	attributes(q);
	receive(q, 10);
	receive(q, 16);
	receive(q, 100);
	receive(q, 16);
	receive(q, 16);
	r = sys(__NR_mq_open, "queue", O_RDONLY, 0, 0);
	w = sys(__NR_mq_open, "queue", O_WRONLY, 0, 0);
	say("read only %r\n", sys(__NR_mq_timedsend, r, "x", 1, 0, 0));
	receive(w, 16);
	say("not one %r closed %r\n", sys(__NR_mq_timedsend, 1, "x", 1, 0, 0), sys(__NR_mq_timedsend, 99, "x", 1, 0, 0));
	struct __kernel_old_timespec t = { 1, 0 };
	say("in the past %r\n", sys(__NR_mq_timedreceive, r, text, 100, 0, &t));
	t.tv_nsec = 2000000000;
	say("bad time %r\n", sys(__NR_mq_timedreceive, r, text, 100, 0, &t));
	struct event e = { 5, 10, 0 };
	on_signal(10, handler, 4);
	say("notify %r\n", sys(__NR_mq_notify, q, &e));
	say("again %r\n", sys(__NR_mq_notify, q, &e));
	slurp("/proc/self/fdinfo/0", text, sizeof(text));
	sys(__NR_mq_timedsend, q, "wake", 4, 0, 0);
	say("told %d\n", got);
	memset(text, 0, sizeof(text));
	sys(__NR_lseek, q, 0, 0);
	long n = sys(__NR_read, q, text, 100);
	say("read %r %s", n, n > 0 ? text : "\n");
	e.notify = 7;
	say("bad notify %r none %r\n", sys(__NR_mq_notify, q, &e), sys(__NR_mq_notify, q, 0));
	receive(q, 16);
	long pid = fork();
	if (!pid) {
		say("waited ");
		receive(r, 16);
		leave(0);
	}
	nap(50);
	sys(__NR_mq_timedsend, q, "late", 4, 3, 0);
	wait_for(pid);
	a.mq_flags = O_NONBLOCK;
	say("set %r", sys(__NR_mq_getsetattr, r, &a, 0));
	a.mq_flags = 1;
	say(" bad %r\n", sys(__NR_mq_getsetattr, r, &a, 0));
	receive(r, 16);
	sys(__NR_mkdirat, AT_FDCWD, "/tmp", 0777);
	sys(__NR_mkdirat, AT_FDCWD, "/tmp/q", 0755);
	say("mount %r\n", sys(__NR_mount, "none", "/tmp/q", "mqueue", 0, 0));
	say("there %r\n", sys(__NR_faccessat, AT_FDCWD, "/tmp/q/queue", 0));
	say("unlink %r\n", sys(__NR_mq_unlink, "queue"));
	say("again %r\n", sys(__NR_mq_unlink, "queue"));
	say("gone %r\n", sys(__NR_faccessat, AT_FDCWD, "/tmp/q/queue", 0));
	say("still open %r\n", sys(__NR_mq_timedsend, q, "x", 1, 0, 0));
	slurp("/proc/sys/fs/mqueue/msg_max", text, sizeof(text));
	say("msg_max %s", text);
	long fd = sys(__NR_mq_open, "default", O_RDWR | O_CREAT, 0600, 0);
	attributes(fd);
	return 0;
}
