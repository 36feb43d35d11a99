/* Programs of security hooks on control groups (BPF_LSM_CGROUP): which hooks, how many, what they answer, who asks them; questions and links.  not: i386 not: s390x */
#include "tiny.h"
#include "tiny_bpf.h"
#include <linux/btf.h>

static struct bpf_insn code[40];
static int n;
static long notes, root, child;
#define E(...) (code[n++] = __VA_ARGS__)

static void note(int row)
{
	E(I(BPF_LD | BPF_DW | BPF_IMM, 1, BPF_PSEUDO_MAP_VALUE, 0, notes)), E(I(0, 0, 0, 0, 0)), E(LOAD(2, 1, 8 * row)), E(ADD(2, 1)), E(STORE(1, 2, 8 * row));
}

static long load(const char *hook, int answer, int flags)
{
	static char log[4000];
	memset(log, 0, 200);
	unsigned target = btf_id(hook, BTF_KIND_FUNC);
	E(SET(0, answer)), E(EXIT);
	attr.expected_attach_type = BPF_LSM_CGROUP, attr.attach_btf_id = target, attr.prog_flags = flags;
	attr.log_level = 1, attr.log_buf = (ulong)log, attr.log_size = sizeof(log);
	long fd = bpf_program(BPF_PROG_TYPE_LSM, code, n);
	n = 0;
	if (fd < 0) {
		char *end = log;
		while (*end && *end != '\n') end++;
		*end = 0;
		say(" %r '%s'", fd, log);
	}
	return fd;
}

static long attach(long group, long prog, int flags)
{
	attr.target_fd = group, attr.attach_bpf_fd = prog, attr.attach_type = BPF_LSM_CGROUP, attr.attach_flags = flags;
	return bpf(BPF_PROG_ATTACH);
}

static long detach(long group, long prog)
{
	attr.target_fd = group, attr.attach_bpf_fd = prog, attr.attach_type = BPF_LSM_CGROUP;
	return bpf(BPF_PROG_DETACH);
}

static void query(const char *what, long group, int flags, unsigned room)
{
	unsigned ids[32], each[32];
	memset(each, 0, sizeof(each));
	attr.query.target_fd = group, attr.query.attach_type = BPF_LSM_CGROUP, attr.query.query_flags = flags;
	attr.query.prog_ids = (ulong)ids, attr.query.prog_cnt = room, attr.query.prog_attach_flags = flags ? 0 : (ulong)each;
	union bpf_attr a = attr;
	memset(&attr, 0, sizeof(attr));
	long ret = sys(__NR_bpf, BPF_PROG_QUERY, &a, sizeof(a));
	say("  %s: %r", what, ret);
	say(" %d programs, flags %d, each", a.query.prog_cnt, a.query.attach_flags);
	for (unsigned i = 0; i < a.query.prog_cnt && i < room; i++)
		say(" %d", each[i]);
	say("\n");
}

static void noted(void)
{
	unsigned long long rows[4];
	bpf_element(BPF_MAP_LOOKUP_ELEM, notes, 0, rows);
	say("  noted %d %d %d %d\n", (int)rows[0], (int)rows[1], (int)rows[2], (int)rows[3]);
	memset(rows, 0, sizeof(rows));
	bpf_element(BPF_MAP_UPDATE_ELEM, notes, 0, rows);
}

static void asked(void)
{
	unsigned short address[8] = { 2, 0, 0x7f, 0x0100 };
	long fd = sys(__NR_socket, 2, 2, 0);
	say("  socket %r", fd < 0 ? fd : 0);
	say(" bind %r", sys(__NR_bind, fd, address, 16));
	say(" name %r\n", sys(__NR_getsockname, fd, address, (int[]){ 16 }));
	sys(__NR_close, fd);
}

static void hooks(void)
{
	static const char *const names[] = { "bpf_lsm_socket_post_create", "bpf_lsm_socket_bind", "bpf_lsm_sk_alloc_security", "bpf_lsm_sk_free_security", "bpf_lsm_inet_csk_clone",
		"bpf_lsm_file_open", "bpf_lsm_bprm_check_security", "bpf_lsm_task_alloc", "bpf_lsm_inode_free_security", "bpf_lsm_sb_free_security", "bpf_lsm_task_to_inode", "bpf_lsm_socket_create",
		"bpf_lsm_inode_getsecurity", "bpf_lsm_bpf", "bpf_lsm_capable", "bpf_lsm_socket_sock_rcv_skb", "bpf_lsm_unix_stream_connect", "bpf_lsm_cred_free", "bpf_lsm_sock_graft", "vfs_read", "bpf_lsm_inode_create" };
	for (int i = 0; i < (int)(sizeof(names) / sizeof(*names)); i++)
		for (int answer = 0; answer < 3; answer++) {
			say("%s answers %d:", names[i], answer);
			long fd = load(names[i], answer, 0);
			if (fd >= 0) {
				say(" loaded");
				if (answer == 1)
					say(", attach %r", attach(root, fd, BPF_F_ALLOW_MULTI)), say(" detach %r", detach(root, fd));
				sys(__NR_close, fd);
			}
			say("\n");
		}
	say("sleepable:");
	long fd = load("bpf_lsm_socket_bind", 1, BPF_F_SLEEPABLE);
	say(" %r\n", fd < 0 ? fd : attach(root, fd, 0));
	sys(__NR_close, fd);
}

static long decides(const char *hook, int row, int answer, int retval)
{
	note(row);
	if (retval)
		E(SET(1, retval)), E(CALL(BPF_FUNC_set_retval));
	return load(hook, answer, 0);
}

static void deciding(void)
{
	static const int rows[][2] = { { 1, 0 }, { 0, 0 }, { 1, -13 }, { 0, -13 }, { 0, -22 }, { 1, 1 }, { 0, 7 } };
	for (int i = 0; i < (int)(sizeof(rows) / sizeof(*rows)); i++) {
		say("binding: answer %d, told %d\n", rows[i][0], rows[i][1]);
		long fd = decides("bpf_lsm_socket_bind", 0, rows[i][0], rows[i][1]);
		if (fd < 0) {
			say("\n");
			continue;
		}
		say("  attach %r\n", attach(root, fd, 0));
		asked(), noted();
		say("  detach %r again %r\n", detach(root, fd), detach(root, fd));
		sys(__NR_close, fd);
	}
	asked(), noted();
}

static void levels(void)
{
	say("of two groups\n");
	long above = decides("bpf_lsm_socket_bind", 0, 1, 0), below = decides("bpf_lsm_socket_bind", 1, 0, 0), other = decides("bpf_lsm_socket_post_create", 2, 1, 0);
	spit("/sys/fs/cgroup/lsm/cgroup.procs", "0");
	say("  attach %r", attach(root, above, BPF_F_ALLOW_MULTI));
	say(" %r", attach(child, below, BPF_F_ALLOW_MULTI));
	say(" %r", attach(root, other, 0));
	say(" the same %r", attach(child, below, BPF_F_ALLOW_MULTI));
	say(" another way %r\n", attach(child, above, 0));
	asked(), noted();
	query("root", root, 0, 32), query("child", child, 0, 32), query("child's effective", child, BPF_F_QUERY_EFFECTIVE, 32), query("with little room", root, 0, 1);
	say("  detach %r\n", detach(child, below));
	asked(), noted();
	spit("/sys/fs/cgroup/cgroup.procs", "0");
	asked(), noted();
	say("  detach %r %r\n", detach(root, above), detach(root, other));
	query("root", root, 0, 32);
	sys(__NR_close, above), sys(__NR_close, below), sys(__NR_close, other);
}

static void linked(void)
{
	long prog = decides("bpf_lsm_socket_bind", 0, 0, 0), other = decides("bpf_lsm_socket_bind", 1, 1, 0), create = decides("bpf_lsm_socket_post_create", 2, 1, 0);
	attr.link_create.prog_fd = prog, attr.link_create.target_fd = root, attr.link_create.attach_type = BPF_LSM_CGROUP;
	long link = bpf(BPF_LINK_CREATE);
	say("link %r\n", link < 0 ? link : 0);
	asked(), noted(), query("root", root, 0, 32);
	struct bpf_link_info i;
	memset(&i, 0, sizeof(i));
	attr.info.bpf_fd = link, attr.info.info = (ulong)&i, attr.info.info_len = sizeof(i);
	long ret = bpf(BPF_OBJ_GET_INFO_BY_FD);
	say("  info %r type %d attach %d\n", ret, i.type, i.cgroup.attach_type);
	attr.link_update.link_fd = link, attr.link_update.new_prog_fd = create;
	say("  update to another hook %r", bpf(BPF_LINK_UPDATE));
	attr.link_update.link_fd = link, attr.link_update.new_prog_fd = other;
	say(" to another program %r\n", bpf(BPF_LINK_UPDATE));
	asked(), noted();
	attr.link_detach.link_fd = link;
	say("  detach %r\n", bpf(BPF_LINK_DETACH));
	asked(), noted();
	sys(__NR_close, link);
	attr.link_create.prog_fd = prog, attr.link_create.target_fd = root, attr.link_create.attach_type = BPF_CGROUP_INET_INGRESS;
	say("of another type %r", bpf(BPF_LINK_CREATE));
	attr.link_create.prog_fd = prog, attr.link_create.target_fd = root, attr.link_create.attach_type = BPF_LSM_MAC;
	say(" as of the whole machine %r", bpf(BPF_LINK_CREATE));
	attr.raw_tracepoint.prog_fd = prog;
	say(" raw %r\n", bpf(BPF_RAW_TRACEPOINT_OPEN));
	sys(__NR_close, prog), sys(__NR_close, other), sys(__NR_close, create);
}

static void many(void)
{
	static const char *const names[] = { "bpf_lsm_socket_post_create", "bpf_lsm_socket_bind", "bpf_lsm_socket_connect", "bpf_lsm_socket_listen", "bpf_lsm_socket_accept", "bpf_lsm_socket_sendmsg",
		"bpf_lsm_socket_recvmsg", "bpf_lsm_socket_getsockname", "bpf_lsm_socket_getpeername", "bpf_lsm_socket_getsockopt", "bpf_lsm_socket_setsockopt", "bpf_lsm_socket_shutdown" };
	long fds[12];
	say("of many hooks");
	for (int i = 0; i < 12; i++)
		fds[i] = load(names[i], 1, 0), say(" %r", fds[i] < 0 ? fds[i] : attach(root, fds[i], BPF_F_ALLOW_MULTI));
	say("\n");
	query("root", root, 0, 32);
	for (int i = 0; i < 12; i++)
		say(" %r", detach(root, fds[i])), sys(__NR_close, fds[i]);
	say("\n");
}

int main(int argc, char **argv)
{
	notes = bpf_map(BPF_MAP_TYPE_ARRAY, 4, 32, 1, 0);
	sys(__NR_mkdir, "/sys/fs/cgroup/lsm", 0755);
	root = sys(__NR_open, "/sys/fs/cgroup", 0), child = sys(__NR_open, "/sys/fs/cgroup/lsm", 0);
	hooks(), deciding(), levels(), linked(), many();
	flush();
	return 0;
}
