/* POSIX message queues, and being told of messages by netlink not: i386 s390x */
#include "tiny.h"
#include <linux/mqueue.h>
#include <linux/netlink.h>
#include <asm/signal.h>
#include <asm/siginfo.h>
static char buf[9000], cookie[32] = "0123456789abcdefghijklmnopqrstu";
static struct mq_attr a, b;
static void attr(long q) { long r = sys(__NR_mq_getsetattr, q, 0, &b); say("attr %r flags %l max %l size %l cur %l\n", r, b.mq_flags, b.mq_maxmsg, b.mq_msgsize, b.mq_curmsgs); }
int main(int argc, char **argv)
{
	struct __kernel_timespec past = { 1, 0 }, bad = { 0, 2000000000 };
	T(__NR_mq_open, "/x", O_CREAT | O_RDWR, 0600, 0); T(__NR_mq_open, "", O_CREAT | O_RDWR, 0600, 0); T(__NR_mq_open, ".", O_CREAT | O_RDWR, 0600, 0); T(__NR_mq_open, "a/b", O_CREAT | O_RDWR, 0600, 0); T(__NR_mq_open, "none", O_RDWR, 0, 0); T(__NR_mq_open, "none", 3 | O_CREAT, 0600, 0);
	a = (struct mq_attr){ 0, 0, 10 }; T(__NR_mq_open, "q", O_CREAT | O_RDWR, 0600, &a); a = (struct mq_attr){ 0, 10, 0 }; T(__NR_mq_open, "q", O_CREAT | O_RDWR, 0600, &a); a = (struct mq_attr){ 0, 65537, 10 }; T(__NR_mq_open, "q", O_CREAT | O_RDWR, 0600, &a); a = (struct mq_attr){ 0, 10, 16777217 }; T(__NR_mq_open, "q", O_CREAT | O_RDWR, 0600, &a); a = (struct mq_attr){ 0, 300, 10 }; T(__NR_mq_open, "big", O_CREAT | O_RDWR, 0600, &a); T(__NR_mq_unlink, "big");
	a = (struct mq_attr){ O_NONBLOCK, 3, 16 }; long q = sys(__NR_mq_open, "q", O_CREAT | O_RDWR, 0600, &a); attr(q); T(__NR_mq_open, "q", O_CREAT | O_EXCL | O_RDWR, 0600, &a); long w = sys(__NR_mq_open, "q", O_WRONLY | O_NONBLOCK, 0, 0), r = sys(__NR_mq_open, "q", O_RDONLY | O_NONBLOCK, 0, 0); attr(w);
	a.mq_flags = 1; T(__NR_mq_getsetattr, q, &a, &b); a.mq_flags = O_NONBLOCK; a.mq_maxmsg = 99; T(__NR_mq_getsetattr, q, &a, 0); attr(q); T(__NR_mq_getsetattr, 1, 0, &b); T(__NR_mq_getsetattr, 99, 0, &b); T(__NR_mq_getsetattr, q, 0, 8);
	T(__NR_mq_timedsend, r, buf, 1, 0, 0); T(__NR_mq_timedsend, w, buf, 17, 0, 0); T(__NR_mq_timedsend, w, buf, 1, 32768, 0); T(__NR_mq_timedsend, w, buf, 1, 32767, &bad); T(__NR_mq_timedsend, w, 8, 1, 0, 0); T(__NR_mq_timedsend, w, buf, 0, 1, 0); T(__NR_mq_timedsend, w, "one", 3, 5, 0); T(__NR_mq_timedsend, w, "two", 3, 5, &past); T(__NR_mq_timedsend, w, "x", 1, 5, 0); say("poll %x %x\n", (long)polled(w, 0xffff), (long)polled(r, 0xffff)); T(__NR_mq_timedreceive, w, buf, 16, 0, 0); T(__NR_mq_timedreceive, r, buf, 15, 0, 0); unsigned p = 0; T(__NR_mq_timedreceive, r, buf, 16, &p, 0); say("prio %d %s\n", (int)p, (buf[3] = 0, buf)); T(__NR_mq_timedreceive, r, 8, 16, &p, 0); T(__NR_mq_timedreceive, r, buf, 16, 8, 0); T(__NR_mq_timedreceive, r, buf, 16, 0, &bad); T(__NR_mq_timedreceive, r, buf, 16, 0, 0);
	sys(__NR_mq_getsetattr, q, (a.mq_flags = 0, &a), 0); T(__NR_mq_timedreceive, q, buf, 16, 0, &past);
	say("read %s", slurp("/dev/mqueue/q", buf, 100) > 0 ? buf : "-\n"); T(__NR_read, q, buf, 10) ; T(__NR_write, q, "x", 1); T(__NR_lseek, q, 0, 0); T(__NR_ftruncate, q, 5); T(__NR_fchmod, q, 0644); T(__NR_mmap, 0, 4096, 1, 1, q, 0);
	struct sigevent e = { 0 };
	e.sigev_notify = 9; T(__NR_mq_notify, q, &e); e.sigev_notify = SIGEV_SIGNAL; e.sigev_signo = 65; T(__NR_mq_notify, q, &e); e.sigev_signo = 0; T(__NR_mq_notify, q, &e); T(__NR_mq_notify, q, &e); T(__NR_mq_notify, q, 0); T(__NR_mq_notify, q, 0); T(__NR_mq_notify, 99, &e); T(__NR_mq_notify, 1, &e); T(__NR_mq_notify, q, 8);
	/* by thread */
	long n = sys(__NR_socket, 16, 3, 0), n2 = sys(__NR_socket, 16, 3 | 0x800, 0); e.sigev_notify = SIGEV_THREAD; e.sigev_signo = 1; e.sigev_value.sival_ptr = cookie; T(__NR_mq_notify, q, &e); e.sigev_signo = 999; T(__NR_mq_notify, q, &e); long un = sys(__NR_socket, 1, 1, 0); e.sigev_signo = un; T(__NR_mq_notify, q, &e); e.sigev_value.sival_ptr = (void *)8; e.sigev_signo = n; T(__NR_mq_notify, q, &e); e.sigev_value.sival_ptr = cookie; T(__NR_mq_notify, 99, &e); long r2 = sys(__NR_mq_notify, q, &e); say("by thread %r\n", r2); e.sigev_signo = n2; T(__NR_mq_notify, q, &e); say("poll %x\n", (long)polled(n, 0xffff)); T(__NR_mq_timedsend, w, "hello", 5, 0, 0); long got = sys(__NR_recvfrom, n, buf, 100, 0x40, 0, 0); say("told %r last %d %s\n", got, got > 0 ? buf[31] : -1, (buf[31] = 0, got > 0 ? buf : "")); T(__NR_mq_timedsend, w, "hello", 5, 0, 0); T(__NR_recvfrom, n, buf, 100, 0x40, 0, 0); T(__NR_mq_timedreceive, r, buf, 16, 0, 0); T(__NR_mq_timedreceive, r, buf, 16, 0, 0); T(__NR_mq_timedreceive, r, buf, 16, 0, 0); T(__NR_mq_timedreceive, r, buf, 16, 0, 0);
	e.sigev_signo = n2; T(__NR_mq_notify, q, &e); T(__NR_mq_notify, q, 0); got = sys(__NR_recvfrom, n2, buf, 100, 0x40, 0, 0); say("removed %r last %d\n", got, got > 0 ? buf[31] : -1); T(__NR_mq_notify, q, &e); sys(__NR_close, n2); T(__NR_mq_timedsend, w, "hello", 5, 0, 0);
	e.sigev_signo = n; T(__NR_mq_notify, r, &e); slurp("/dev/mqueue/q", buf, 100); say("%s", buf) ; sys(__NR_close, q); sys(__NR_close, r); sys(__NR_close, w); got = sys(__NR_recvfrom, n, buf, 100, 0x40, 0, 0); say("closed %r last %d\n", got, got > 0 ? buf[31] : -1); T(__NR_mq_unlink, "q"); T(__NR_mq_unlink, "q"); T(__NR_mq_unlink, "/q"); 
	return 0;
}
