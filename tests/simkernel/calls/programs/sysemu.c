/* PTRACE_SYSEMU: a tracer answers the calls of its child itself. not: s390x (its registers lie elsewhere) */
#include "tiny.h"

int main(int argc, char **argv)
{
	int child = fork(), status;
	struct { unsigned char op, pad[3]; unsigned arch; unsigned long long ip, sp, nr; char more[64]; } info;
	long nr, ret;
	if (!child) {
		sys(__NR_ptrace, 0, 0, 0, 0);
		sys(__NR_kill, sys(__NR_getpid), 19);
		ret = sys(__NR_getppid);
		nr = sys(500, 1, 2);
		sys(__NR_exit_group, ret == 77 && nr == 77 ? 5 : 6);
	}
	status = wait_for(child);
	say("stop %x options %r", (long)status, sys(__NR_ptrace, 0x4200, child, 0, 1));
	for (int i = 0; i < 3; i++) {
		say(" emu %r", sys(__NR_ptrace, 31, child, 0, 0));
		status = wait_for(child);
#ifdef __x86_64__
		enum { ORIG = 15 * 8, RESULT = 10 * 8 };
#else
		enum { ORIG = 11 * 4, RESULT = 6 * 4 };
#endif
		sys(__NR_ptrace, 3, child, ORIG, &nr);
		sys(__NR_ptrace, 3, child, RESULT, &ret);
		say(" stop %x %s result %r\n", (long)status, nr == __NR_getppid ? "getppid" : nr == 500 ? "500" : nr == __NR_exit_group ? "exit" : "?", ret);
		say(" info %r op %d\n", sys(__NR_ptrace, 0x420e, child, sizeof(info), &info), info.op);
		sys(__NR_ptrace, 6, child, RESULT, 77);
	}
	/* the exit was not made: on with single steps, then let it go on */
	say("step %r", sys(__NR_ptrace, 32, child, 0, 0));
	status = wait_for(child);
	say(" stop %x", (long)status);
	say(" cont %r", sys(__NR_ptrace, 7, child, 0, 9));
	say(" end %x\n", (long)wait_for(child));
	return 0;
}
