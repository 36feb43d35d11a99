/* Who may write the values of /proc/sys/net: root needs no capability, save for a few; CAP_NET_ADMIN opens what is root's.  not: i386 s390x */
#include "tiny.h"

static const char *const FILES[] = {
	"core/somaxconn", "core/rmem_max", "core/default_qdisc", "core/netdev_rss_key", "core/bpf_jit_harden", "core/bpf_jit_enable",
	"ipv4/ip_forward", "ipv4/ip_default_ttl", "ipv4/tcp_congestion_control", "ipv4/tcp_available_congestion_control",
	"ipv4/tcp_ehash_entries", "ipv4/ip_local_port_range", "ipv4/tcp_fastopen", "ipv4/route/flush",
	"ipv4/conf/all/forwarding", "ipv4/conf/lo/forwarding", "ipv4/conf/default/forwarding", "ipv4/conf/lo/rp_filter",
	"ipv4/conf/lo/accept_local", "ipv4/conf/all/mc_forwarding", "ipv4/neigh/default/gc_stale_time", "ipv4/neigh/lo/retrans_time_ms",
	"ipv6/bindv6only", "ipv6/conf/all/forwarding", "ipv6/conf/lo/forwarding", "ipv6/conf/lo/disable_ipv6", "ipv6/conf/lo/mc_forwarding",
	"ipv6/conf/lo/hop_limit", "ipv6/neigh/default/gc_thresh1", "ipv6/route/flush",
};

struct header { __u32 version; int pid; };
struct caps { __u32 effective, permitted, inheritable; };

static void writes(const char *who)
{
	char path[128], text[256];
	say("-- %s\n", who);
	for (unsigned i = 0; i < sizeof(FILES) / sizeof(*FILES); i++) {
		memcpy(path, "/proc/sys/net/", 14);
		int n = 0;
		do
			path[14 + n] = FILES[i][n];
		while (FILES[i][n++]);
		long fd = sys(__NR_open, path, 0, 0), got = fd < 0 ? fd : sys(__NR_read, fd, text, 255);
		sys(__NR_close, fd);
		if (got <= 0)
			text[0] = '0', text[1] = '\n', got = 2;
		fd = sys(__NR_open, path, 1, 0);
		if (fd < 0) {
			say("%s: open %r\n", FILES[i], fd);
			continue;
		}
		long put = sys(__NR_write, fd, text, got);
		say("%s: write %r\n", FILES[i], put == got ? 0 : put);
		sys(__NR_close, fd);
	}
}

static void as(const char *who, int uid, int gid, __u32 low, __u32 high, long spaces)
{
	struct header header = { 0x20080522, 0 };
	struct caps caps[2] = { { low, low, 0 }, { high, high, 0 } };
	long pid = sys(__NR_fork);
	if (!pid) {
		if (spaces)
			say("unshare %r\n", sys(__NR_unshare, spaces));
		sys(__NR_prctl, 8, 1, 0, 0, 0);
		sys(__NR_setgroups, 0, 0);
		if (gid)
			sys(__NR_setresgid, gid, gid, gid);
		if (uid)
			sys(__NR_setresuid, uid, uid, uid);
		say("capset %r\n", sys(__NR_capset, &header, caps));
		writes(who);
		sys(__NR_exit_group, 0);
	}
	sys(__NR_wait4, pid, 0, 0, 0);
}

int main(int argc, char **argv)
{
	as("root", 0, 0, ~0u, 0x1ff, 0);
	as("root without CAP_NET_ADMIN", 0, 0, ~0u & ~(1u << 12), 0x1ff, 0);
	as("root without any", 0, 0, 0, 0, 0);
	as("user", 1000, 1000, 0, 0, 0);
	as("user of root's group", 1000, 0, 0, 0, 0);
	as("user with CAP_NET_ADMIN", 1000, 1000, 1u << 12, 0, 0);
	as("user with CAP_DAC_OVERRIDE", 1000, 1000, 2, 0, 0);
	return 0;
}
