/* Packet sockets with rings that a program and the kernel share, headers of virtual machines, groups of sockets. not: s390x i386 */
#include "tiny.h"
#include <linux/mman.h>
#include <linux/if_packet.h>
#include <linux/virtio_net.h>

#define ALL 0x0300 /* htons(ETH_P_ALL) */
#define IP 0x0008
#define RAW 3
#define DGRAM 2
static long udp, sink;
static unsigned char there[16] = { 2, 0, 5556 >> 8, 5556 & 255, 127, 0, 0, 1 };

static long set(long fd, int name, int value) { return sys(__NR_setsockopt, fd, 263, name, &value, 4); }
static long get(long fd, int name)
{
	int value = 0, size = 4;
	long ret = sys(__NR_getsockopt, fd, 263, name, &value, &size);
	return ret < 0 ? ret : value;
}
static long header(long fd, int version, int room)
{
	int size = room;
	long ret = sys(__NR_getsockopt, fd, 263, PACKET_HDRLEN, &version, &size);
	return ret < 0 ? ret : version;
}
static long packet_socket(int type, int protocol)
{
	struct sockaddr_ll at = { 17, protocol, 1 };
	long fd = sys(__NR_socket, 17, type, 0), ret = sys(__NR_bind, fd, &at, sizeof(at));
	if (fd < 0 || ret < 0)
		say("socket %r bind %r\n", fd, ret);
	return fd;
}
static long ring(long fd, int name, unsigned size, unsigned nr, unsigned frame, unsigned frames)
{
	struct tpacket_req3 r = { size, nr, frame, frames, 0, 0, 0 };
	return sys(__NR_setsockopt, fd, 263, name, &r, sizeof(r));
}
static void statistics(long fd)
{
	unsigned s[4] = { 0, 0, 0, 0 };
	int size = 16;
	long ret = sys(__NR_getsockopt, fd, 263, PACKET_STATISTICS, s, &size);
	say("  statistics %r size %d: %d %d %d\n", ret, size, s[0], s[1], s[2]);
}
static void send(int n, int length)
{
	static char text[3000];
	for (int i = 0; i < n; i++) {
		memset(text, 'a' + i % 26, length);
		sys(__NR_sendto, udp, text, length, 0, there, 16);
	}
}
static void drain(void)
{
	char text[8];
	while (sys(__NR_recvfrom, sink, text, 8, 0x40, 0, 0) >= 0)
		;
}
static void link(const char *what, const struct sockaddr_ll *l)
{
	say("%s family %d protocol %x ifindex %d hatype %d pkttype %d halen %d", what, l->sll_family, (long)l->sll_protocol, l->sll_ifindex, l->sll_hatype, l->sll_pkttype, l->sll_halen);
	say(" addr %d%d%d\n", l->sll_addr[0], l->sll_addr[1], l->sll_addr[5]);
}
static void bytes(const unsigned char *p, int n)
{
	for (int i = 0; i < n; i++)
		say("%x ", (long)p[i]);
	say("\n");
}

static void frames1(char *at, int size, int n, int release)
{
	for (int i = 0; i < n; i++) {
		struct tpacket_hdr *h = (void *)(at + i * size);
		say("  %d status %x", i, (long)h->tp_status);
		if (h->tp_status) {
			say(" len %d snap %d mac %d net %d sec %d", h->tp_len, h->tp_snaplen, h->tp_mac, h->tp_net, h->tp_sec > 0);
			say(" byte %x\n", (long)((unsigned char *)h)[h->tp_net + 28]);
			if (i == 0)
				link("  ", (void *)((char *)h + 32));
			if (release)
				h->tp_status = 0;
		} else
			say("\n");
	}
}
static void frames2(char *at, int size, int n, int release)
{
	for (int i = 0; i < n; i++) {
		struct tpacket2_hdr *h = (void *)(at + i * size);
		say("  %d status %x", i, (long)h->tp_status);
		if (h->tp_status) {
			say(" len %d snap %d mac %d net %d sec %d vlan %x %x", h->tp_len, h->tp_snaplen, h->tp_mac, h->tp_net, h->tp_sec > 0, (long)h->tp_vlan_tci, (long)h->tp_vlan_tpid);
			say(" byte %x\n", (long)((unsigned char *)h)[h->tp_net + 28]);
			if (i == 0)
				link("  ", (void *)((char *)h + 32));
			if (release)
				h->tp_status = 0;
		} else
			say("\n");
	}
}

static void errors(void)
{
	long fd = packet_socket(RAW, IP), other;
	say("version %r", get(fd, PACKET_VERSION));
	say(" 3 %r", set(fd, PACKET_VERSION, 3));
	say(" -1 %r\n", set(fd, PACKET_VERSION, -1));
	for (int v = -1; v < 4; v++)
		say("header %d: %r\n", v, header(fd, v, 4));
	say("room %r %r\n", header(fd, 1, 3), header(fd, 1, 8));
	static const unsigned shapes[][4] = {
		{ 4096, 1, 512, 8 }, { 4096, 1, 512, 7 }, { 4096, 1, 500, 8 }, { 4095, 1, 512, 8 }, { 0, 1, 512, 8 }, { 4096, 0, 512, 8 }, { 4096, 0, 0, 0 },
		{ 4096, 1, 48, 85 }, { 4096, 1, 52, 78 }, { 4096, 1, 64, 64 }, { 0x80000000, 1, 4096, 1 }, { 4096, 1, 8192, 1 }, { 8192, 2, 4096, 4 }, { 4096, 0x20000000, 16, 1 },
	};
	for (int v = 0; v < 3; v++) {
		say("as version %d\n", v);
		for (unsigned i = 0; i < sizeof(shapes) / sizeof(*shapes); i++) {
			other = packet_socket(RAW, IP);
			set(other, PACKET_VERSION, v);
			say(" %d %d %d %d: receive %r", shapes[i][0], shapes[i][1], shapes[i][2], shapes[i][3], ring(other, PACKET_RX_RING, shapes[i][0], shapes[i][1], shapes[i][2], shapes[i][3]));
			say(" send %r\n", ring(other, PACKET_TX_RING, shapes[i][0], shapes[i][1], shapes[i][2], shapes[i][3]));
			sys(__NR_close, other);
		}
	}
	struct tpacket_req3 r = { 4096, 2, 2048, 4, 0, 0, 0 };
	say("short %r %r", sys(__NR_setsockopt, fd, 263, PACKET_RX_RING, &r, 15), sys(__NR_setsockopt, fd, 263, PACKET_RX_RING, 8, 16));
	set(fd, PACKET_VERSION, 2);
	say(" %r", sys(__NR_setsockopt, fd, 263, PACKET_RX_RING, &r, 16));
	r.tp_retire_blk_tov = 5;
	say(" send with a time %r", sys(__NR_setsockopt, fd, 263, PACKET_TX_RING, &r, 28));
	r.tp_retire_blk_tov = 0, r.tp_sizeof_priv = 2000;
	say(" private %r", sys(__NR_setsockopt, fd, 263, PACKET_RX_RING, &r, 28));
	r.tp_sizeof_priv = 4000;
	say(" %r\n", sys(__NR_setsockopt, fd, 263, PACKET_RX_RING, &r, 28));
	say("with a ring: version %r reserve %r loss %r vnet %r", set(fd, PACKET_VERSION, 0), set(fd, PACKET_RESERVE, 8), set(fd, PACKET_LOSS, 1), set(fd, PACKET_VNET_HDR, 1));
	say(" off %r", set(fd, PACKET_TX_HAS_OFF, 1));
	say(" %r again %r", get(fd, PACKET_TX_HAS_OFF), ring(fd, PACKET_RX_RING, 4096, 1, 2048, 2));
	say(" read %r\n", get(fd, PACKET_RX_RING));
	say("map: none %r", (long)map(0, 8192, 3, MAP_PRIVATE | MAP_ANONYMOUS, fd, 0) > 0);
	say(" small %r large %r at %r", (long)map(0, 4096, 3, MAP_SHARED, fd, 0), (long)map(0, 12288, 3, MAP_SHARED, fd, 0), (long)map(0, 8192, 3, MAP_SHARED, fd, 4096));
	char *m = map(0, 8192, 3, MAP_SHARED, fd, 0);
	say(" right %d\n", !bad(m));
	say("mapped: gone %r", ring(fd, PACKET_RX_RING, 0, 0, 0, 0));
	say(" resized %r send %r", ring(fd, PACKET_RX_RING, 4096, 1, 2048, 2), ring(fd, PACKET_TX_RING, 4096, 1, 2048, 2));
	say(" remap %d", sys(__NR_mremap, m, 8192, 4096, 0) > 0);
	say(" %r\n", sys(__NR_mremap, m, 4096, 8192, 1) > 0);
	say("unmap %r", sys(__NR_munmap, m, 8192));
	say(" gone %r", ring(fd, PACKET_RX_RING, 0, 0, 0, 0));
	say(" map %r version %r\n", (long)map(0, 8192, 3, MAP_SHARED, fd, 0), set(fd, PACKET_VERSION, 0));
	sys(__NR_close, fd);
}

static void version1(void)
{
	say("version 1\n");
	long fd = packet_socket(RAW, IP);
	say(" ring %r", ring(fd, PACKET_RX_RING, 4096, 1, 512, 8));
	char *m = map(0, 4096, 3, MAP_SHARED, fd, 0);
	say(" map %d poll %x\n", !bad(m), (long)polled(fd, 0x1f));
	send(3, 20);
	say(" poll %x\n", (long)polled(fd, 0x1f));
	frames1(m, 512, 8, 0);
	bytes((unsigned char *)m + ((struct tpacket_hdr *)m)->tp_mac, 18);
	say(" read %r\n", sys(__NR_recvfrom, fd, there, 0, 0x40, 0, 0));
	statistics(fd);
	send(7, 600);
	frames1(m, 512, 8, 1);
	statistics(fd);
	say(" poll %x\n", (long)polled(fd, 0x1f));
	send(1, 1);
	frames1(m, 512, 8, 1);
	send(9, 5), statistics(fd), frames1(m, 512, 3, 1);
	send(4, 5), frames1(m, 512, 8, 1), statistics(fd);
	say(" keep %r\n", set(fd, PACKET_COPY_THRESH, 1));
	send(2, 900);
	frames1(m, 512, 8, 1);
	static char text[2000];
	struct sockaddr_ll from;
	int size = sizeof(from);
	say(" whole %r", sys(__NR_recvfrom, fd, text, 2000, 0x40, &from, &size));
	say(" size %d\n", size);
	link("  ", &from);
	say(" %r", sys(__NR_recvfrom, fd, text, 2000, 0x40, 0, 0)), say(" %r\n", sys(__NR_recvfrom, fd, text, 2000, 0x40, 0, 0));
	struct { unsigned short code; unsigned char jt, jf; unsigned k; } ret[1] = { { 6, 0, 0, 30 } };
	struct { unsigned short n; void *p; } prog = { 1, ret };
	say(" filter %r\n", sys(__NR_setsockopt, fd, 1, 26, &prog, 16));
	send(1, 50), frames1(m, 512, 8, 1);
	sys(__NR_close, fd);
	say(" after close: %x", (long)((struct tpacket_hdr *)m)->tp_status), send(1, 5), say(" unmap %r\n", sys(__NR_munmap, m, 4096));
}

static void version2(int type)
{
	say("version 2, type %d\n", type);
	long fd = packet_socket(type, ALL);
	say(" version %r reserve %r", set(fd, PACKET_VERSION, 1), set(fd, PACKET_RESERVE, 24));
	say(" ring %r\n", ring(fd, PACKET_RX_RING, 8192, 2, 1024, 16));
	char *m = map(0, 16384, 3, MAP_SHARED, fd, 0);
	send(2, 30);
	frames2(m, 1024, 6, 1);
	statistics(fd);
	say(" stamp %r", set(fd, PACKET_TIMESTAMP, 16)), send(1, 3), frames2(m, 1024, 7, 1);
	say(" outgoing %r", set(fd, PACKET_IGNORE_OUTGOING, 1)), send(1, 3), frames2(m, 1024, 9, 1);
	long pid = fork();
	if (!pid)
		leave(sys(__NR_munmap, m, 16384));
	say(" child %d", wait_for(pid));
	say(" gone %r", ring(fd, PACKET_RX_RING, 0, 0, 0, 0));
	sys(__NR_munmap, m, 16384);
	say(" %r", ring(fd, PACKET_RX_RING, 0, 0, 0, 0));
	send(1, 30), say(" packet %r\n", sys(__NR_recvfrom, fd, there, 0, 0x40 | 0x20, 0, 0));
	sys(__NR_close, fd);
}

static void block(char *at, int release)
{
	struct tpacket_block_desc *b = (void *)at;
	say("  block version %d private at %d status %x", b->version, b->offset_to_priv, (long)b->hdr.bh1.block_status);
	say(" packets %d first at %d length %d number %L stamps %d %d\n", b->hdr.bh1.num_pkts, b->hdr.bh1.offset_to_first_pkt, b->hdr.bh1.blk_len, (long long)b->hdr.bh1.seq_num, b->hdr.bh1.ts_first_pkt.ts_sec > 0,
	    b->hdr.bh1.ts_last_pkt.ts_sec > 0);
	char *p = at + b->hdr.bh1.offset_to_first_pkt;
	for (unsigned i = 0; i < b->hdr.bh1.num_pkts; i++) {
		struct tpacket3_hdr *h = (void *)p;
		say("   next %d status %x len %d snap %d mac %d net %d vlan %x %x sec %d byte %x\n", h->tp_next_offset, (long)h->tp_status, h->tp_len, h->tp_snaplen, h->tp_mac, h->tp_net, (long)h->hv1.tp_vlan_tci,
		    (long)h->hv1.tp_vlan_tpid, h->tp_sec > 0, (long)((unsigned char *)h)[h->tp_net + 28]);
		if (!i)
			link("   ", (void *)(p + 48));
		p += h->tp_next_offset;
	}
	if (release)
		b->hdr.bh1.block_status = 0;
}
static void version3(void)
{
	say("version 3\n");
	long fd = packet_socket(RAW, IP);
	struct tpacket_req3 r = { 4096, 3, 2048, 6, 60, 13, 0 };
	set(fd, PACKET_VERSION, 2);
	say(" ring %r", sys(__NR_setsockopt, fd, 263, PACKET_RX_RING, &r, 28));
	char *m = map(0, 3 * 4096, 3, MAP_SHARED, fd, 0);
	say(" map %d poll %x\n", !bad(m), (long)polled(fd, 0x1f));
	send(2, 30);
	say(" poll %x\n", (long)polled(fd, 0x1f));
	block(m, 0);
	nap(200);
	say(" later poll %x\n", (long)polled(fd, 0x1f));
	block(m, 0), block(m + 4096, 0), block(m + 8192, 0);
	statistics(fd);
	send(8, 900);
	say(" poll %x\n", (long)polled(fd, 0x1f));
	block(m, 0), block(m + 4096, 0), block(m + 8192, 0);
	statistics(fd);
	send(1, 40), statistics(fd);
	block(m, 1), block(m + 4096, 1);
	send(1, 41), statistics(fd);
	nap(200);
	block(m, 1), block(m + 4096, 1), block(m + 8192, 1);
	send(1, 42), nap(200);
	block(m, 1), block(m + 4096, 1), block(m + 8192, 1);
	say(" long frame"), send(1, 2900), nap(200), say(" \n");
	block(m, 1), block(m + 4096, 1), block(m + 8192, 1);
	statistics(fd);
	sys(__NR_close, fd);
}

static unsigned char frame[] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 8, 0,
	0x45, 0, 0, 32, 0, 1, 0, 0, 64, 17, 0x7c, 0xca, 127, 0, 0, 1, 127, 0, 0, 1, 5555 >> 8, 5555 & 255, 5556 >> 8, 5556 & 255, 0, 12, 0, 0, 't', 'e', 's', 't' };
static void arrived(void)
{
	char text[64];
	for (;;) {
		long n = sys(__NR_recvfrom, sink, text, 63, 0x40, 0, 0);
		say(" %r", n);
		if (n < 0)
			break;
		text[n] = 0;
		say(":%s", text);
	}
	say("\n");
}
static long want(char *m, int v, int i, int size, unsigned length)
{
	char *h = m + i * size;
	int skip = 14 * (length < 40);
	memcpy(h + (v == 2 ? 48 : 32), frame + skip, sizeof(frame) - skip);
	if (v == 0)
		((struct tpacket_hdr *)h)->tp_len = length, ((struct tpacket_hdr *)h)->tp_status = 1;
	else if (v == 1)
		((struct tpacket2_hdr *)h)->tp_len = length, ((struct tpacket2_hdr *)h)->tp_status = 1;
	else
		((struct tpacket3_hdr *)h)->tp_len = length, ((struct tpacket3_hdr *)h)->tp_status = 1;
	return 0;
}
static long state(char *m, int v, int i, int size)
{
	char *h = m + i * size;
	return v == 0 ? (long)((struct tpacket_hdr *)h)->tp_status : v == 1 ? ((struct tpacket2_hdr *)h)->tp_status : ((struct tpacket3_hdr *)h)->tp_status;
}
static void sends(int v, int type)
{
	say("send, version %d type %d\n", v + 1, type);
	long fd = packet_socket(type, 0);
	struct sockaddr_ll to = { 17, IP, 1, 0, 0, 6, { 0 } };
	int length = type == RAW ? 46 : 32;
	set(fd, PACKET_VERSION, v);
	say(" ring %r", ring(fd, PACKET_TX_RING, 4096, 1, 512, 8));
	char *m = map(0, 4096, 3, MAP_SHARED, fd, 0);
	say(" map %d poll %x\n", !bad(m), (long)polled(fd, 0x1f));
	say(" nothing %r\n", sys(__NR_sendto, fd, 0, 0, 0x40, 0, 0));
	for (int i = 0; i < 3; i++)
		want(m, v, i, 512, length);
	say(" send %r", sys(__NR_sendto, fd, 0, 0, 0, &to, sizeof(to)));
	say(" %x %x %x %x arrived", state(m, v, 0, 512), state(m, v, 1, 512), state(m, v, 2, 512), state(m, v, 3, 512)), arrived();
	want(m, v, 3, 512, 5000), want(m, v, 4, 512, length);
	say(" too long %r", sys(__NR_sendto, fd, 0, 0, 0, &to, sizeof(to)));
	say(" %x %x", state(m, v, 3, 512), state(m, v, 4, 512));
	say(" again %r", sys(__NR_sendto, fd, 0, 0, 0x40, &to, sizeof(to)));
	want(m, v, 3, 512, 479);
	say(" too long by little %r", sys(__NR_sendto, fd, 0, 0, 0x40, &to, sizeof(to)));
	want(m, v, 3, 512, 4);
	say(" short %r", sys(__NR_sendto, fd, 0, 0, 0x40, &to, sizeof(to)));
	say(" %x", state(m, v, 3, 512)), arrived();
	want(m, v, 3, 512, length);
	say(" mended %r", sys(__NR_sendto, fd, 0, 0, 0x40, &to, sizeof(to))), arrived();
	say(" unnamed device %r", (to.sll_ifindex = 77, sys(__NR_sendto, fd, 0, 0, 0x40, &to, sizeof(to))));
	to.sll_ifindex = 1;
	say(" short name %r", sys(__NR_sendto, fd, 0, 0, 0x40, &to, 10));
	say(" no protocol"), want(m, v, 5, 512, length), say(" %r", sys(__NR_sendto, fd, 0, 0, 0x40, 0, 0)), arrived();
	say(" poll %x\n", (long)polled(fd, 0x1f));
	sys(__NR_munmap, m, 4096);
	say(" gone %r", ring(fd, PACKET_TX_RING, 0, 0, 0, 0));
	say(" loss %r off %r", set(fd, PACKET_LOSS, 1), set(fd, PACKET_TX_HAS_OFF, 1));
	say(" ring %r\n", ring(fd, PACKET_TX_RING, 4096, 1, 512, 8));
	m = map(0, 4096, 3, MAP_SHARED, fd, 0);
	want(m, v, 0, 512, 5000), want(m, v, 1, 512, length);
	int at = v == 2 ? 48 : 32;
	if (v == 0)
		((struct tpacket_hdr *)(m + 512))->tp_mac = ((struct tpacket_hdr *)(m + 512))->tp_net = at;
	else if (v == 1)
		((struct tpacket2_hdr *)(m + 512))->tp_mac = ((struct tpacket2_hdr *)(m + 512))->tp_net = at;
	else
		((struct tpacket3_hdr *)(m + 512))->tp_mac = ((struct tpacket3_hdr *)(m + 512))->tp_net = at;
	want(m, v, 2, 512, length);
	say(" send %r", sys(__NR_sendto, fd, 0, 0, 0x40, &to, sizeof(to)));
	say(" %x %x %x", state(m, v, 0, 512), state(m, v, 1, 512), state(m, v, 2, 512)), arrived();
	sys(__NR_close, fd);
}

static void virtual(void)
{
	say("headers of virtual machines\n");
	long fd = packet_socket(DGRAM, IP);
	say(" of datagrams %r\n", set(fd, PACKET_VNET_HDR, 1));
	sys(__NR_close, fd);
	fd = packet_socket(RAW, IP);
	say(" %r", set(fd, PACKET_VNET_HDR, 5)), say(" is %r\n", get(fd, PACKET_VNET_HDR));
	unsigned char text[256];
	send(1, 40);
	say(" read %r: ", sys(__NR_recvfrom, fd, text, 256, 0x40, 0, 0)), bytes(text, 12);
	send(1, 40);
	say(" in little room %r", sys(__NR_recvfrom, fd, text, 9, 0x40, 0, 0)), say(" %r\n", sys(__NR_recvfrom, fd, text, 20, 0x60, 0, 0));
	drain();
	struct { struct virtio_net_hdr v; unsigned char f[46]; } __attribute__((packed)) out = { { 0 } };
	struct sockaddr_ll to = { 17, IP, 1, 0, 0, 6, { 0 } };
	memcpy(out.f, frame, 46);
	say(" send %r", sys(__NR_sendto, fd, &out, sizeof(out), 0, &to, sizeof(to))), arrived();
	say(" short %r", sys(__NR_sendto, fd, &out, 9, 0, &to, sizeof(to)));
	out.v.hdr_len = 60;
	say(" header too long %r", sys(__NR_sendto, fd, &out, sizeof(out), 0, &to, sizeof(to)));
	out.v.hdr_len = 0, out.v.flags = 1, out.v.csum_start = 34, out.v.csum_offset = 6;
	say(" sum %r", sys(__NR_sendto, fd, &out, sizeof(out), 0, &to, sizeof(to))), arrived();
	out.v.csum_start = 44;
	say(" sum behind %r", sys(__NR_sendto, fd, &out, sizeof(out), 0, &to, sizeof(to))), arrived();
	out.v.flags = 0, out.v.gso_type = 77;
	say(" kind %r\n", sys(__NR_sendto, fd, &out, sizeof(out), 0, &to, sizeof(to)));
	sys(__NR_close, fd);
	fd = packet_socket(RAW, IP);
	set(fd, PACKET_VNET_HDR, 1), ring(fd, PACKET_RX_RING, 4096, 1, 512, 8);
	char *m = map(0, 4096, 3, MAP_SHARED, fd, 0);
	send(1, 20);
	frames1(m, 512, 2, 0);
	bytes((unsigned char *)m + ((struct tpacket_hdr *)m)->tp_mac - 10, 12);
	sys(__NR_close, fd);
}

static long group(long fd, int id, int type) { return set(fd, PACKET_FANOUT, id | type << 16); }
static int waiting(long fd)
{
	char text[8];
	int n = 0;
	while (sys(__NR_recvfrom, fd, text, 8, 0x40, 0, 0) >= 0)
		n++;
	return n;
}
static void groups(void)
{
	say("groups\n");
	long a = packet_socket(RAW, IP), b = packet_socket(RAW, IP), c = packet_socket(RAW, IP), d = packet_socket(RAW, ALL), e = sys(__NR_socket, 17, RAW, 0);
	say(" none %x", get(a, PACKET_FANOUT));
	for (int type = 0; type < 10; type++) {
		long t = packet_socket(RAW, IP);
		say(" %d: %r", type, group(t, 100 + type, type));
		say(" %x", get(t, PACKET_FANOUT));
		sys(__NR_close, t);
	}
	say("\n in turn %r %r %r", group(a, 7, 1), group(b, 7, 1), group(c, 7, 1));
	say(" again %r other kind %r unbound %r", group(a, 7, 1), group(d, 7, 0), group(e, 7, 1));
	say(" other protocol %r is %x\n", group(d, 7, 1), get(b, PACKET_FANOUT));
	struct sockaddr_ll at = { 17, IP, 1 };
	say(" bind %r", sys(__NR_bind, a, &at, sizeof(at)));
	int small = 7;
	say(" short %r data %r stats %r\n", sys(__NR_setsockopt, d, 263, PACKET_FANOUT, &small, 3), set(a, PACKET_FANOUT_DATA, 3), get(a, PACKET_ROLLOVER_STATS));
	send(4, 10);
	say(" got %d %d %d", waiting(a), waiting(b), waiting(c)), send(1, 10), say(" then %d %d %d\n", waiting(a), waiting(b), waiting(c));
	sys(__NR_close, a), send(6, 10);
	say(" without the first %d %d", waiting(b), waiting(c));
	sys(__NR_close, b), sys(__NR_close, c), sys(__NR_close, d);
	a = packet_socket(RAW, IP), b = packet_socket(RAW, IP);
	say(" by flow %r %r", group(a, 7, 0), group(b, 7, 0)), send(5, 10);
	int x = waiting(a), y = waiting(b);
	say(" together %d sum %d\n", x == 0 || y == 0, x + y);
	sys(__NR_close, a), sys(__NR_close, b);
	a = packet_socket(RAW, IP), b = packet_socket(RAW, IP);
	say(" unique %r with a number %r", group(a, 0, 0x2001), group(b, 5, 0x2001)), say(" is %x\n", get(a, PACKET_FANOUT) & 0xffff0000);
	struct fanout_args args = { 0 };
	args.id = 9, args.type_flags = 1, args.max_num_members = 1;
	long t = packet_socket(RAW, IP), u = packet_socket(RAW, IP);
	say(" at most one %r", sys(__NR_setsockopt, t, 263, PACKET_FANOUT, &args, 8));
	say(" %r", sys(__NR_setsockopt, u, 263, PACKET_FANOUT, &args, 8));
	args.max_num_members = 2, say(" %r", sys(__NR_setsockopt, u, 263, PACKET_FANOUT, &args, 8));
	args.id = 10, args.max_num_members = 65537, say(" many %r", sys(__NR_setsockopt, u, 263, PACKET_FANOUT, &args, 8));
	say(" flags %r", (args.max_num_members = 0, args.type_flags = 0x8001, sys(__NR_setsockopt, u, 263, PACKET_FANOUT, &args, 8)));
	say(" %r\n", group(b, 10, 1));
	sys(__NR_close, a), sys(__NR_close, b), sys(__NR_close, t), sys(__NR_close, u);
	a = packet_socket(RAW, IP), b = packet_socket(RAW, IP);
	struct { unsigned short code; unsigned char jt, jf; unsigned k; } one[1] = { { 6, 0, 0, 1 } };
	struct { unsigned short n; void *p; } prog = { 1, one };
	say(" program %r %r", group(a, 11, 6), group(b, 11, 6)), say(" data %r", sys(__NR_setsockopt, a, 263, PACKET_FANOUT_DATA, &prog, 16)), send(3, 9);
	say(" got %d %d\n", waiting(a), waiting(b));
	sys(__NR_close, a), sys(__NR_close, b);
	a = packet_socket(RAW, IP), b = packet_socket(RAW, IP);
	say(" roll over %r %r", group(a, 12, 3), group(b, 12, 3));
	unsigned long long stats[3] = { 9, 9, 9 };
	int size = 24;
	say(" rings %r %r", ring(a, PACKET_RX_RING, 4096, 1, 1024, 4), ring(b, PACKET_RX_RING, 4096, 1, 1024, 4)), send(7, 9);
	char *m = map(0, 4096, 3, MAP_SHARED, a, 0), *n = map(0, 4096, 3, MAP_SHARED, b, 0);
	say("\n"), frames1(m, 1024, 4, 0), frames1(n, 1024, 4, 0);
	statistics(a), statistics(b);
	say(" stats %r", sys(__NR_getsockopt, b, 263, PACKET_ROLLOVER_STATS, stats, &size)), say(" size %d all %L huge %L failed %L\n", size, stats[0], stats[1], stats[2]);
}

int main(int argc, char **argv)
{
	struct { char name[16]; short flags; char rest[22]; } up = { "lo", 0x49, "" };
	unsigned char here[16] = { 2, 0, 5555 >> 8, 5555 & 255, 127, 0, 0, 1 };
	sys(__NR_alarm, 60);
	udp = sys(__NR_socket, 2, 2, 0), sink = sys(__NR_socket, 2, 2, 0);
	sys(__NR_ioctl, udp, 0x8914, &up);
	spit("/proc/sys/net/ipv4/conf/lo/route_localnet", "1"), spit("/proc/sys/net/ipv4/conf/lo/accept_local", "1");
	spit("/proc/sys/net/ipv4/conf/all/rp_filter", "0"), spit("/proc/sys/net/ipv4/conf/lo/rp_filter", "0");
	sys(__NR_bind, udp, here, 16), sys(__NR_bind, sink, there, 16);
	errors();
	version1(), drain();
	version2(RAW), version2(DGRAM), drain();
	version3(), drain();
	for (int v = 0; v < 3; v++)
		sends(v, RAW), sends(v, DGRAM);
	virtual(), drain();
	groups();
	return 0;
}
