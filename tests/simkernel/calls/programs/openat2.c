/* openat2: where a walk may go. */
#include "tiny.h"
#include <linux/openat2.h>

static long dir;
static void try(const char *what, long at, const char *path, unsigned long long flags, unsigned long long resolve)
{
	struct open_how how = { flags, 0, resolve };
	long fd = sys(__NR_openat2, at, path, &how, sizeof(how));
	say("%s: %r\n", what, fd >= 0 ? 0L : fd);
	if (fd >= 0)
		sys(__NR_close, fd);
}

int main(int argc, char **argv)
{
	struct open_how how = { O_RDONLY, 0, 0 };
	sys(__NR_mkdirat, AT_FDCWD, "/tmp", 0777);
	sys(__NR_mkdirat, AT_FDCWD, "/tmp/o", 0755);
	sys(__NR_mkdirat, AT_FDCWD, "/tmp/o/in", 0755);
	sys(__NR_mkdirat, AT_FDCWD, "/tmp/o/etc", 0755);
	spit("/tmp/o/etc/file", "inner");
	spit("/tmp/o/in/file", "x");
	sys(__NR_symlinkat, "in/file", AT_FDCWD, "/tmp/o/near");
	sys(__NR_symlinkat, "/etc/file", AT_FDCWD, "/tmp/o/absolute");
	sys(__NR_symlinkat, "../../tmp", AT_FDCWD, "/tmp/o/up");
	dir = sys(__NR_openat, AT_FDCWD, "/tmp/o", O_RDONLY, 0);
	try("plain", dir, "in/file", O_RDONLY, 0);
	try("beneath", dir, "in/file", O_RDONLY, RESOLVE_BENEATH);
	try("beneath up and down", dir, "in/../in/file", O_RDONLY, RESOLVE_BENEATH);
	try("beneath up", dir, "../o/in/file", O_RDONLY, RESOLVE_BENEATH);
	try("beneath absolute", dir, "/tmp/o/in/file", O_RDONLY, RESOLVE_BENEATH);
	try("beneath link", dir, "near", O_RDONLY, RESOLVE_BENEATH);
	try("beneath absolute link", dir, "absolute", O_RDONLY, RESOLVE_BENEATH);
	try("beneath link up", dir, "up", O_RDONLY, RESOLVE_BENEATH);
	try("in root absolute", dir, "/in/file", O_RDONLY, RESOLVE_IN_ROOT);
	try("in root up", dir, "../../in/file", O_RDONLY, RESOLVE_IN_ROOT);
	try("in root absolute link", dir, "absolute", O_RDONLY, RESOLVE_IN_ROOT);
	try("in root outside", dir, "/tmp/o/in/file", O_RDONLY, RESOLVE_IN_ROOT);
	try("no links", dir, "near", O_RDONLY, RESOLVE_NO_SYMLINKS);
	try("no links, itself", dir, "near", O_PATH | O_NOFOLLOW, RESOLVE_NO_SYMLINKS);
	try("no links, none", dir, "in/file", O_RDONLY, RESOLVE_NO_SYMLINKS);
	try("magic", AT_FDCWD, "/proc/self/exe", O_RDONLY, RESOLVE_NO_MAGICLINKS);
	try("magic allowed", AT_FDCWD, "/proc/self/exe", O_RDONLY, 0);
	try("other mount", AT_FDCWD, "/proc/version", O_RDONLY, RESOLVE_NO_XDEV);
	try("same mount", dir, "in/file", O_RDONLY, RESOLVE_NO_XDEV);
	sys(__NR_mkdirat, AT_FDCWD, "/tmp/m", 0755);
	sys(__NR_mount, "none", "/tmp/m", "tmpfs", 0, 0);
	sys(__NR_symlinkat, "/", AT_FDCWD, "/tmp/m/top");
	long other = sys(__NR_openat, AT_FDCWD, "/tmp/m", O_RDONLY, 0);
	try("root, from another mount", other, "/", O_PATH, RESOLVE_NO_XDEV);
	try("and on from there", other, "/tmp/o/in/file", O_RDONLY, RESOLVE_NO_XDEV);
	try("by a link", other, "top", O_PATH, RESOLVE_NO_XDEV);
	try("up", other, "..", O_PATH, RESOLVE_NO_XDEV);
	try("magic beneath", AT_FDCWD, "proc/self/exe", O_RDONLY, RESOLVE_BENEATH);
	try("both", dir, "in", O_RDONLY, RESOLVE_BENEATH | RESOLVE_IN_ROOT);
	try("unknown", dir, "in", O_RDONLY, 0x1000);
	try("flags", dir, "in", 1ULL << 40, 0);
	try("path flags", dir, "in", O_PATH | O_WRONLY | O_APPEND, 0);
	how.mode = 0600;
	say("mode %r\n", sys(__NR_openat2, dir, "in", &how, sizeof(how)));
	how.mode = 0;
	say("small %r\n", sys(__NR_openat2, dir, "in", &how, 16));
	struct { struct open_how how; long more; } large = { { O_RDONLY, 0, 0 }, 1 };
	say("large %r\n", sys(__NR_openat2, dir, "in", &large, sizeof(large)));
	say("cached create %r\n", (how.flags = O_CREAT | O_RDWR, how.mode = 0600, how.resolve = RESOLVE_CACHED, sys(__NR_openat2, dir, "new", &how, sizeof(how))));
	return 0;
}
