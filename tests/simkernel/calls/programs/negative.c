/* Keys that nobody could make: request_key(2) with a callout leaves a negative key. not: i386 */
#include "tiny.h"
static char text[4000];
static int serials[8];

static void keyctl(const char *what, int op, long a, long b, long c) { say("%s: %r\n", what, sys(__NR_keyctl, op, a, b, c, 0)); }

static void row(const char *description)
{
	nap(1500); /* who was to make it has gone for good */
	int n = slurp("/proc/keys", text, sizeof(text));
	for (char *at = text, *end; at < text + n; at = end + 1) {
		for (end = at; *end != '\n'; end++)
			;
		*end = 0;
		for (char *q = at; *q; q++)
			if (!memcmp(q, description, strlen(description)))
				say("%s\n", at + 9);
	}
}

int main(int argc, char **argv)
{
	long key;

	say("plain %r\n", sys(__NR_request_key, "user", "wanted", 0, 0));
	sys(__NR_keyctl, 0, -2, 1); /* the process keyring */
	say("with a callout %r\n", sys(__NR_request_key, "user", "wanted", "for what", -2));
	say("again %r, plain %r\n", sys(__NR_request_key, "user", "wanted", "for what", -2), sys(__NR_request_key, "user", "wanted", 0, 0));
	say("in its ring %r\n", sys(__NR_keyctl, 11, -2, serials, sizeof(serials)));
	key = serials[0];
	keyctl("read", 11, key, (long)text, 100);
	keyctl("describe", 6, key, (long)text, 0);
	keyctl("search", 10, -2, (long)"user", (long)"wanted");
	keyctl("update", 2, key, (long)"x", 1);
	keyctl("link", 8, key, -3, 0);
	keyctl("set timeout", 15, key, 100, 0);
	row("wanted");
	key = sys(__NR_add_key, "user", "wanted", "now", 3, -2);
	say("added %d\n", key == serials[0]);
	say("read %r %r\n", sys(__NR_keyctl, 11, key, text, 100), sys(__NR_request_key, "user", "wanted", 0, 0) == key ? 1 : 0);
	row("wanted");
	say("default ring: %r", sys(__NR_request_key, "user", "other", "for what", 0));
	say(" %r\n", sys(__NR_keyctl, 11, -2, serials, sizeof(serials)));
	sys(__NR_keyctl, 5, -2, 0x3b000000); /* no write */
	say("no right: %r, %r\n", sys(__NR_request_key, "user", "third", "for what", 0), sys(__NR_request_key, "user", "third", "for what", -2));
	return 0;
}
