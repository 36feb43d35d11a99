/* Keys: every command with strange arguments, every type, what each bit of permission opens, /proc/keys, sessions over fork and changes of user. */
#include "tiny.h"
#include <linux/keyctl.h>

#ifndef __NR_setresuid32
#define __NR_setresuid32 __NR_setresuid
#define __NR_setresgid32 __NR_setresgid
#define __NR_setgroups32 __NR_setgroups
#endif
#define ctl(...) sys(__NR_keyctl, __VA_ARGS__)
static long sign(long v) { return v < 0 ? v : 0; }
static long add(const char *type, const char *name, const char *data, long ring)
{
	return sys(__NR_add_key, type, name, data, data ? strlen(data) : 0, ring);
}
static char text[65536];
static void described(const char *what, long key)
{
	long n = ctl(KEYCTL_DESCRIBE, key, text, 256);
	say("%s: %r %s\n", what, n, n > 0 ? text : "");
}
/* the line of a key in /proc/keys, without its number */
static void listed(const char *what, long key)
{
	char number[9];
	for (int i = 0; i < 8; i++)
		number[i] = "0123456789abcdef"[key >> (28 - 4 * i) & 15];
	number[8] = 0;
	long n = slurp("/proc/keys", text, sizeof(text));
	for (char *p = text; n > 0 && *p;) {
		char *end = p;
		while (*end && *end != '\n') end++;
		char had = *end;
		*end = 0;
		if (!memcmp(p, number, 8)) {
			for (char *q = p; *q; q++)
				if (!memcmp(q, " 2d ", 4)) q[1] = '3'; /* a second has begun since */
			say("%s:%s\n", what, p + 8);
			return;
		}
		p = had ? end + 1 : end;
	}
	say("%s: not listed %r\n", what, n < 0 ? n : 0L);
}

static void commands(void)
{
	static const struct { const char *name; long number; } all[] = {
		{ "get_keyring_id", 0 }, { "update", 2 }, { "revoke", 3 }, { "chown", 4 }, { "setperm", 5 }, { "describe", 6 },
		{ "clear", 7 }, { "link", 8 }, { "unlink", 9 }, { "search", 10 }, { "read", 11 }, { "instantiate", 12 }, { "negate", 13 },
		{ "set_reqkey", 14 }, { "set_timeout", 15 }, { "assume", 16 }, { "get_security", 17 }, { "reject", 19 }, { "instantiate_iov", 20 },
		{ "invalidate", 21 }, { "get_persistent", 22 }, { "dh_compute", 23 }, { "pkey_query", 24 }, { "pkey_encrypt", 25 }, { "pkey_decrypt", 26 },
		{ "pkey_sign", 27 }, { "pkey_verify", 28 }, { "restrict", 29 }, { "move", 30 }, { "capabilities", 31 }, { "watch", 32 }, { "33", 33 }, { "-1", -1 },
	};
	for (unsigned i = 0; i < sizeof(all) / sizeof(*all); i++) {
		long n = all[i].number;
		if (n == 12) { /* where user memory ends is the CPU's */
			say("instantiate: %r %r %r long %r\n", ctl(n, 0, 0, 0, 0), ctl(n, 0x7ffffff0, 8, 16, 1), ctl(n, 1, 0, 5, 0), ctl(n, 1, 4096, 1 << 20, 0));
			continue;
		}
		say("%s: zeros %r none %r number %r ids %r bad pointers %r\n", all[i].name, sign(ctl(n, 0, 0, 0, 0)), sign(ctl(n, 0x7ffffff0, 0, 0, 0)),
		    sign(ctl(n, 0x7ffffff0, 8, 16, 1)), sign(ctl(n, -9, -9, -9, -9)), sign(ctl(n, 8, 8, 8, 8)));
	}
}

static void types(void)
{
	static const char *const names[] = { "user", "logon", "keyring", "big_key", "asymmetric", "trusted", "dns_resolver", "id_resolver",
		"id_legacy", "rxrpc", "rxrpc_s", "ceph", "cifs.spnego", "blacklist", "pkcs7_test", ".request_key_auth", ".blacklist", "fscrypt-provisioning", "user ", "User" };
	static const char *const datas[] = { 0, "", "x", "new user:m 32", "new master 32", "load x", "update a", "-----" };
	for (unsigned i = 0; i < sizeof(names) / sizeof(*names); i++) {
		say("%s:", names[i]);
		for (unsigned j = 0; j < 8; j++) {
			long key = add(names[i], "de:sc", datas[j], -3);
			say(" %r", sign(key));
		}
		say(" request %r search %r restrict %r\n", sign(sys(__NR_request_key, names[i], "nope", 0, 0)), sign(ctl(KEYCTL_SEARCH, -3, names[i], "nope", 0)),
		    ctl(KEYCTL_RESTRICT_KEYRING, add("keyring", "r", 0, -3), names[i], "x"));
	}
	static const char *const descriptions[] = { "", ".", ".a", "a", ":", ":a", "a:", "a:b", "a b", "\n", "user:", "%" };
	for (unsigned j = 0; j < sizeof(descriptions) / sizeof(*descriptions); j++) {
		say("description %d:", (int)j);
		for (int i = 0; i < 4; i++)
			say(" %r", sign(add(names[i], descriptions[j], i == 2 ? 0 : "v", -3)));
		say(" request %r\n", sign(sys(__NR_request_key, "user", descriptions[j], 0, 0)));
	}
	memset(text, 'd', sizeof(text));
	static const int lengths[] = { 1, 4094, 4095, 4096, 4097, 5000 };
	for (int i = 0; i < 6; i++) {
		text[lengths[i]] = 0;
		long key = sys(__NR_add_key, "user", text, "v", 1, -3);
		say("description of %d: %r request %r search %r join %r\n", lengths[i], sign(key), sign(sys(__NR_request_key, "user", text, 0, 0)),
		    sign(ctl(KEYCTL_SEARCH, -3, "user", text, 0)), sign(fork() ? 0 : (leave(0), 0)));
		text[lengths[i]] = 'd';
	}
	static const long sizes[] = { 0, 1, 32767, 32768, 1048575, 1048576, -1 };
	char *big = map(0, 1 << 20, 3, 0x22, -1, 0);
	for (int i = 0; i < 7; i++)
		say("payload of %l: user %r logon %r big %r keyring %r\n", sizes[i], sign(sys(__NR_add_key, "user", "p", big, sizes[i], -3)),
		    sign(sys(__NR_add_key, "logon", "p:q", big, sizes[i], -3)), sign(sys(__NR_add_key, "big_key", "p", big, sizes[i], -3)),
		    sign(sys(__NR_add_key, "keyring", "p", big, sizes[i], -3)));
	long key = sys(__NR_add_key, "big_key", "large", big, 100000, -3);
	say("big key %r read %r little %r all %r update %r longer %r\n", sign(key), ctl(KEYCTL_READ, key, 0, 0), ctl(KEYCTL_READ, key, text, 5), ctl(KEYCTL_READ, key, big, 1 << 20),
	    ctl(KEYCTL_UPDATE, key, big, 10), ctl(KEYCTL_UPDATE, key, big, 5000));
	described("big", key);
	listed("big", key);
	ctl(KEYCTL_UPDATE, key, big, 10);
	listed("small", key);
	say("clear %r\n", ctl(KEYCTL_CLEAR, -3));
}

/* what one bit for one class of people opens */
static long as_whom;
static void may(long key, long ring, int bit)
{
	say("  bit %d: describe %r read %r", bit, sign(ctl(KEYCTL_DESCRIBE, key, 0, 0)), sign(ctl(KEYCTL_READ, key, 0, 0)));
	say(" update %r", ctl(KEYCTL_UPDATE, key, "w", 1));
	say(" link %r unlink %r", ctl(KEYCTL_LINK, key, -1), ctl(KEYCTL_UNLINK, key, -1));
	say(" timeout %r setperm %r", ctl(KEYCTL_SET_TIMEOUT, key, 0), ctl(KEYCTL_SETPERM, key, bit < 0 ? 0 : (long)(0x01010101u << bit & as_whom)));
	say(" chown %r", ctl(KEYCTL_CHOWN, key, -1, -1));
	say(" ids %r security %r", sign(ctl(KEYCTL_GET_KEYRING_ID, key, 0)), sign(ctl(KEYCTL_GET_SECURITY, key, 0, 0)));
	say(" ring: read %r add %r search %r clear %r restrict %r\n", sign(ctl(KEYCTL_READ, ring, 0, 0)), sign(sys(__NR_add_key, "user", "in", "v", 1, ring)),
	    sign(ctl(KEYCTL_SEARCH, ring, "user", "in", 0)), ctl(KEYCTL_CLEAR, ring), ctl(KEYCTL_RESTRICT_KEYRING, ring, "nothing", "x"));
}
static void permissions(void)
{
	static const struct { const char *name; long mask; int uid, gid, possess; } whom[] = {
		{ "possessor", 0x3f000000, 77, 77, 1 }, { "owner", 0x3f0000, 1000, 77, 0 }, { "group", 0x3f00, 77, 1000, 0 }, { "supplementary", 0x3f00, 77, 1001, 0 }, { "other", 0x3f, 77, 77, 0 },
	};
	for (int w = 0; w < 5; w++) {
		say("%s\n", whom[w].name);
		for (int bit = -1; bit < 6; bit++) {
			long pid = fork();
			if (!pid) {
				ctl(KEYCTL_JOIN_SESSION_KEYRING, 0);
				long home = add("keyring", "home", 0, -3);
				long key = add("user", "k", "v", home), ring = add("keyring", "q", 0, home);
				sys(__NR_add_key, "user", "in", "v", 1, ring);
				as_whom = whom[w].mask;
				long perm = bit < 0 ? 0 : 0x01010101u << bit & whom[w].mask;
				ctl(KEYCTL_CHOWN, key, whom[w].uid, whom[w].gid), ctl(KEYCTL_CHOWN, ring, whom[w].uid, whom[w].gid);
				ctl(KEYCTL_SETPERM, key, perm), ctl(KEYCTL_SETPERM, ring, perm);
				ctl(KEYCTL_SETPERM, home, 0x3f3f3f3f);
				if (!whom[w].possess) {
					ctl(KEYCTL_LINK, home, -4);
					ctl(KEYCTL_JOIN_SESSION_KEYRING, 0);
				}
				int more[1] = { 1001 };
				sys(__NR_setgroups32, 1, more), sys(__NR_setresgid32, 1000, 1000, 1000), sys(__NR_setresuid32, 1000, 1000, 1000);
				ctl(KEYCTL_GET_KEYRING_ID, -1, 1);
				may(key, ring, bit);
				listed("   ", key);
				leave(0);
			}
			wait_for(pid);
		}
	}
}

static void expiry(void)
{
	static const long times[] = { 1, 2, 59, 60, 61, 3599, 3600, 7200, 86399, 86400, 604799, 604800, 6048000, 2147483647, 4294967295, 0 };
	long key = add("user", "timed", "v", -3);
	for (unsigned i = 0; i < sizeof(times) / sizeof(*times); i++) {
		say("timeout %x %r", times[i], ctl(KEYCTL_SET_TIMEOUT, key, times[i]));
		listed("", key);
	}
	ctl(KEYCTL_SET_TIMEOUT, key, 1);
	nap(1200);
	listed("expired", key);
	say(" describe %r read %r search %r request %r timeout %r", sign(ctl(KEYCTL_DESCRIBE, key, 0, 0)), ctl(KEYCTL_READ, key, 0, 0), ctl(KEYCTL_SEARCH, -3, "user", "timed", 0),
	    sign(sys(__NR_request_key, "user", "timed", 0, 0)), ctl(KEYCTL_SET_TIMEOUT, key, 100));
	say(" update %r setperm %r link %r revoke %r invalidate %r\n", ctl(KEYCTL_UPDATE, key, "v", 1), ctl(KEYCTL_SETPERM, key, 0x3f3f0000), ctl(KEYCTL_LINK, key, -1), ctl(KEYCTL_REVOKE, key), ctl(KEYCTL_INVALIDATE, key));
	key = add("user", "revoked", "v", -3);
	say("revoke %r", ctl(KEYCTL_REVOKE, key));
	listed("revoked", key);
	say(" describe %r read %r search %r request %r timeout %r update %r setperm %r link %r chown %r invalidate %r\n", sign(ctl(KEYCTL_DESCRIBE, key, 0, 0)), ctl(KEYCTL_READ, key, 0, 0),
	    ctl(KEYCTL_SEARCH, -3, "user", "revoked", 0), sign(sys(__NR_request_key, "user", "revoked", 0, 0)), ctl(KEYCTL_SET_TIMEOUT, key, 100), ctl(KEYCTL_UPDATE, key, "v", 1),
	    ctl(KEYCTL_SETPERM, key, 0x3f3f0000), ctl(KEYCTL_LINK, key, -1), ctl(KEYCTL_CHOWN, key, 0, 0), ctl(KEYCTL_INVALIDATE, key));
	long ring = add("keyring", "ending", 0, -3), inside = add("user", "inside", "v", ring);
	ctl(KEYCTL_SETPERM, inside, 0x3f3f0000);
	say("ring"), listed("", ring);
	say("revoke %r", ctl(KEYCTL_REVOKE, ring));
	listed(" ring", ring);
	nap(800);
	say(" read %r link %r search %r inside %r clear %r\n", ctl(KEYCTL_READ, ring, 0, 0), ctl(KEYCTL_LINK, inside, ring), ctl(KEYCTL_SEARCH, ring, "user", "inside", 0), sign(ctl(KEYCTL_READ, inside, 0, 0)), ctl(KEYCTL_CLEAR, ring));
	ring = add("keyring", "timed ring", 0, -3), add("user", "in timed", "v", ring);
	ctl(KEYCTL_SET_TIMEOUT, ring, 1);
	nap(1100);
	say("expired ring: request %r read %r", sign(sys(__NR_request_key, "user", "in timed", 0, 0)), ctl(KEYCTL_READ, ring, 0, 0));
	say(" negative %r", sign(sys(__NR_request_key, "user", "never", "info", -3)));
	say(" again %r found %r callout \"\" %r null name %r\n", sign(sys(__NR_request_key, "user", "never", 0, 0)), sign(ctl(KEYCTL_SEARCH, -3, "user", "never", 0)),
	    sign(sys(__NR_request_key, "user", "never2", "", -3)), sign(sys(__NR_request_key, "user", 0, 0, 0)));
}

static void links(void)
{
	long top = add("keyring", "l0", 0, -3), ring = top;
	char name[3] = "l0";
	int deep = 0;
	for (int i = 1; i < 9; i++) {
		name[1] = '0' + i;
		long next = add("keyring", name, 0, ring);
		say("nested %d %r", i, sign(next));
		if (next < 0) break;
		ring = next, deep = i;
	}
	add("user", "deep", "v", ring);
	say(" deep %d search %r request %r\n", deep, sign(ctl(KEYCTL_SEARCH, top, "user", "deep", 0)), sign(sys(__NR_request_key, "user", "deep", 0, 0)));
	long other = add("keyring", "other", 0, -3);
	say("cycle %r onto a chain %r itself %r ", ctl(KEYCTL_LINK, top, ring), ctl(KEYCTL_LINK, top, other), ctl(KEYCTL_LINK, other, other));
	say("back %r twice %r", ctl(KEYCTL_LINK, other, ring), ctl(KEYCTL_LINK, top, other));
	say(" unlink %r again %r\n", ctl(KEYCTL_UNLINK, top, other), ctl(KEYCTL_UNLINK, top, other));
	long key = add("user", "same", "one", -3);
	long second = add("user", "same", "two", other);
	say("displaced %d", ctl(KEYCTL_LINK, key, other) == 0 && ctl(KEYCTL_SEARCH, other, "user", "same", 0) == key);
	nap(800);
	say(" gone %r\n", sign(ctl(KEYCTL_READ, second, 0, 0)));
	listed("linked twice", key);
	int ids[300];
	long many = add("keyring", "many", 0, -3);
	char nm[4] = "k00";
	for (int i = 0; i < 40; i++)
		nm[1] = 'a' + i / 26, nm[2] = 'a' + i % 26, ids[i] = (int)add("user", nm, "v", many);
	listed("many", many);
	say("read %r small %r", ctl(KEYCTL_READ, many, 0, 0), ctl(KEYCTL_READ, many, ids + 100, 20));
	ids[200] = 0;
	long got = ctl(KEYCTL_READ, many, ids + 200, 160);
	int known = 0;
	for (int i = 0; i < 40; i++)
		for (int j = 0; j < 40; j++)
			known += ids[i] == ids[200 + j];
	say(" %l known %d\n", got, known);
	say("move: nowhere %r itself %r", ctl(KEYCTL_MOVE, ids[0], top, other, 0), ctl(KEYCTL_MOVE, ids[0], many, many, 0));
	say(" excl %r flags %r key %r", ctl(KEYCTL_MOVE, ids[0], many, other, 1), ctl(KEYCTL_MOVE, ids[0], other, many, 3), ctl(KEYCTL_MOVE, ids[0], ids[0], other, 0));
	say(" into a key %r nokey %r cycle %r\n", ctl(KEYCTL_MOVE, ids[0], other, ids[1], 0), ctl(KEYCTL_MOVE, 0x7fffff00, other, many, 0), ctl(KEYCTL_MOVE, other, -3, other, 0));
}

static void restrictions(void)
{
	static const char *const words[] = { "builtin_trusted", "builtin_and_secondary_trusted", "key_or_keyring:", "key_or_keyring:1", "key_or_keyring:1:chain", "key_or_keyring:0:chain2", "x", "a", "builtin_trusted " };
	for (int i = 0; i < 9; i++) {
		long ring = add("keyring", words[i], 0, -3), to_user;
		say("%s: user %r", words[i], ctl(KEYCTL_RESTRICT_KEYRING, ring, "user", words[i]));
		say(" none %r words alone %r type alone %r", ctl(KEYCTL_RESTRICT_KEYRING, ring, "none", words[i]), ctl(KEYCTL_RESTRICT_KEYRING, ring, 0, words[i]), ctl(KEYCTL_RESTRICT_KEYRING, ring, "user", 0));
		say(" asymmetric %r", ctl(KEYCTL_RESTRICT_KEYRING, ring, "asymmetric", words[i]));
		say(" again %r", ctl(KEYCTL_RESTRICT_KEYRING, ring, "asymmetric", words[i]));
		to_user = add("user", "j", "x", ring);
		say(" key %r ring %r link %r move %r\n", sign(to_user), sign(add("keyring", "j", 0, ring)), ctl(KEYCTL_LINK, -1, ring), ctl(KEYCTL_MOVE, add("user", "moved", "x", -3), -3, ring, 0));
	}
	static const char *const hashes[] = { "tbs:abcd", "bin:ab", "tbs:abc", "tbs:xy", ":ab", "tbs:", "abcd", "tbs:ab ", "tbs:AB" };
	for (int i = 0; i < 9; i++)
		say("blacklist %s: %r with data %r\n", hashes[i], sign(add("blacklist", hashes[i], "", -3)), sign(add("blacklist", hashes[i], "abc", -3)));
	unsigned words4[40] = { 1, 0 };
	for (int n = 16; n < 80; n += 4)
		say("provisioning %d: %r\n", n, sign(sys(__NR_add_key, "fscrypt-provisioning", "a", words4, n, -3)));
	for (int i = 0; i < 4; i++)
		words4[0] = i, words4[1] = 0, say("kind %d: %r", i, sign(sys(__NR_add_key, "fscrypt-provisioning", "b", words4, 40, -3))), words4[1] = 1, say(" reserved %r\n", sign(sys(__NR_add_key, "fscrypt-provisioning", "b", words4, 40, -3)));
	words4[0] = 2, words4[1] = 0;
	long key = sys(__NR_add_key, "fscrypt-provisioning", "c:d", words4, 40, -3);
	described("provisioning", key), listed("provisioning", key);
	say("read %r update %r", ctl(KEYCTL_READ, key, 0, 0), ctl(KEYCTL_UPDATE, key, words4, 40));
	say(" again the same %d\n", sys(__NR_add_key, "fscrypt-provisioning", "c:d", words4, 40, -3) == key);
	static const char *const own[] = { ".builtin_trusted_keys", ".none", ".platform", ".blacklist", ".fs-verity", ".user_reg", ".persistent_register",
#ifndef __s390x__ /* its firmware has none */
		".secondary_trusted_keys", ".machine",
#endif
	};
	long n = slurp("/proc/keys", text, sizeof(text));
	for (unsigned i = 0; i < sizeof(own) / sizeof(*own); i++) {
		say("%s", own[i]);
		for (char *p = text; n > 0 && *p; p++)
			if (!memcmp(p, own[i], strlen(own[i])) && p[strlen(own[i])] == ':' && p[-1] == ' ') {
				char *begin = p, *end = p;
				while (begin > text && begin[-1] != '\n') begin--;
				while (*end != '\n') end++;
				*end = 0, say("%s", begin + 8), *end = '\n';
			}
		say("\n");
	}
}

/* g to the x modulo p, as KEYCTL_DH_COMPUTE has it */
struct dh { int private, prime, base; };
struct kdf { char *hashname, *otherinfo; unsigned otherinfolen, spare[8]; };
static void numbers(void)
{
	unsigned char p[264], out[600];
	for (int i = 0; i < 264; i++) p[i] = 255 - i % 7;
	p[255] |= 1;
	static const int sizes[] = { 1, 64, 191, 192, 193, 256, 257 };
	long base = add("user", "base", "\3", -3), private = add("user", "private", "\5some longer private number", -3);
	for (int i = 0; i < 7; i++) {
		long prime = sys(__NR_add_key, "user", "prime", p, sizes[i], -3);
		struct dh dh = { (int)private, (int)prime, (int)base };
		say("prime of %d: size %r little %r", sizes[i], ctl(KEYCTL_DH_COMPUTE, &dh, 0, 0, 0), ctl(KEYCTL_DH_COMPUTE, &dh, out, 10, 0));
		memset(out, 0, 600);
		long got = ctl(KEYCTL_DH_COMPUTE, &dh, out, 600, 0);
		say(" all %r", got);
		for (int j = 0; j < 8; j++) say(" %x", (long)out[j]);
		say(" ..");
		for (int j = 8; got > 0 && j > 0; j--) say(" %x", (long)out[got - j]);
		static char *const names[] = { "sha256", "sha1", "hmac(sha256)", "nothing", "", "md5" };
		for (int h = 0; h < 6; h++) {
			struct kdf kdf = { names[h], "other", h == 2 ? 0 : 5, { 0 } };
			memset(out, 0, 600);
			say("\n kdf %s %r", names[h], ctl(KEYCTL_DH_COMPUTE, &dh, out, 50, &kdf));
			for (int j = 44; j < 52; j++) say(" %x", (long)out[j]);
		}
		say("\n");
	}
	long prime = sys(__NR_add_key, "user", "prime", p, 256, -3), ring = add("keyring", "dh ring", 0, -3), logon = add("logon", "dh:1", "abc", -3);
	struct dh cases[] = { { 0, (int)prime, (int)base }, { (int)private, 0, (int)base }, { (int)private, (int)prime, 0x7fffff00 }, { (int)ring, (int)prime, (int)base }, { (int)private, (int)logon, (int)base }, { -9, (int)prime, (int)base }, { (int)prime, (int)base, (int)private }, { (int)private, (int)prime, (int)prime } };
	for (int i = 0; i < 8; i++)
		say("case %d: %r %r\n", i, ctl(KEYCTL_DH_COMPUTE, &cases[i], out, 600, 0), ctl(KEYCTL_DH_COMPUTE, &cases[i], 0, 0, 0));
	struct dh good = { (int)private, (int)prime, (int)base };
	struct kdf kdf = { "sha256", 0, 0, { 0 } };
	say("no buffer %r bad buffer %r bad kdf %r long %r", ctl(KEYCTL_DH_COMPUTE, &good, 0, 10, 0), ctl(KEYCTL_DH_COMPUTE, &good, 8, 600, 0), ctl(KEYCTL_DH_COMPUTE, &good, out, 600, 8), ctl(KEYCTL_DH_COMPUTE, &good, out, 1025, &kdf));
	kdf.otherinfolen = 65;
	say(" info %r", ctl(KEYCTL_DH_COMPUTE, &good, out, 32, &kdf));
	kdf.otherinfolen = 5;
	say(" null %r", ctl(KEYCTL_DH_COMPUTE, &good, out, 32, &kdf));
	kdf.otherinfolen = 0, kdf.spare[3] = 1;
	say(" spare %r", ctl(KEYCTL_DH_COMPUTE, &good, out, 32, &kdf));
	kdf.spare[3] = 0, kdf.hashname = 0;
	say(" no name %r\n", ctl(KEYCTL_DH_COMPUTE, &good, out, 32, &kdf));
	int params[8] = { (int)private, 10, 10, 0, 0, 0, 0, 0 };
	for (int n = KEYCTL_PKEY_ENCRYPT; n <= KEYCTL_PKEY_VERIFY; n++) {
		params[0] = (int)private;
		say("pkey %d: %r", n, ctl(n, params, "enc=pkcs1 hash=sha256", out, out));
		say(" words %r", ctl(n, params, "nothing=pkcs1", out, out));
		say(" word twice %r", ctl(n, params, "enc=a enc=b", out, out));
		say(" no value %r", ctl(n, params, "enc=", out, out));
		params[0] = 0x7fffff00;
		say(" none %r", ctl(n, params, "", out, out));
		params[0] = (int)private, params[4] = 1;
		say(" spare %r\n", ctl(n, params, "", out, out));
		params[4] = 0;
	}
	say("query %r pass %r none %r words %r ring %r\n", ctl(KEYCTL_PKEY_QUERY, private, 0, "", out), ctl(KEYCTL_PKEY_QUERY, private, 1, "", out), ctl(KEYCTL_PKEY_QUERY, 0x7fffff00, 0, "", out), ctl(KEYCTL_PKEY_QUERY, private, 0, "what", out), ctl(KEYCTL_PKEY_QUERY, ring, 0, "enc=raw", out));
}

static void sessions(void)
{
	char name[64];
	say("user %d user session %d named ", ctl(KEYCTL_GET_KEYRING_ID, -4, 0) > 0, ctl(KEYCTL_GET_KEYRING_ID, -5, 0) > 0);
	say("%r %r %r %r %r\n", sign(ctl(KEYCTL_JOIN_SESSION_KEYRING, "")), sign(ctl(KEYCTL_JOIN_SESSION_KEYRING, ".x")), sign(ctl(KEYCTL_JOIN_SESSION_KEYRING, 8)), sign(ctl(KEYCTL_JOIN_SESSION_KEYRING, "_ses")), sign(ctl(KEYCTL_JOIN_SESSION_KEYRING, "_uid.0")));
	long a = ctl(KEYCTL_JOIN_SESSION_KEYRING, "share"), b = ctl(KEYCTL_JOIN_SESSION_KEYRING, 0), c;
	say("new %d", a != b);
	c = ctl(KEYCTL_JOIN_SESSION_KEYRING, "share");
	say(" after it was left %d", a == c);
	described(" shared", -3);
	ctl(KEYCTL_SETPERM, -3, 0x3f3f0808);
	long pid = fork();
	if (!pid) {
		say("child %d", ctl(KEYCTL_GET_KEYRING_ID, -3, 0) == c);
		ctl(KEYCTL_JOIN_SESSION_KEYRING, 0);
		say(" other %d", ctl(KEYCTL_GET_KEYRING_ID, -3, 0) != c);
		say(" again %d", ctl(KEYCTL_JOIN_SESSION_KEYRING, "share") == c);
		sys(__NR_setresgid32, 1000, 1000, 1000), sys(__NR_setresuid32, 1000, 1000, 1000);
		ctl(KEYCTL_JOIN_SESSION_KEYRING, 0);
		say(" as a user %d\n", ctl(KEYCTL_JOIN_SESSION_KEYRING, "share") == c);
		described("his", -3), described("user", -4), described("user session", -5), described("thread", ctl(KEYCTL_GET_KEYRING_ID, -1, 1)), described("process", ctl(KEYCTL_GET_KEYRING_ID, -2, 1));
		say("session of another: %r to parent %r persistent mine %r root's %r\n", sign(ctl(KEYCTL_DESCRIBE, c, 0, 0)), ctl(KEYCTL_SESSION_TO_PARENT), sign(ctl(KEYCTL_GET_PERSISTENT, -1, -2)), ctl(KEYCTL_GET_PERSISTENT, 0, -2));
		long p = ctl(KEYCTL_GET_PERSISTENT, 1000, -2);
		nap(800);
		listed("persistent", p);
		listed("thread", ctl(KEYCTL_GET_KEYRING_ID, -1, 0)), listed("user", ctl(KEYCTL_GET_KEYRING_ID, -4, 0)), listed("user session", ctl(KEYCTL_GET_KEYRING_ID, -5, 0));
		add("user", "mine", "v", -4);
		slurp("/proc/key-users", text, sizeof(text));
		char *mine = text; /* the kernel has some that nobody may see */
		while (*mine && *mine != '\n') mine++;
		say("key-users%s", mine);
		leave(0);
	}
	wait_for(pid);
	for (int i = -8; i < 1; i++) {
		say("special %d: id %r", i, sign(ctl(KEYCTL_GET_KEYRING_ID, i, 0)));
		say(" describe %r link %r", sign(ctl(KEYCTL_DESCRIBE, i, 0, 0)), sign(ctl(KEYCTL_LINK, add("user", "s", "v", -3), i)));
		say(" clear %r", i > -4 && i ? ctl(KEYCTL_CLEAR, i) : 1L);
		say(" search %r\n", sign(ctl(KEYCTL_SEARCH, i, "user", "s", 0)));
	}
	for (int i = -2; i < 10; i++) {
		long was = ctl(KEYCTL_SET_REQKEY_KEYRING, i);
		say("default %d: %r now %r ;", i, was, ctl(KEYCTL_SET_REQKEY_KEYRING, -1));
	}
	say("\n");
	unsigned char caps[8] = { 9, 9, 9, 9, 9, 9, 9, 9 };
	say("capabilities %r", ctl(KEYCTL_CAPABILITIES, caps, 4));
	for (int i = 0; i < 6; i++) say(" %x", (long)caps[i]);
	say(" none %r fault %r\n", ctl(KEYCTL_CAPABILITIES, 0, 0), ctl(KEYCTL_CAPABILITIES, 0, 2));
	(void)name;
}

int main(int argc, char **argv)
{
	described("session at first", -3);
	described("user at first", -4);
	say("thread %r process %r\n", ctl(KEYCTL_GET_KEYRING_ID, -1, 0), ctl(KEYCTL_GET_KEYRING_ID, -2, 0));
	long fresh = ctl(KEYCTL_JOIN_SESSION_KEYRING, 0);
	listed("session", fresh);
	commands();
	ctl(KEYCTL_JOIN_SESSION_KEYRING, 0);
	types();
	nap(600);
	ctl(KEYCTL_JOIN_SESSION_KEYRING, 0);
	expiry();
	ctl(KEYCTL_JOIN_SESSION_KEYRING, 0);
	nap(600);
	links();
	ctl(KEYCTL_JOIN_SESSION_KEYRING, 0);
	restrictions();
	ctl(KEYCTL_JOIN_SESSION_KEYRING, 0);
	numbers();
	ctl(KEYCTL_JOIN_SESSION_KEYRING, 0);
	nap(800);
	sessions();
	permissions();
	return 0;
}
