/* Diffie-Hellman of keys: who may be a number, how long the result is, hashes that stretch it; what keyrings can do; no big keys.  not: i386 (its words are half as long) */
#include "tiny.h"
#define DH 23
static unsigned char bytes[20000], out[4100];
static int params[3];
static struct { const char *hash; void *other; unsigned length, spare[8]; } kdf;

static long add(const char *type, const char *name, int size, int first, int step)
{
	unsigned v = first;
	for (int i = 0; i < size; i++, v = v * 1103515245 + step)
		bytes[i] = i ? v >> 16 : first;
	if (size)
		bytes[size - 1] |= 1;
	return sys(__NR_add_key, type, name, bytes, size, -2);
}
static void dh(const char *what, long prime, long base, long private, long size, void *how)
{
	params[0] = private, params[1] = prime, params[2] = base;
	memset(out, 0xcc, sizeof out);
	long n = sys(__NR_keyctl, DH, params, size ? out : 0, size, how);
	say("%s of %d: %r", what, (int)size, n);
	for (int i = 0; i < size && i < n && size; i++)
		if (i < 12 || i >= n - 4)
			say(" %x", (long)out[i]);
	say(" then %x\n", (long)out[n > 0 ? n : 0]);
}
int main(int argc, char **argv)
{
	unsigned char can[4] = { 9, 9, 9, 9 };
	long n = sys(__NR_keyctl, 31, can, 4);
	say("capabilities %r big %d dh %d %x %d %d\n", n, can[0] >> 4 & 1, can[0] >> 2 & 1, (long)can[1], can[2], can[3]);
	say("big key %r\n", add("big_key", "big", 100, 7, 1));
	sys(__NR_keyctl, 1, "mine");
	long prime = add("user", "prime", 192, 0xd1, 3), two = add("user", "two", 1, 3, 0), private = add("user", "private", 191, 0x71, 7);
	long odd = add("user", "odd", 193, 0xe3, 5), zeros = add("user", "leading", 200, 0, 9), little = add("user", "little", 191, 0xf1, 1);
	long logon = add("logon", "a:b", 192, 1, 1), nil, one = add("user", "one", 1, 1, 0);
	memset(bytes, 0, sizeof bytes);
	nil = sys(__NR_add_key, "user", "nil", bytes, 192, -2);
	dh("how long", prime, two, private, 0, 0);
	dh("public", prime, two, private, 192, 0);
	dh("room", prime, two, private, 1000, 0);
	dh("short", prime, two, private, 191, 0);
	dh("odd", odd, two, private, 0, 0);
	dh("odd", odd, prime, private, 1000, 0);
	dh("leading zeros", zeros, two, private, 0, 0);
	dh("leading zeros", zeros, two, private, 400, 0);
	dh("little", little, two, private, 400, 0);
	dh("long exponent", prime, two, odd, 400, 0);
	dh("long base", prime, odd, two, 400, 0);
	dh("zero modulus", nil, two, private, 400, 0);
	dh("zero base", prime, nil, private, 400, 0);
	dh("zero exponent", prime, two, nil, 400, 0);
	dh("base one", prime, one, private, 192, 0);
	dh("logon", logon, two, private, 400, 0);
	dh("ring", -3, two, private, 400, 0);
	dh("nobody", 12345, two, private, 400, 0);
	dh("none", 0, two, private, 400, 0);
	say("no params %r", sys(__NR_keyctl, DH, 0, out, 100, 0));
	say(" no buffer %r", sys(__NR_keyctl, DH, params, 0, 100, 0));
	say(" bad params %r\n", sys(__NR_keyctl, DH, 8, out, 100, 0));
	params[0] = private, params[1] = prime, params[2] = two;
	say("bad buffer %r", sys(__NR_keyctl, DH, params, 8, 1000, 0));
	say(" bad kdf %r\n", sys(__NR_keyctl, DH, params, out, 1000, 8));
	static const char *const hashes[] = { "sha1", "sha256", "md5", "nothing", "", "hmac(sha256)" };
	for (unsigned i = 0; i < sizeof hashes / sizeof *hashes; i++) {
		kdf.hash = hashes[i], kdf.length = 0;
		dh(hashes[i], prime, two, private, 100, &kdf);
		dh(hashes[i], prime, two, private, 0, &kdf);
	}
	kdf.hash = "sha256", kdf.other = "hello there", kdf.length = 11;
	dh("with more", prime, two, private, 33, &kdf);
	dh("most", prime, two, private, 1024, &kdf);
	dh("too much", prime, two, private, 1025, &kdf);
	kdf.length = 65;
	dh("too much more", prime, two, private, 33, &kdf);
	kdf.length = 11, kdf.other = (void *)8;
	dh("bad more", prime, two, private, 33, &kdf);
	kdf.other = 0, kdf.length = 0, kdf.spare[7] = 1;
	dh("spare", prime, two, private, 33, &kdf);
	kdf.spare[7] = 0, kdf.hash = (char *)8;
	dh("bad name", prime, two, private, 33, &kdf);
	kdf.hash = "sha256";
	dh("no key", 12345, two, private, 33, &kdf);
	long most = add("user", "most", 2048, 0xff, 0), beyond = add("user", "beyond", 2049, 1, 0), farther = add("user", "farther", 20000, 0xff, 0);
	dh("16384 bits", most, two, one, 0, 0);
	dh("16384 bits", most, two, one, 2048, 0);
	dh("16385 bits", beyond, two, one, 0, 0);
	dh("160000 bits", farther, two, one, 0, 0);
	dh("all of them", farther, farther, farther, 4000, 0);
	memset(bytes, 0, sizeof bytes);
	bytes[299] = 7, bytes[298] = 1;
	long small = sys(__NR_add_key, "user", "small", bytes, 300, -2);
	dh("small behind zeros", small, two, private, 0, 0);
	dh("small behind zeros", small, two, private, 400, 0);
	dh("long base below zeros", small, one, two, 400, 0);
	say("revoke %r\n", sys(__NR_keyctl, 3, private));
	dh("revoked", prime, two, private, 400, 0);
	say("readable %r\n", sys(__NR_keyctl, 5, two, 0x3f3f0000 & ~0x02020000));
	dh("not to be read", prime, two, one, 400, 0);
	return 0;
}
