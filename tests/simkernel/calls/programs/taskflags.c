/* task->flags, as /proc/PID/stat tells them, without PF_RANDOMIZE: what forks, programs, privileges and ends leave there. */
#include "tiny.h"
#include <linux/prctl.h>
#include <linux/resource.h>

static long flags_of(long pid)
{
	char path[64], text[1024];
	int n = 0;
	const char *at = text;
	for (const char *s = "/proc/"; *s; s++) path[n++] = *s;
	char digits[24];
	int d = 0;
	do digits[d++] = '0' + (unsigned)pid % 10; while ((pid = (unsigned)pid / 10));
	while (d) path[n++] = digits[--d];
	for (const char *s = "/stat"; *s; s++) path[n++] = *s;
	path[n] = 0;
	long fd = sys(__NR_open, path, 0);
	long size = sys(__NR_read, fd, text, sizeof(text) - 1);
	sys(__NR_close, fd);
	if (size <= 0)
		return -1;
	text[size] = 0;
	for (const char *s = text; *s; s++)
		if (*s == ')')
			at = s;
	long value = 0;
	for (int field = 0; field < 7; at++)
		if (*at == ' ')
			field++;
	for (; *at >= '0' && *at <= '9'; at++)
		value = value * 10 + (*at - '0');
	return value & ~0x400000L;
}

static void tell(const char *what, long pid) { say("%s %x\n", what, flags_of(pid)); flush(); }
static void mine(const char *what) { tell(what, sys(__NR_getpid)); }
static void done(void) { flush(); leave(0); }
static void again(const char *what)
{
	char *args[] = { "x", (char *)what, 0 };
	flush();
	sys(__NR_execve, "/proc/self/exe", args, 0);
}

#define CHILD(...) do { long p = fork(); if (!p) { __VA_ARGS__; done(); } wait_for(p); } while (0)

static void ended(const char *what, int sig)
{
	static char info[128] __attribute__((aligned(8)));
	long p = fork();
	if (!p) {
		if (!sig)
			done();
		for (;;)
			sys(__NR_pause);
	}
	if (sig)
		sys(__NR_kill, p, sig);
	sys(__NR_waitid, 1, p, info, 4 | 0x01000000, 0);
	tell(what, p);
	wait_for(p);
}

int main(int argc, char **argv)
{
	if (argc > 1) {
		mine(argv[1]);
		return 0;
	}
	mine("start");
	CHILD(mine("fork"));
	CHILD(again("exec"));
	CHILD(sys(__NR_setuid, 1000); mine("setuid"));
	CHILD(sys(__NR_setuid, 1000); again("setuid-exec"));
	CHILD(sys(__NR_setuid, 1000); CHILD(mine("setuid-fork")));
	CHILD(sys(__NR_setuid, 1000); sys(__NR_sethostname, "a", 1); mine("refused"));
	CHILD(sys(__NR_sethostname, "a", 1); mine("hostname"));
	CHILD(sys(__NR_prctl, PR_SET_NAME, "x"); mine("name"));
	CHILD(sys(__NR_chown, "/tmp", 0, 0); mine("chown"));
	CHILD(sys(__NR_setpriority, 0, 0, -5); mine("nicer"));
	CHILD(sys(__NR_setpriority, 0, 0, 5); mine("less nice"));
	CHILD(sys(__NR_prctl, 57, 1, 0, 0, 0); mine("io flusher"); CHILD(mine("its child")); again("its program"));
	CHILD(sys(__NR_prctl, 57, 1, 0, 0, 0); sys(__NR_prctl, 57, 0, 0, 0, 0); mine("no io flusher"));
	ended("zombie", 0);
	ended("terminated", 15);
	ended("killed", 9);
	ended("aborted", 6);
	tell("kthreadd", 2);
	return 0;
}
