/* Hashes as sockets (AF_ALG): binding, accepting, writing and reading, keys. */
#include "tiny.h"
#include <linux/if_alg.h>
#include <linux/socket.h>

#define AF_ALG 38
#define SOL_ALG 279
#define SEQPACKET 5
#define MORE 0x8000
#ifndef __NR_accept
#define accept(fd, a, n) sys(__NR_accept4, fd, a, n, 0)
#else
#define accept(fd, a, n) sys(__NR_accept, fd, a, n)
#endif
#define send(fd, text, flags) sys(__NR_sendto, fd, text, strlen(text), flags, 0, 0)

static long bind(long fd, const char *type, const char *name, unsigned feat, unsigned size)
{
	struct sockaddr_alg a;
	memset(&a, 0, sizeof(a));
	a.salg_family = AF_ALG;
	a.salg_feat = feat;
	memcpy(a.salg_type, type, strlen(type));
	memcpy(a.salg_name, name, strlen(name));
	return sys(__NR_bind, fd, &a, size);
}

static long named(const char *name)
{
	long fd = sys(__NR_socket, AF_ALG, SEQPACKET, 0);
	long r = bind(fd, "hash", name, 0, sizeof(struct sockaddr_alg));
	return r ? r : fd;
}

static void digest(long fd, long size)
{
	unsigned char out[80];
	memset(out, 0xee, sizeof(out));
	long n = sys(__NR_read, fd, out, size), i;
	say("  %r", n);
	for (i = 0; i < n && i < 64; i++)
		say("%s%x", out[i] < 16 ? "0" : "", out[i]);
	say("\n");
}

static void making(void)
{
	long fd;
	say("stream %r", sys(__NR_socket, AF_ALG, 1, 0));
	say(" datagram %r", sys(__NR_socket, AF_ALG, 2, 0));
	say(" protocol %r\n", sys(__NR_socket, AF_ALG, SEQPACKET, 1));
	fd = sys(__NR_socket, AF_ALG, SEQPACKET, 0);
	say("accept before bind %r", accept(fd, 0, 0));
	say(" key before bind %r", sys(__NR_setsockopt, fd, SOL_ALG, ALG_SET_KEY, "k", 1));
	say(" short %r", bind(fd, "hash", "sha1", 0, 24));
	say(" one letter %r", bind(fd, "hash", "s", 0, 25));
	say(" feat %r", bind(fd, "hash", "sha1", 1, sizeof(struct sockaddr_alg)));
	say(" driver only %r", bind(fd, "hash", "sha9", 0x1000, sizeof(struct sockaddr_alg)));
	say(" type %r", bind(fd, "sash", "sha1", 0, sizeof(struct sockaddr_alg)));
	say(" name %r\n", bind(fd, "hash", "sha1000", 0, sizeof(struct sockaddr_alg)));
	say("bind %r", bind(fd, "hash", "md5", 0, sizeof(struct sockaddr_alg)));
	say(" again %r", bind(fd, "hash", "sha1", 0, sizeof(struct sockaddr_alg)));
	say(" write %r", sys(__NR_write, fd, "x", 1));
	say(" read %r", sys(__NR_read, fd, &fd, 1));
	say(" listen %r", sys(__NR_listen, fd, 1));
	say(" shutdown %r", sys(__NR_shutdown, fd, 2));
	long size = 16;
	say(" name %r", sys(__NR_getsockname, fd, line + 4096, &size));
	say(" peer %r", sys(__NR_getpeername, fd, line + 4096, &size));
	say(" connect %r", sys(__NR_connect, fd, "\x26\0", 2));
	say(" key %r", sys(__NR_setsockopt, fd, SOL_ALG, ALG_SET_KEY, "key", 3));
	say(" option %r", sys(__NR_setsockopt, fd, SOL_ALG, 77, "key", 3));
	say(" level %r", sys(__NR_setsockopt, fd, 6, 1, "keyk", 4));
	say(" get %r\n", sys(__NR_getsockopt, fd, SOL_ALG, 1, line + 4096, &size));
	long op = accept(fd, 0, 0);
	say("accepted %r", op < 0 ? op : 0);
	say(" bind while used %r", bind(fd, "hash", "md5", 0, sizeof(struct sockaddr_alg)));
	say(" key while used %r", sys(__NR_setsockopt, fd, SOL_ALG, ALG_SET_KEY, "key", 3));
	say(" bind it %r", bind(op, "hash", "md5", 0, sizeof(struct sockaddr_alg)));
	say(" its key %r", sys(__NR_setsockopt, op, SOL_ALG, ALG_SET_KEY, "key", 3));
	say(" with an address %r\n", accept(fd, line + 4096, &size));
	sys(__NR_close, op);
	say("bind when closed %r\n", bind(fd, "hash", "sha1", 0, sizeof(struct sockaddr_alg)));
	sys(__NR_close, fd);
}

static void hashing(void)
{
	static const char *names[] = { "md5", "sha1", "sha224", "sha256" };
	for (int i = 0; i < 4; i++) {
		long fd = named(names[i]), op = accept(fd, 0, 0);
		say("%s\n", names[i]);
		digest(op, 80);
		say(" abc %r\n", sys(__NR_write, op, "abc", 3));
		digest(op, 80);
		digest(op, 80);
		say(" in parts %r", send(op, "a", MORE));
		say(" %r", send(op, "b", MORE));
		say(" %r\n", send(op, "c", 0));
		digest(op, 80);
		say(" read with more to come %r\n", send(op, "abc", MORE));
		digest(op, 80);
		digest(op, 80);
		say(" cut %r\n", send(op, "abc", 0));
		digest(op, 5);
		say(" two writes %r", send(op, "xyz", 0));
		say(" %r\n", send(op, "abc", 0));
		digest(op, 80);
		say(" a copy %r", send(op, "ab", MORE));
		long copy = accept(op, 0, 0);
		say(" %r", copy < 0 ? copy : 0);
		say(" %r", send(copy, "c", 0));
		say(" %r\n", send(op, "d", 0));
		digest(copy, 80);
		digest(op, 80);
		sys(__NR_close, copy);
		sys(__NR_close, op);
		sys(__NR_close, fd);
	}
}

static void keys(void)
{
	long fd = named("hmac(sha256)");
	say("hmac %r", fd < 0 ? fd : 0);
	say(" of nothing %r", named("hmac(nothing)"));
	long early = accept(fd, 0, 0);
	say(" accept without a key %r", early < 0 ? early : 0);
	say(" write %r", send(early, "abc", 0));
	say(" read %r", sys(__NR_read, early, line + 4096, 32));
	say(" bind %r", bind(fd, "hash", "md5", 0, sizeof(struct sockaddr_alg)));
	say(" key %r", sys(__NR_setsockopt, fd, SOL_ALG, ALG_SET_KEY, "key", 3));
	say(" now %r", send(early, "abc", 0));
	say(" another key %r\n", sys(__NR_setsockopt, fd, SOL_ALG, ALG_SET_KEY, "kez", 3));
	digest(early, 80);
	long op = accept(fd, 0, 0);
	say("with it %r\n", send(op, "abc", 0));
	digest(op, 80);
	sys(__NR_close, op);
	sys(__NR_close, early);
	say("another key %r\n", sys(__NR_setsockopt, fd, SOL_ALG, ALG_SET_KEY, "kez", 3));
	op = accept(fd, 0, 0);
	send(op, "abc", 0);
	digest(op, 80);
}

int main(int argc, char **argv)
{
	making();
	hashing();
	keys();
	return 0;
}
