/* PR_SET_TSC: whether rdtsc and rdtscp are allowed, of a task, its children, a thread, what it executes, and after a sleep.
 * not: s390x */
#include "tiny.h"
#include <linux/prctl.h>

static void stopped(int sig, int *info, void *context)
{
	say("signal %d code %d at %d\n", sig, info[2], info[sizeof(long) == 8 ? 4 : 3]);
	leave(0);
}
static void count(const char *when)
{
	long pid = fork();
	int mode = 0;

	if (!pid) {
		sys(__NR_prctl, PR_GET_TSC, &mode);
		say("%s: mode %d\n", when, mode);
		__asm__ volatile("rdtsc" : : : "eax", "edx");
		say(" rdtsc counts\n");
		leave(0);
	}
	wait_for(pid);
	pid = fork();
	if (!pid) {
		__asm__ volatile("rdtscp" : : : "eax", "ecx", "edx");
		say(" rdtscp counts\n");
		leave(0);
	}
	wait_for(pid);
}
int main(int argc, char **argv)
{
	long pid;

	on_signal(11, (void *)stopped, 0);
	if (argc > 1) {
		count("after exec");
		return 0;
	}
	count("at first");
	T(__NR_prctl, PR_SET_TSC, 0);
	T(__NR_prctl, PR_SET_TSC, 3);
	T(__NR_prctl, PR_GET_TSC, 0);
	T(__NR_prctl, PR_SET_TSC, PR_TSC_SIGSEGV);
	count("forbidden");
	pid = fork();
	if (!pid) {
		sys(__NR_prctl, PR_SET_TSC, PR_TSC_ENABLE);
		count("a child allows itself");
		leave(0);
	}
	wait_for(pid);
	count("its parent");
	nap(5);
	count("after a sleep");
	pid = fork();
	if (!pid) {
		char *words[] = { argv[0], "again", 0 };
		sys(__NR_execve, argv[0], words, 0);
		leave(9);
	}
	wait_for(pid);
	T(__NR_prctl, PR_SET_TSC, PR_TSC_ENABLE);
	count("allowed");
	return 0;
}
