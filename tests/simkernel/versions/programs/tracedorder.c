/* Which of several stopped or dead tasks wait() tells their tracer first: its own children by age, others the other way round. */
#include <signal.h>
#include <stdio.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

static int pids[3];

static void told(const char *what)
{
	int status, pid;
	usleep(100000);
	printf("%s:", what);
	while ((pid = waitpid(-1, &status, __WALL | WNOHANG)) > 0)
		for (int i = 0; i < 3; i++)
			if (pids[i] == pid)
				printf(" %d", i);
	printf("\n");
	fflush(stdout);
}

static void go_on(void)
{
	for (int i = 0; i < 3; i++)
		ptrace(PTRACE_CONT, pids[i], 0, 0);
}

static void own(void)
{
	for (int i = 0; i < 3; i++)
		if (!(pids[i] = fork())) {
			ptrace(PTRACE_TRACEME, 0, 0, 0);
			raise(SIGSTOP);
			_exit(i);
		}
	told("own children stop");
	go_on();
	told("and end");
}

static void followed(void)
{
	int status, parent = fork();
	if (!parent) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		raise(SIGSTOP);
		for (int i = 0; i < 3; i++)
			if (!fork())
				_exit(i);
		while (wait(0) > 0)
			;
		_exit(0);
	}
	waitpid(parent, &status, __WALL);
	ptrace(PTRACE_SETOPTIONS, parent, 0, PTRACE_O_TRACEFORK);
	ptrace(PTRACE_CONT, parent, 0, 0);
	for (int i = 0; i < 3; i++) {
		unsigned long child;
		waitpid(parent, &status, __WALL);
		ptrace(PTRACE_GETEVENTMSG, parent, 0, &child);
		pids[i] = child;
		if (i < 2)
			ptrace(PTRACE_CONT, parent, 0, 0);
	}
	told("followed children stop");
	go_on();
	told("and end");
	kill(parent, SIGKILL);
	waitpid(parent, &status, __WALL);
}

static void attached(void)
{
	for (int i = 0; i < 3; i++) {
		int out[2];
		pipe(out);
		if (!fork()) {
			int child = fork();
			for (; !child;)
				pause();
			write(out[1], &child, sizeof child);
			_exit(0);
		}
		read(out[0], &pids[i], sizeof pids[i]);
		wait(0);
	}
	for (int i = 0; i < 3; i++)
		ptrace(PTRACE_ATTACH, pids[i], 0, 0);
	told("attached tasks stop");
	for (int i = 0; i < 3; i++)
		kill(pids[i], SIGKILL);
	told("and are killed");
}

int main(void)
{
	own();
	followed();
	attached();
	return 0;
}
