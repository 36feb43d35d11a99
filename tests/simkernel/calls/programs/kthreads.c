/* Threads of the kernel that belong to one CPU: what /proc and the scheduler's calls tell of them, and that nobody moves them. */
#include "tiny.h"

static char text[2048];

static const char *field(const char *s, int n) /* from the state on, which is 3 */
{
	while (*s != ')') s++;
	for (s += 2, n -= 3; n; s++) n -= *s == ' ';
	return s;
}
static void number(const char *what, const char *s)
{
	say(" %s ", what);
	while (*s && *s != ' ' && *s != '\n') put(*s++);
}
static long find(const char *name)
{
	char path[32];
	for (int pid = 1; pid < 100; pid++) {
		char *p = path, digits[8];
		int n = pid, k = 0;
		memcpy(p, "/proc/", 6); p += 6;
		do digits[k++] = '0' + n % 10; while (n /= 10);
		while (k) *p++ = digits[--k];
		memcpy(p, "/stat", 6);
		if (slurp(path, text, sizeof(text)) <= 0) continue;
		const char *s = text;
		while (*s != '(') s++;
		if (!memcmp(s + 1, name, strlen(name)) && s[1 + strlen(name)] == ')') return pid;
	}
	return 0;
}

int main(int argc, char **argv)
{
	const char *names[] = { "kthreadd", "ksoftirqd/0", "migration/0" };
	for (int i = 0; i < 3; i++) {
		long pid = find(names[i]), mask = 0;
		int param = -1;
		say("%s:", names[i]);
		number("flags", field(text, 9)); number("prio", field(text, 18)); number("nice", field(text, 19));
		number("processor", field(text, 39)); number("rt", field(text, 40)); number("policy", field(text, 41));
		say("\n policy %d %r", (int)sys(__NR_sched_getscheduler, pid), sys(__NR_sched_getparam, pid, &param));
		say(" %d nice %d\n", param, 20 - (int)sys(__NR_getpriority, 0, pid));
		long size = sys(__NR_sched_getaffinity, pid, sizeof(mask), &mask);
		say(" affinity %d %d\n", size > 0, i == 0 || mask == 1);
		mask = 1;
		say(" moved: %r\n", sys(__NR_sched_setaffinity, pid, sizeof(mask), &mask));
		mask = 0;
		say(" nowhere: %r\n", sys(__NR_sched_setaffinity, pid, sizeof(mask), &mask));
		flush();
	}
	return 0;
}
