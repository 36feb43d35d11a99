/*
 * For programs of this folder that have programs of XDP on devices, and look at their events.
 */
#define LDW(d, s, o) I(BPF_LDX | BPF_MEM | BPF_W, d, s, o, 0)
#define EVENTS "/sys/kernel/tracing/events/xdp/"
#define LOAD_OF(code, expected) ({ attr.prog_type = BPF_PROG_TYPE_XDP, attr.expected_attach_type = expected, attr.insns = (ulong)code, attr.insn_cnt = sizeof(code) / sizeof(*code), attr.license = (ulong)"GPL"; \
	long fd = bpf(BPF_PROG_LOAD); if (fd < 0) say("load %r\n", fd); fd; })
#define MAP(r, fd) I(BPF_LD | BPF_DW | BPF_IMM, r, BPF_PSEUDO_MAP_FD, 0, (int)(fd)), I(0, 0, 0, 0, 0)

static int digit(char c) { return c >= '0' && c <= '9'; }
/* what the events said, without numbers of programs and maps; `ignored`: this line is not of interest */
static void traced(int (*ignored)(const char *from, const char *end))
{
	static char text[16384];
	nap(30);
	slurp("/sys/kernel/tracing/trace", text, sizeof(text));
	spit("/sys/kernel/tracing/trace", "");
	for (char *at = text; *at;) {
		char *end = at, *from = 0;
		while (*end && *end != '\n')
			end++;
		for (char *p = at; p + 4 < end && *at != '#'; p++)
			if (!from && p[0] == ':' && p[1] == ' ' && p[2] == 'x' && p[3] == 'd')
				from = p + 2;
		if (from && !(ignored && ignored(from, end))) {
			say("  ");
			for (char *p = from; p < end; p++) {
				put(*p);
				if (*p == '=' && (p[-2] == 'i' && p[-1] == 'd')) {
					put('N');
					while (digit(p[1]))
						p++;
				}
			}
			say("\n");
		}
		at = *end ? end + 1 : end;
	}
}

static void xdp(const char *dev, long prog) /* generic; -1: none */
{
	struct ifinfomsg *info = begin_message(RTM_SETLINK, 0, sizeof(*info));
	info->ifi_index = ifindex(dev);
	int fd = prog, flags = 2;
	open_nest(IFLA_XDP), attribute(IFLA_XDP_FD, &fd, 4), attribute(IFLA_XDP_FLAGS, &flags, 4), close_nest();
	send_message("xdp");
}
