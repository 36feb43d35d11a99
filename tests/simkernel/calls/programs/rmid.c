/* kernel.shm_rmid_forced: segments that nobody has attached go with who made them, or when the last has detached. */
#include "tiny.h"
#define IPC_STAT 2
static void write_to(const char *path, const char *text)
{
	long fd = sys(__NR_open, path, 1, 0);
	long r = fd < 0 ? fd : sys(__NR_write, fd, text, strlen(text));
	say("%s %s: %r\n", path, text, r);
	sys(__NR_close, fd);
}
static const char path[] = "/proc/sys/kernel/shm_rmid_forced";
static const char *state(long id)
{
	char ds[256];
	long r = sys(__NR_shmctl, id, IPC_STAT, ds);
	return r >= 0 ? "there" : r == -22 ? "EINVAL" : r == -43 ? "EIDRM" : "other";
}
static long make(void) { return sys(__NR_shmget, 0, 4096, 0600); }

int main(int argc, char **argv)
{
	long id, other;
	int fds[2];
	/* without: all stay */
	sys(__NR_pipe, fds);
	long pid = sys(__NR_fork);
	if (!pid) {
		id = make();
		sys(__NR_write, fds[1], &id, sizeof(id));
		sys(__NR_exit, 0);
	}
	sys(__NR_wait4, pid, 0, 0, 0);
	sys(__NR_read, fds[0], &other, sizeof(other));
	say("of one that ended: %s\n", state(other));
	id = make();
	long at = sys(__NR_shmat, id, 0, 0);
	long lone = make();
	write_to(path, "1");
	say("orphan %s, attached %s, mine %s\n", state(other), state(id), state(lone));
	sys(__NR_shmdt, at);
	say("detached %s, mine %s\n", state(id), state(lone));
	/* the child's own, one of them attached here */
	pid = sys(__NR_fork);
	if (!pid) {
		id = make();
		sys(__NR_write, fds[1], &id, sizeof(id));
		id = make();
		sys(__NR_write, fds[1], &id, sizeof(id));

		struct timespec ts = { 0, 200000000 };
		sys(__NR_nanosleep, &ts, 0);
		sys(__NR_exit, 0);
	}
	sys(__NR_read, fds[0], &id, sizeof(id));
	sys(__NR_read, fds[0], &other, sizeof(other));
	at = sys(__NR_shmat, other, 0, 0);
	sys(__NR_wait4, pid, 0, 0, 0);
	say("child's %s, attached here %s\n", state(id), state(other));
	write_to(path, "0");
	sys(__NR_shmdt, at);
	say("off, detached %s\n", state(other));
	write_to(path, "1");
	say("on again %s, mine %s\n", state(other), state(lone));
	/* attached by two */
	id = make();
	at = sys(__NR_shmat, id, 0, 0);
	pid = sys(__NR_fork);
	if (!pid) {
		sys(__NR_shmdt, at);
		sys(__NR_exit, 0);
	}
	sys(__NR_wait4, pid, 0, 0, 0);
	say("detached in the child %s\n", state(id));
	sys(__NR_munmap, at, 4096);
	say("unmapped %s\n", state(id));
	say("rmid %r", sys(__NR_shmctl, lone, 0, 0));
	say(" %s\n", state(lone));
	write_to(path, "2");
	write_to(path, "-1");
	write_to(path, "0");
	return 0;
}
