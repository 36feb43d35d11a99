/* What lies in /proc/PID, in what order, and what each file takes that can be written: bad numbers, others' files, fork, exec. */
/* not: i386: arch_status and cpu_resctrl_groups are there on a 64-bit kernel */
/* not: s390x: the same */
#include "tiny.h"

static const char *const files[] = {
	"coredump_filter", "loginuid", "sessionid", "timerslack_ns", "oom_adj", "oom_score_adj", "oom_score", "clear_refs",
	"setgroups", "cpuset", "personality", "patch_state", "ksm_merging_pages", "ksm_stat", "arch_status", "timers",
	"timens_offsets", "attr/current", "attr/exec", "attr/prev", "attr/fscreate", "attr/apparmor/current",
	"attr/apparmor/exec", "projid_map", "uid_map", "stack_depth", 0,
};
static const char *const texts[] = {
	"", "0", "1", "-1", "0x7f", "1ff", "0xfffff", "x", "010", "+5", "4294967295", "18446744073709551616", " 5 ", "5 6", "17\n", "17",
	"-1000", "1000", "15", "-17", "123456789012345", "3\n\n", "changeprofile nobody", "changeprofile unconfined", "exec unconfined",
	"exec nobody", "stack unconfined", "permprofile unconfined", "changehat 12^unconfined", "exec ", "changeprofile", 0,
};
static char text[8192];

static const char *join(const char *dir, const char *name)
{
	static char path[128];
	int n = strlen(dir);
	memcpy(path, dir, n);
	memcpy(path + n, name, strlen(name) + 1);
	return path;
}

static void names(const char *dir)
{
	long fd = sys(__NR_openat, AT_FDCWD, dir, O_RDONLY | O_DIRECTORY, 0), n;
	say("%s:", dir);
	while ((n = sys(__NR_getdents64, fd, text, sizeof(text))) > 0)
		for (char *d = text; d < text + n; d += *(unsigned short *)(d + 16))
			say(" %s", d + 19);
	say("\n");
	sys(__NR_close, fd);
}

static void show(const char *dir, const char *name)
{
	long fd = sys(__NR_openat, AT_FDCWD, join(dir, name), O_RDONLY, 0);
	if (fd < 0) {
		say("  %s: open %r\n", name, fd);
		return;
	}
	long n = sys(__NR_read, fd, text, sizeof(text) - 1);
	text[n > 0 ? n : 0] = 0;
	say("  %s: %r [%s]\n", name, n, text);
	sys(__NR_close, fd);
}

static long store(const char *dir, const char *name, const char *what)
{
	long fd = sys(__NR_openat, AT_FDCWD, join(dir, name), O_WRONLY, 0), n;
	if (fd < 0)
		return fd;
	n = sys(__NR_write, fd, what, strlen(what));
	sys(__NR_close, fd);
	return n;
}

static void all(const char *dir, const char *what)
{
	for (int i = 0; files[i]; i++)
		say("%s <- %s: %r\n", files[i], what, store(dir, files[i], what));
}

static void inherited(void)
{
	static const char *const kept[] = { "coredump_filter", "loginuid", "sessionid", "timerslack_ns", "oom_adj", "oom_score_adj", 0 };
	for (int i = 0; kept[i]; i++)
		show("/proc/self/", kept[i]);
	say("slack %r", sys(__NR_prctl, 30));
	sys(__NR_prctl, 29, 77);
	say(" %r", sys(__NR_prctl, 30));
	sys(__NR_prctl, 29, 0);
	say(" %r dumpable %r\n", sys(__NR_prctl, 30), sys(__NR_prctl, 3));
}

static void timers(void)
{
	struct { long value; int sig, notify, tid, pad[11]; } e = { 0x1234, 10, 0 };
	int t[4];
	sys(__NR_timer_create, 1, &e, &t[0]);
	sys(__NR_timer_create, 0, 0, &t[1]);
	e.notify = 1;
	sys(__NR_timer_create, 2, &e, &t[2]);
	e.notify = 2;
	sys(__NR_timer_create, 3, &e, &t[3]);
	slurp("/proc/self/timers", text, sizeof(text));
	for (char *p = text; *p; p++) {
		if (*p == '.') { /* the pid */
			while (*p != '\n')
				p++;
			say(".P");
		}
		put(*p);
	}
	flush();
	sys(__NR_timer_delete, t[1]);
	sys(__NR_timer_delete, t[3]);
	say("left:");
	slurp("/proc/self/timers", text, sizeof(text));
	for (char *p = text; *p; p++)
		if (p[0] == 'I' && p[1] == 'D')
			say(" %s", p[4] == '0' ? "0" : p[4] == '1' ? "1" : p[4] == '2' ? "2" : "3");
	say("\n");
}

int main(int argc, char **argv)
{
	if (argc > 1) {
		say("after exec\n");
		inherited();
		return 0;
	}
	names("/proc/self");
	names("/proc/thread-self");
	names("/proc/self/attr");
	names("/proc/self/attr/apparmor");
	for (int i = 0; files[i]; i++) {
		say("%s\n", files[i]);
		show("/proc/self/", files[i]);
		for (int j = 0; texts[j]; j++)
			say("  <- '%s': %r\n", texts[j], store("/proc/self/", files[i], texts[j]));
		show("/proc/self/", files[i]);
	}
	store("/proc/self/", "timerslack_ns", "1234");
	store("/proc/self/", "loginuid", "4294967295");
	store("/proc/self/", "oom_score_adj", "300");
	store("/proc/self/", "coredump_filter", "0x15");
	inherited();
	if (!fork()) {
		say("after fork\n");
		inherited();
		say("login %r", store("/proc/self/", "loginuid", "7"));
		say(" %r\n", store("/proc/self/", "loginuid", "8"));
		sys(__NR_setresgid, 1000, 1000, 1000);
		sys(__NR_setresuid, 1000, 1000, 1000);
		say("as a user, dumpable %r\n", sys(__NR_prctl, 3));
		sys(__NR_prctl, 4, 1);
		all("/proc/self/", "5");
		say("  lower %r lower still %r higher %r\n", store("/proc/self/", "oom_score_adj", "299"),
		    store("/proc/self/", "oom_score_adj", "-1"), store("/proc/self/", "oom_score_adj", "500"));
		say("of another\n");
		all("/proc/1/", "5");
		leave(0);
	}
	wait_for(-1);
	if (!fork()) {
		long end[2];
		sys(__NR_pipe, end);
		say("without a session of its own, then with one\n");
		sys(__NR_setsid);
		for (int j = 0; texts[j]; j++)
			say("  autogroup <- '%s': %r\n", texts[j], store("/proc/self/", "autogroup", texts[j]));
		store("/proc/self/", "autogroup", "-5");
		slurp("/proc/self/autogroup", text, sizeof(text));
		for (char *p = text; *p; p++)
			if (*p == ' ')
				say("%s", p);
		leave(0);
	}
	wait_for(-1);
	if (!fork()) {
		const char *const a[] = { argv[0], "again", 0 };
		sys(__NR_execve, "/proc/self/exe", a, 0);
		leave(1);
	}
	wait_for(-1);
	timers();
	return 0;
}
