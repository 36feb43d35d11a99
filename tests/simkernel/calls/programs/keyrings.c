/* Keyrings in keyrings: how deep a search goes, what is a circle and what is only too deep; reading what is no key; who may read what. */
#include "tiny.h"
enum { DEEP = 10 };
static long ring(const char *name, long into) { return sys(__NR_add_key, "keyring", name, 0, 0, into); }
static long ctl(long op, long a, long b, const void *c, long d) { return sys(__NR_keyctl, op, a, b, c, d); }

static void chain(const char *letter, long *rings, long top, int n)
{
	char name[8] = "a0";
	name[0] = *letter;
	for (int i = 0; i < n; i++) {
		name[1] = '0' + i;
		rings[i] = ring(name, i ? rings[i - 1] : top);
	}
}

int main(int argc, char **argv)
{
	static const long none[] = { 0, 12345, -1, -2, -7, -9, 0x7fffffff };
	long a[DEEP], b[DEEP];
	char key[8] = "k0", name[8] = "a0";
	char out[8];
	sys(__NR_keyctl, 1, "mine");
	for (unsigned i = 0; i < sizeof none / sizeof *none; i++) {
		say("%d: read %r", (int)none[i], ctl(11, none[i], (long)out, (void *)8, 0));
		say(" describe %r", ctl(6, none[i], (long)out, 0, 0));
		say(" link %r\n", ctl(8, none[i], -3, 0, 0));
	}
	chain("a", a, -3, DEEP);
	for (int i = 0; i < DEEP; i++) {
		key[1] = '0' + i;
		sys(__NR_add_key, "user", key, "x", 1, a[i]);
	}
	for (int i = 0; i < DEEP; i++) {
		key[1] = name[1] = '0' + i;
		long found = sys(__NR_keyctl, 10, a[0], "user", key, 0), of = sys(__NR_keyctl, 10, -3, "user", key, 0);
		say("depth %d: %r of the session %r", i, found > 0 ? 1 : found, of > 0 ? 1 : of);
		found = sys(__NR_keyctl, 10, a[0], "keyring", name, 0), of = sys(__NR_request_key, "user", key, 0, 0);
		say(" ring %r requested %r\n", found > 0 ? 1 : found, of > 0 ? 1 : of);
	}
	for (int i = 0; i < DEEP; i++)
		say("in itself at %d: %r\n", i, ctl(8, a[0], a[i], 0, 0));
	chain("b", b, -3, 5), chain("c", a, -3, 5);
	for (int i = 0; i < 5; i++) {
		say("below %d: %r", i, ctl(8, b[0], a[i], 0, 0));
		for (int n = 0; n < 5; n++)
			say(" %r", ctl(8, a[0], b[n], 0, 0)), ctl(9, a[0], b[n], 0, 0);
		say(" gone %r\n", ctl(9, b[0], a[i], 0, 0));
	}
	long layer[7][3];
	for (int i = 0; i < 7; i++)
		for (int n = 0; n < 3; n++) {
			char of[3] = { 'l' + i, '0' + n, 0 };
			layer[i][n] = ring(of, -3);
			for (int up = 0; i && up < 3; up++)
				ctl(8, layer[i][n], layer[i - 1][up], 0, 0);
		}
	long top = ring("top", -3), side = ring("side", -3);
	say("through all layers: %r", ctl(8, top, layer[0][0], 0, 0));
	say(" from the second %r from the first %r", ctl(8, top, layer[1][1], 0, 0), ctl(8, layer[6][0], side, 0, 0));
	ctl(9, top, layer[0][0], 0, 0), ctl(9, top, layer[1][1], 0, 0);
	say(" up %r", ctl(8, side, layer[0][2], 0, 0));
	ctl(8, layer[3][1], side, 0, 0);
	for (int i = 0; i < 7; i++)
		say(" %r %r", ctl(8, layer[i][2], top, 0, 0), ctl(8, side, layer[i][0], 0, 0)), ctl(9, side, layer[i][0], 0, 0), ctl(9, layer[i][2], top, 0, 0);
	say("\n");
	static const unsigned perms[] = { 0x3f3f0000, 0x3d0000, 0x350000, 0x3d000000, 0x35000000, 0x3f000000, 0x02000000, 0x08000000, 0x080000, 0x020000, 0 };
	char inner[] = "inner0", other[] = "other0";
	for (unsigned i = 0; i < sizeof perms / sizeof *perms; i++) {
		inner[5] = other[5] = 'a' + i;
		long r = ring(inner, -3), k = sys(__NR_add_key, "user", other, "xyz", 3, -3), held = sys(__NR_add_key, "user", "held", "xyz", 3, r);
		sys(__NR_keyctl, 5, k, perms[i]);
		say("%x: read %r", (long)perms[i], ctl(11, k, (long)out, (void *)8, 0));
		say(" describe %r", ctl(6, k, (long)0, 0, 0));
		say(" update %r", ctl(2, k, (long)"abc", (void *)3, 0));
		say(" link %r\n", ctl(8, k, -1, 0, 0));
		sys(__NR_keyctl, 5, held, 0x080000);
		sys(__NR_keyctl, 5, r, perms[i]);
		say("  of the ring: read %r", ctl(11, r, 0, 0, 0));
		say(" held %r\n", ctl(11, held, (long)out, (void *)8, 0));
	}
	return 0;
}
