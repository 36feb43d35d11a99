/* Settings that only CAP_SYS_ADMIN may read or write: as root, and without that capability. */
/* not: i386: no compiler */
#include "tiny.h"
#include <linux/capability.h>

static const char *const names[] = {
	"kernel/bpf_stats_enabled", "kernel/dmesg_restrict", "kernel/kptr_restrict", "kernel/panic", "kernel/sched_schedstats",
	"kernel/tainted", "kernel/task_delayacct", "kernel/unprivileged_bpf_disabled", "net/core/bpf_jit_enable",
	"net/core/bpf_jit_harden", "net/core/bpf_jit_kallsyms", "net/core/bpf_jit_limit",
};

static void all(const char *who)
{
	char path[80], text[64];
	unsigned i;
	long fd, size;

	for (i = 0; i < sizeof(names) / sizeof(*names); i++) {
		memcpy(path, "/proc/sys/", 10);
		memcpy(path + 10, names[i], strlen(names[i]) + 1);
		fd = sys(__NR_openat, -100, path, 0, 0);
		size = fd < 0 ? fd : sys(__NR_read, fd, text, sizeof(text));
		say("%s %s: read %s", who, names[i], size < 0 ? error_name(-size) : "works");
		sys(__NR_close, fd);
		fd = sys(__NR_openat, -100, path, 1, 0);
		size = fd < 0 ? fd : sys(__NR_write, fd, text, size < 0 ? 1 : size);
		say(", write %s\n", size < 0 ? error_name(-size) : "works");
		sys(__NR_close, fd);
	}
}

int main(int argc, char **argv)
{
	struct __user_cap_header_struct header = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct data[2] = { 0 };

	all("root");
	sys(__NR_capget, &header, data);
	data[0].effective &= ~(1u << CAP_SYS_ADMIN);
	sys(__NR_capset, &header, data);
	all("without");
	return 0;
}
