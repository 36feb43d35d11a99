/* Signals that a tracer gives: at a stop of a system call, and in the place of another. */
#include "tiny.h"
#include <linux/ptrace.h>

#define PT(req, pid, addr, data) sys(__NR_ptrace, req, pid, addr, data)
#define __WALL 0x40000000

static volatile int mine, tracer;
static void caught(int sig, void *info, void *context)
{
	int *words = info, at = sizeof(long) == 8 ? 4 : 3;
	say("signal %d code %d from %s\n", words[0], words[2], words[at] == tracer ? "tracer" : words[at] == mine ? "itself" : words[at] ? "somebody" : "nobody");
}

int main(int argc, char **argv)
{
	int status, stops;
	long pid;
	tracer = sys(__NR_getpid);
	flush();
	pid = fork();
	if (!pid) {
		mine = sys(__NR_getpid);
		on_signal(10, caught, 4);
		on_signal(12, caught, 4);
		PT(PTRACE_TRACEME, 0, 0, 0);
		sys(__NR_kill, mine, 19);
		sys(__NR_getppid);
		sys(__NR_kill, mine, 12);
		flush();
		leave(3);
	}
	sys(__NR_wait4, pid, &status, __WALL, 0);
	PT(PTRACE_SETOPTIONS, pid, 0, PTRACE_O_TRACESYSGOOD);
	for (stops = 0; stops < 4; stops++) { /* of kill's end, getppid's begin and end, kill's begin */
		PT(PTRACE_SYSCALL, pid, 0, stops == 2 ? 10 : 0);
		sys(__NR_wait4, pid, &status, __WALL, 0);
		if ((status >> 8 & 0x7f) == 10) { say("stops with 10\n"); PT(PTRACE_SYSCALL, pid, 0, 10); sys(__NR_wait4, pid, &status, __WALL, 0); }
	}
	for (;;) {
		PT(PTRACE_CONT, pid, 0, (status >> 8 & 0xff) == 12 ? 10 : 0);
		sys(__NR_wait4, pid, &status, __WALL, 0);
		say("status %x\n", status);
		if (!(status & 0x7f)) break;
	}
	flush();
	return 0;
}
