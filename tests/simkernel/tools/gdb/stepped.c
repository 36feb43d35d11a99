/* A step with a signal stops before the handler's first instruction, and what the handler returns to is not stepped; names in maps below another root. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile int handled;

static void handler(int sig)
{
	handled = sig;
}

static void tell(pid_t child, const char *when)
{
	struct user_regs_struct regs;
	siginfo_t info;
	int status;

	waitpid(child, &status, 0);
	if (!WIFSTOPPED(status)) {
		printf("%s: ended %x\n", when, status);
		return;
	}
	ptrace(PTRACE_GETREGS, child, 0, &regs);
	ptrace(PTRACE_GETSIGINFO, child, 0, &info);
	printf("%s: signal %d code %d, at the handler %d, trap flag %d\n", when, WSTOPSIG(status), info.si_code,
	       regs.rip == (unsigned long)handler, !!(regs.eflags & 0x100));
}

int main(int argc, char **argv)
{
	char line[512], *name;
	FILE *maps;
	pid_t child;

	setlinebuf(stdout);
	child = fork();

	if (!child) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		signal(SIGUSR1, handler);
		raise(SIGUSR1);
		_exit(handled);
	}
	tell(child, "raised");
	ptrace(PTRACE_SINGLESTEP, child, 0, SIGUSR1);
	tell(child, "stepped");
	ptrace(PTRACE_SINGLESTEP, child, 0, 0);
	tell(child, "again");
	ptrace(PTRACE_CONT, child, 0, 0);
	tell(child, "continued");
	if (argc < 2) {
		if (chroot("/below") || chdir("/"))
			perror("chroot");
		execl("/stepped", "stepped", "again", NULL);
		perror("execl");
		return 1;
	}
	maps = fopen("/proc/self/maps", "r");
	fgets(line, sizeof(line), maps);
	name = strchr(line, '/');
	printf("%s", name ? name : "none\n");
	return 0;
}
