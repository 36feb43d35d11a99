/* Landlock: rulesets, rules, what a domain lets a task open, make, remove, move, mount and trace. */
#include "tiny_landlock.h"
#define FS(name) LANDLOCK_ACCESS_FS_##name

static void opens(const char *path, long flags)
{
	long fd = sys(__NR_openat, AT_FDCWD, path, flags, 0644);
	say(" %s %r", path, fd < 0 ? fd : 0);
	if (fd >= 0)
		sys(__NR_close, fd);
}

static void refusals(void)
{
	struct landlock_ruleset_attr big[8];
	struct landlock_path_beneath_attr beneath = { 0, -1 };
	memset(big, 0, sizeof(big));
	say("abi %r errata %r both %r attr %r\n", sys(__NR_landlock_create_ruleset, 0, 0, 1), sys(__NR_landlock_create_ruleset, 0, 0, 2), sys(__NR_landlock_create_ruleset, 0, 0, 3), sys(__NR_landlock_create_ruleset, big, 8, 1));
	say("null %r small %r nothing %r unknown %r page %r", sys(__NR_landlock_create_ruleset, 0, 8, 0), sys(__NR_landlock_create_ruleset, big, 7, 0), ruleset(0), ruleset(1 << 14), sys(__NR_landlock_create_ruleset, big, 4097, 0));
	big[0].handled_access_fs = 4;
	long set = sys(__NR_landlock_create_ruleset, big, 16, 0);
	say(" larger %d", (int)(set >= 0));
	((char *)big)[20] = 1;
	say(" more %r\n", sys(__NR_landlock_create_ruleset, big, 24, 0));
	say("read %r write %r seek %r\n", sys(__NR_read, set, big, 1), sys(__NR_write, set, big, 1), sys(__NR_lseek, set, 0, 0));
	say("rule flags %r fd %r kind %r null %r empty %r", sys(__NR_landlock_add_rule, set, 1, &beneath, 1), sys(__NR_landlock_add_rule, -1, 1, &beneath, 0), sys(__NR_landlock_add_rule, set, 0, &beneath, 0), sys(__NR_landlock_add_rule, set, 1, 0, 0), sys(__NR_landlock_add_rule, set, 1, &beneath, 0));
	say(" other fd %r unhandled %r handled %r itself", sys(__NR_landlock_add_rule, 1, 1, &beneath, 0), rule(set, "/", 1), rule(set, "/", 4));
	beneath.allowed_access = 4, beneath.parent_fd = (int)set;
	say(" %r", sys(__NR_landlock_add_rule, set, 1, &beneath, 0));
	int pipe[2];
	sys(__NR_pipe2, pipe, 0);
	beneath.parent_fd = pipe[0];
	say(" pipe %r", sys(__NR_landlock_add_rule, set, 1, &beneath, 0));
	beneath.parent_fd = -1;
	say(" none %r\n", sys(__NR_landlock_add_rule, set, 1, &beneath, 0));
	say("restrict flags %r fd %r other %r\n", sys(__NR_landlock_restrict_self, set, 1), sys(__NR_landlock_restrict_self, -1, 0), sys(__NR_landlock_restrict_self, 1, 0));
	sys(__NR_close, set);
}

static void files(void)
{
	long set = ruleset((1 << 13) - 1);
	say("rules %r %r %r file %r\n", rule(set, "/t/ro", FS(READ_FILE) | FS(READ_DIR)), rule(set, "/t/rw", (1 << 13) - 1), rule(set, "/t/one", FS(READ_FILE)), rule(set, "/t/one", FS(READ_DIR)));
	long pid = fork();
	if (!pid) {
		say("restrict %r\n", sys(__NR_landlock_restrict_self, set, 0));
		opens("/t", O_RDONLY), opens("/t/ro", O_RDONLY), opens("/t/ro/f", O_RDONLY), opens("/t/ro/f", O_RDWR), opens("/t/ro/new", O_CREAT | O_WRONLY), opens("/t/one", O_RDONLY), opens("/t/one", O_WRONLY);
		opens("/t/two", O_RDONLY), opens("/t/two", O_PATH), opens("/t/rw/f", O_RDWR | O_TRUNC), opens("/t/rw/new", O_CREAT | O_WRONLY);
		say("\nmkdir %r %r", sys(__NR_mkdirat, AT_FDCWD, "/t/ro/d", 0755), sys(__NR_mkdirat, AT_FDCWD, "/t/rw/d", 0755));
		say(" mknod %r %r", sys(__NR_mknodat, AT_FDCWD, "/t/ro/p", 010644, 0), sys(__NR_mknodat, AT_FDCWD, "/t/rw/p", 010644, 0));
		say(" symlink %r %r", sys(__NR_symlinkat, "x", AT_FDCWD, "/t/ro/s"), sys(__NR_symlinkat, "x", AT_FDCWD, "/t/rw/s"));
		say(" unlink %r", sys(__NR_unlinkat, AT_FDCWD, "/t/ro/f", 0));
		say(" %r", sys(__NR_unlinkat, AT_FDCWD, "/t/rw/p", 0));
		say(" rmdir %r", sys(__NR_unlinkat, AT_FDCWD, "/t/ro/sub", 0x200));
		say(" %r", sys(__NR_unlinkat, AT_FDCWD, "/t/rw/d", 0x200));
		say("\nrename inside %r", sys(__NR_renameat2, AT_FDCWD, "/t/rw/new", AT_FDCWD, "/t/rw/other", 0));
		say(" across %r", sys(__NR_renameat2, AT_FDCWD, "/t/rw/other", AT_FDCWD, "/t/ro/other", 0));
		say(" %r", sys(__NR_renameat2, AT_FDCWD, "/t/rw/other", AT_FDCWD, "/t/rw/sub/other", 0));
		say(" link %r", sys(__NR_linkat, AT_FDCWD, "/t/rw/other", AT_FDCWD, "/t/rw/sub/l", 0));
		say(" inside %r\n", sys(__NR_linkat, AT_FDCWD, "/t/rw/other", AT_FDCWD, "/t/rw/l", 0));
		say("mount %r", sys(__NR_mount, "none", "/t/rw", "tmpfs", 0, 0));
		say(" umount %r", sys(__NR_umount2, "/t/rw", 0));
		say(" chmod %r", sys(__NR_fchmodat, AT_FDCWD, "/t/two", 0600));
		say(" truncate %r", sys(__NR_truncate, "/t/two", 0));
		say(" stat by exec %r\n", sys(__NR_execve, "/landlock", 0, 0));
		long again = ruleset(FS(READ_FILE));
		rule(again, "/t/rw", FS(READ_FILE));
		say("second layer %r", sys(__NR_landlock_restrict_self, again, 0));
		opens("/t/ro/f", O_RDONLY), opens("/t/rw/f", O_RDONLY), opens("/t/ro", O_RDONLY), opens("/t/rw/f", O_WRONLY);
		long layers = 2;
		while (!sys(__NR_landlock_restrict_self, again, 0))
			layers++;
		say("\nlayers %d then %r\n", (int)layers, sys(__NR_landlock_restrict_self, again, 0));
		say("ptrace parent %r", sys(__NR_ptrace, 16, sys(__NR_getppid), 0, 0));
		long child = fork();
		if (!child) {
			say(" traceme %r", sys(__NR_ptrace, 0, 0, 0, 0));
			leave(0);
		}
		wait_for(child);
		say("\n");
		leave(0);
	}
	wait_for(pid);
}

static void moves(void)
{
	long set = ruleset(FS(REFER) | FS(MAKE_REG) | FS(WRITE_FILE));
	rule(set, "/t/rw", FS(REFER) | FS(MAKE_REG)), rule(set, "/t/ro", FS(REFER) | FS(MAKE_REG) | FS(WRITE_FILE));
	long pid = fork();
	if (!pid) {
		sys(__NR_landlock_restrict_self, set, 0);
		say("to less %r", sys(__NR_renameat2, AT_FDCWD, "/t/ro/f", AT_FDCWD, "/t/rw/g", 0));
		say(" to more %r", sys(__NR_renameat2, AT_FDCWD, "/t/rw/f", AT_FDCWD, "/t/ro/g", 0));
		say(" exchange %r", sys(__NR_renameat2, AT_FDCWD, "/t/rw/f", AT_FDCWD, "/t/rw/g", 2));
		say(" link to more %r", sys(__NR_linkat, AT_FDCWD, "/t/rw/g", AT_FDCWD, "/t/ro/h", 0));
		say(" whiteout %r\n", sys(__NR_renameat2, AT_FDCWD, "/t/rw/g", AT_FDCWD, "/t/rw/i", 4));
		struct { unsigned long words[64]; } st;
		memset(&st, 0, sizeof(st));
		say("whiteout is there %r", sys(__NR_faccessat, AT_FDCWD, "/t/rw/g", 0, 0));
		opens("/t/rw/g", O_RDONLY);
		say("\n");
		leave(0);
	}
	wait_for(pid);
	pid = fork();
	if (!pid) {
		sys(__NR_prctl, 38, 1, 0, 0, 0);
#ifdef __NR_setresuid32
		sys(__NR_setresuid32, 1000, 1000, 1000);
#else
		sys(__NR_setresuid, 1000, 1000, 1000);
#endif
		say("a user with no_new_privs %r", sys(__NR_landlock_restrict_self, set, 0));
		leave(0);
	}
	wait_for(pid);
	pid = fork();
	if (!pid) {
#ifdef __NR_setresuid32
		sys(__NR_setresuid32, 1000, 1000, 1000);
#else
		sys(__NR_setresuid, 1000, 1000, 1000);
#endif
		say(" without %r\n", sys(__NR_landlock_restrict_self, set, 0));
		leave(0);
	}
	wait_for(pid);
}

int main(int argc, char **argv)
{
	sys(__NR_mkdirat, AT_FDCWD, "/t", 0755);
	sys(__NR_mount, "none", "/t", "tmpfs", 0, 0);
	sys(__NR_mkdirat, AT_FDCWD, "/t/ro", 0755), sys(__NR_mkdirat, AT_FDCWD, "/t/rw", 0755), sys(__NR_mkdirat, AT_FDCWD, "/t/ro/sub", 0755), sys(__NR_mkdirat, AT_FDCWD, "/t/rw/sub", 0755);
	spit("/t/ro/f", "f"), spit("/t/rw/f", "f"), spit("/t/one", "1"), spit("/t/two", "2");
	refusals();
	files();
	moves();
	return 0;
}
