/* Delegation by mounts of bpffs, who is refused a token, and mapping an arena at a place that is chosen. */
#include "../../calls/programs/tiny.h"
#include "../../calls/programs/tiny_bpf.h"

#define TOKEN_CREATE 36
#define ARENA 33
#define MMAPABLE 1024
#define START 0x100000000000ULL
#define PATH "/tmp/tokens.d"
#define NEWUSER 0x10000000
#define NEWNS 0x20000
#define ANONYMOUS_PRIVATE 0x22

static char mounts[16384];

static long token(unsigned flags, int fd, unsigned size, unsigned more)
{
	unsigned words[5] = { flags, fd, more };
	return sys(__NR_bpf, TOKEN_CREATE, words, size);
}

/* The line of /proc/mounts that is about PATH, without its first word. */
static void shown(void)
{
	long fd = sys(__NR_open, "/proc/mounts", O_RDONLY), n = 0, got;
	while ((got = sys(__NR_read, fd, mounts + n, sizeof(mounts) - 1 - n)) > 0)
		n += got;
	sys(__NR_close, fd);
	mounts[n] = 0;
	for (char *p = mounts; *p; p++)
		if (!memcmp(p, PATH " ", sizeof(PATH)))
			for (; *p != '\n'; p++)
				put(*p);
	put('\n');
}

static void mounted(const char *options)
{
	long ret = sys(__NR_mount, "none", PATH, "bpf", 0, options);
	say("%s: %r ", options, ret);
	if (ret < 0) {
		put('\n');
		return;
	}
	shown();
	long fd = sys(__NR_open, PATH, O_RDONLY | O_DIRECTORY);
	say("  token: %r\n", token(0, fd, 8, 0));
	sys(__NR_close, fd);
	sys(__NR_umount2, PATH, 0);
}

static void configured(const char *key, const char *value)
{
	char text[200];
	long fd = sys(430, "bpf", 0), n;
	say("fsconfig %s=%s: %r\n", key, value ? value : "(none)", sys(431, fd, value ? 1 : 0, key, value, 0));
	while ((n = sys(__NR_read, fd, text, sizeof(text) - 1)) > 0) {
		text[n] = 0;
		say("  %s", text);
	}
	sys(__NR_close, fd);
}

static void refused(void)
{
	long dir = sys(__NR_open, "/proc", O_RDONLY | O_DIRECTORY);
	say("size 4: %r, a word more: %r, flags: %r\n", token(0, -1, 4, 0), token(0, -1, 12, 1), token(1, -1, 8, 0));
	say("no descriptor: %r, zeros behind: %r, /proc: %r\n", token(0, -1, 8, 0), token(0, -1, 12, 0), token(0, dir, 8, 0));
	sys(__NR_mount, "none", PATH, "bpf", 0, "");
	long root = sys(__NR_open, PATH, O_RDONLY | O_DIRECTORY), path = sys(__NR_open, PATH, O_PATH);
	sys(__NR_mkdir, PATH "/d", 0700);
	long below = sys(__NR_open, PATH "/d", O_RDONLY | O_DIRECTORY);
	say("root: %r, O_PATH: %r, below: %r\n", token(0, root, 8, 0), token(0, path, 8, 0), token(0, below, 8, 0));
	flush();
	long pid = sys(__NR_fork);
	if (!pid) {
		say("namespace: %r", sys(__NR_unshare, NEWUSER));
		say(", root: %r, O_PATH: %r, below: %r\n", token(0, root, 8, 0), token(0, path, 8, 0), token(0, below, 8, 0));
		flush();
		sys(__NR_exit_group, 0);
	}
	sys(__NR_wait4, pid, 0, 0, 0);
	if (!(pid = sys(__NR_fork))) {
		say("namespaces: %r\n", sys(__NR_unshare, NEWUSER | NEWNS));
		mounted(""), mounted("mode=711"), mounted("delegate_cmds=0"), mounted("delegate_cmds=any"), mounted("delegate_maps=bogus");
		configured("delegate_cmds", "any"), configured("delegate_progs", "0");
		flush();
		sys(__NR_exit_group, 0);
	}
	sys(__NR_wait4, pid, 0, 0, 0);
	if (!(pid = sys(__NR_fork))) {
		sys(__NR_setresuid, 1000, 1000, 1000);
		say("somebody: %r, O_PATH: %r\n", token(0, root, 8, 0), token(0, path, 8, 0));
		flush();
		sys(__NR_exit_group, 0);
	}
	sys(__NR_wait4, pid, 0, 0, 0);
	if (!(pid = sys(__NR_fork))) {
		unsigned header[2] = { 0x20080522, 0 }, sets[6];
		sys(__NR_capget, header, sets);
		sets[3] &= ~(1 << 7);
		say("without CAP_BPF: %r", sys(__NR_capset, header, sets));
		say(", %r\n", token(0, root, 8, 0));
		sets[0] &= ~(1 << 21);
		say("without CAP_SYS_ADMIN: %r", sys(__NR_capset, header, sets));
		say(", %r\n", token(0, root, 8, 0));
		flush();
		sys(__NR_exit_group, 0);
	}
	sys(__NR_wait4, pid, 0, 0, 0);
	sys(__NR_close, root), sys(__NR_close, path), sys(__NR_close, below);
	sys(__NR_umount2, PATH, 0);
}

/* A place: the address, or why not. */
static void place(const char *what, long fd, ulong hint, ulong size, int flags)
{
	long at = sys(__NR_mmap, hint, size, 3, flags, fd, 0);
	if (at < 0 && at > -4096)
		say("%s: %r\n", what, at);
	else {
		say("%s: %s\n", what, at == (long)START ? "the start" : at == (long)hint ? "the hint" : "elsewhere");
		sys(__NR_munmap, at, size);
	}
}

static void places(void)
{
	attr.map_extra = START;
	long fixed = bpf_map(ARENA, 0, 0, 2, MMAPABLE), own = bpf_map(ARENA, 0, 0, 2, MMAPABLE);
	say("made: %d %d\n", fixed >= 0, own >= 0);
	place("no hint", fixed, 0, 8192, 1);
	place("another hint", fixed, START + 8192, 8192, 1);
	place("another place, fixed", fixed, START + 8192, 8192, 17);
	place("one page", fixed, START, 4096, 1);
	place("three pages", fixed, START, 12288, 1);
	place("the start as hint", fixed, START, 8192, 1);
	place("the start, fixed", fixed, START, 8192, 17);
	place("private", fixed, START, 8192, 2);
	sys(__NR_mmap, START, 4096, 3, ANONYMOUS_PRIVATE | 16, -1, 0);
	place("taken", fixed, START, 8192, 1);
	place("taken, no replacing", fixed, START, 8192, 0x100001);
	place("taken, fixed", fixed, START, 8192, 17);
	sys(__NR_mmap, START + 4096, 4096, 3, ANONYMOUS_PRIVATE | 16, -1, 0);
	place("its end is taken", fixed, START, 8192, 1);
	sys(__NR_munmap, START, 8192);
	place("its own choice", own, START, 8192, 1);
	place("then no hint", own, 0, 8192, 1);
	place("the same again", own, START, 8192, 1);
	sys(__NR_mmap, START, 4096, 3, ANONYMOUS_PRIVATE | 16, -1, 0);
	place("the same, taken", own, START, 8192, 1);
}

int main(int argc, char **argv)
{
	static const char *const options[] = {
		"", "mode=700", "uid=3,gid=4", "delegate_progs=xdp,mode=711,gid=4,uid=3,delegate_maps=array", "uid=x", "delegate_cmds=any", "delegate_cmds", "delegate_cmds=", "delegate_cmds=5", "delegate_cmds=0x5",
		"delegate_cmds=05", "delegate_cmds=0", "delegate_cmds=map_create", "delegate_cmds=prog_load:map_create", "delegate_cmds=MAP_CREATE",
		"delegate_cmds=BPF_MAP_CREATE", "delegate_cmds=bogus", "delegate_cmds=map_create:bogus", "delegate_cmds=map_create:0x8000000000000000",
		"delegate_cmds=0xffffffffffffffff", "delegate_cmds=-1", "delegate_cmds=map_create,delegate_cmds=btf_load", "delegate_cmds=any:map_create",
		"delegate_cmds=:map_create:", "delegate_maps=array:hash", "delegate_maps=0xffffffff", "delegate_maps=cgroup_storage",
		"delegate_maps=percpu_cgroup_storage:rhash",
		"delegate_progs=kprobe:socket_filter:unspec", "delegate_attachs=trace_fentry:cgroup_inet_ingress", "delegate_attachs=0x3ff",
		"delegate_attachs=any,delegate_cmds=any,delegate_maps=any,delegate_progs=any,mode=711", "delegate_bogus=any",
		"delegate_cmds=0x1ffffffffffffffff", "delegate_cmds=0x8000000000000000", "delegate_cmds=map_create:0x4", "delegate_cmds=0x4:map_create",
		"delegate_cmds=0x4000000000", "delegate_cmds=0x100000000000", "delegate_cmds=0x40000000000000", "delegate_cmds=map_create:0x40000000000000",
		"delegate_cmds=0x7fffffffffffffff", "delegate_cmds=0xfffffffffffffffe", "delegate_cmds=0x3fffffffff", "delegate_cmds=0x7fffffffff",
		"delegate_maps=0x80000000000000", "delegate_progs=0x80000000000000", "delegate_attachs=0x8000000000000000", "delegate_cmds=1 ",
		"delegate_progs=0x1ffffffff", "delegate_attachs=+4", "delegate_attachs=010", "delegate_maps=0xfffffffff", "delegate_maps=any:bogus",
		"delegate_attachs=0xfffffffffffffff", "delegate_attachs=0x3ffffffffffffff", "delegate_maps=0x7ffffffff",
	};
	sys(__NR_mkdir, PATH, 0755);
	if (streq(argv[1], "places")) {
		places();
		flush();
		return 0;
	}
	refused();
	for (int i = 0; i < sizeof(options) / sizeof(*options); i++)
		mounted(options[i]);
	configured("delegate_cmds", 0), configured("delegate_cmds", "bogus"), configured("delegate_maps", "any"), configured("uid", "x"), configured("gid", "-1");
	flush();
	return 0;
}
