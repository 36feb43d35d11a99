/* Keys and keyrings: making, finding, reading, permissions, links, sessions, time-outs, quotas. */
#include "tiny.h"
#include <linux/keyctl.h>

#ifndef __NR_setresuid32
#define __NR_setresuid32 __NR_setresuid
#endif

static long add(const char *type, const char *name, const char *data, long ring)
{
	return sys(__NR_add_key, type, name, data, data ? strlen(data) : 0, ring);
}
#define ctl(...) sys(__NR_keyctl, __VA_ARGS__)
static long sign(long v) { return v < 0 ? v : 0; }
static void describe(const char *what, long key)
{
	char text[256];
	long n = ctl(KEYCTL_DESCRIBE, key, text, sizeof(text));
	say("%s: %r", what, n);
	say(" %s\n", n > 0 ? text : "");
}
static void content(const char *what, long key)
{
	char text[256];
	long n = ctl(KEYCTL_READ, key, text, sizeof(text));
	text[n > 0 && n < 256 ? n : 0] = 0;
	say("%s: %r", what, n);
	say(" %s\n", text);
}

static void making(void)
{
	static char big[40000];
	memset(big, 'x', sizeof(big) - 1);
	long key = add("user", "name", "value", -3);
	say("user %r", sign(key));
	say(" again the same %d", add("user", "name", "other", -3) == key);
	say(" type %r", add("nothing", "name", "value", -3));
	say(" no type %r", add("", "name", "value", -3));
	say(" dot %r", add(".x", "name", "value", -3));
	say(" long type %r", add("12345678901234567890123456789012345", "name", "value", -3));
	say(" null %r", add(0, "name", "value", -3));
	say(" no name %r", add("user", 0, "value", -3));
	say(" empty name %r", add("user", "", "value", -3));
	say(" no data %r", add("user", "x", 0, -3));
	say(" much %r", add("user", "x", big, -3));
	say(" more %r", sys(__NR_add_key, "user", "x", big, 1 << 20, -3));
	say(" fault %r", sys(__NR_add_key, "user", "x", 8, 10, -3));
	say(" ring %r", add("user", "x", "v", 12345678));
	say(" ring 0 %r", add("user", "x", "v", 0));
	say(" ring -6 %r", add("user", "x", "v", -6));
	say(" ring -7 %r", add("user", "x", "v", -7));
	say(" ring -9 %r\n", add("user", "x", "v", -9));
	say("keyring %r", sign(add("keyring", "ring", 0, -3)));
	say(" with data %r", add("keyring", "ring", "v", -3));
	say(" dot %r", add("keyring", ".ring", 0, -3));
	say(" logon %r", sign(add("logon", "a:b", "v", -3)));
	say(" without colon %r", add("logon", "ab", "v", -3));
	say(" colon first %r", add("logon", ":ab", "v", -3));
	say(" in a key %r\n", add("user", "x", "v", key));
	describe("described", key);
	describe("logon", add("logon", "a:b", "v", -3));
	describe("keyring", add("keyring", "ring", 0, -3));
	describe("thread", ctl(KEYCTL_GET_KEYRING_ID, -1, 1));
	describe("process", ctl(KEYCTL_GET_KEYRING_ID, -2, 1));
	describe("session", -3);
	describe("user", -4);
	describe("user session", -5);
	describe("group", -6);
	describe("nothing", 99999999);
	content("read", key);
	content("read logon", add("logon", "a:b", "v", -3));
	char small[2] = { '-', 0 };
	say("read little %r", ctl(KEYCTL_READ, key, small, 1));
	say(" %s length only %r\n", small, ctl(KEYCTL_READ, key, 0, 0));
}

static void changing(void)
{
	long key = add("user", "change", "one", -2), ring = add("keyring", "r", 0, -2);
	say("update %r", ctl(KEYCTL_UPDATE, key, "second", 6));
	say(" ring %r", ctl(KEYCTL_UPDATE, ring, 0, 0));
	say(" empty %r", ctl(KEYCTL_UPDATE, key, 0, 0));
	say(" long %r\n", ctl(KEYCTL_UPDATE, key, "x", 4097));
	content("updated", key);
	say("request %d", sys(__NR_request_key, "user", "change", 0, 0) == key);
	say(" none %r", sys(__NR_request_key, "user", "missing", 0, 0));
	say(" callout %r", sys(__NR_request_key, "user", "missing", "make it", 0));
	say(" type %r", sys(__NR_request_key, "what", "missing", 0, 0));
	say(" into %d", sys(__NR_request_key, "user", "change", 0, ring) == key);
	say(" search %d", ctl(KEYCTL_SEARCH, ring, "user", "change", 0) == key);
	say(" not there %r", ctl(KEYCTL_SEARCH, ring, "user", "missing", 0));
	say(" in a key %r\n", ctl(KEYCTL_SEARCH, key, "user", "change", 0));
	long inner = add("keyring", "inner", 0, ring);
	say("link %r", ctl(KEYCTL_LINK, key, inner));
	say(" to a key %r", ctl(KEYCTL_LINK, key, key));
	say(" cycle %r", ctl(KEYCTL_LINK, ring, inner));
	say(" itself %r", ctl(KEYCTL_LINK, ring, ring));
	say(" unlink %r", ctl(KEYCTL_UNLINK, key, inner));
	say(" again %r", ctl(KEYCTL_UNLINK, key, inner));
	say(" from a key %r", ctl(KEYCTL_UNLINK, key, key));
	int list[8];
	say(" members %r", ctl(KEYCTL_READ, ring, list, sizeof(list)));
	say(" first %d\n", list[0] == (int)key);
	say("move %r", ctl(KEYCTL_MOVE, key, ring, inner, 0));
	say(" again %r", ctl(KEYCTL_MOVE, key, ring, inner, 0));
	say(" flags %r", ctl(KEYCTL_MOVE, key, inner, ring, 2));
	add("user", "change", "another", ring);
	say(" excl %r", ctl(KEYCTL_MOVE, key, inner, ring, 1));
	say(" replace %r", ctl(KEYCTL_MOVE, key, inner, ring, 0));
	say(" members %r\n", ctl(KEYCTL_READ, ring, list, sizeof(list)));
	say("clear %r", ctl(KEYCTL_CLEAR, ring));
	say(" a key %r", ctl(KEYCTL_CLEAR, key));
	say(" members %r\n", ctl(KEYCTL_READ, ring, list, sizeof(list)));
	ring = add("keyring", "closed", 0, -2);
	say("restrict %r", ctl(KEYCTL_RESTRICT_KEYRING, ring, 0, 0));
	say(" again %r", ctl(KEYCTL_RESTRICT_KEYRING, ring, 0, 0));
	say(" a key %r", ctl(KEYCTL_RESTRICT_KEYRING, key, 0, 0));
	say(" add %r", add("user", "late", "v", ring));
	say(" link %r\n", ctl(KEYCTL_LINK, key, ring));
}

static void ending(void)
{
	long key = add("user", "short", "v", -2), ring = add("keyring", "gone", 0, -2), in = add("user", "in", "v", ring);
	say("timeout %r", ctl(KEYCTL_SET_TIMEOUT, key, 1));
	content(" before", key);
	nap(1100);
	content("after", key);
	say("request %r", sys(__NR_request_key, "user", "short", 0, 0));
	say(" describe %r", sign(ctl(KEYCTL_DESCRIBE, key, 0, 0)));
	say(" update by name %r\n", sign(add("user", "short", "w", -2)));
	key = add("user", "revoked", "v", -2);
	say("revoke %r", ctl(KEYCTL_REVOKE, key));
	say(" read %r", ctl(KEYCTL_READ, key, 0, 0));
	say(" request %r", sys(__NR_request_key, "user", "revoked", 0, 0));
	say(" again %r", ctl(KEYCTL_REVOKE, key));
	say(" new %r\n", sign(add("user", "revoked", "v", -2)));
	say("revoke a ring %r", ctl(KEYCTL_REVOKE, ring));
	say(" add %r\n", add("user", "x", "v", ring));
	key = add("user", "invalid", "v", -2);
	say("invalidate %r", ctl(KEYCTL_INVALIDATE, key));
	say(" request %r\n", sys(__NR_request_key, "user", "invalid", 0, 0));
	key = add("user", "alone", "v", -2);
	say("unlink the last %r", ctl(KEYCTL_UNLINK, key, -2));
	nap(50);
	say(" read %r\n", ctl(KEYCTL_READ, key, 0, 0));
	(void)in;
}

static void rights(void)
{
	long key = add("user", "mine", "v", -3);
	say("setperm %r", ctl(KEYCTL_SETPERM, key, 0x3f000000));
	say(" bad %r\n", ctl(KEYCTL_SETPERM, key, 0x40000000));
	long pid = fork();
	if (!pid) {
		say("thread ring of a child %r", sign(ctl(KEYCTL_GET_KEYRING_ID, -1, 0)));
		say(" process %r", sign(ctl(KEYCTL_GET_KEYRING_ID, -2, 0)));
		say(" session %d\n", ctl(KEYCTL_GET_KEYRING_ID, -3, 0) > 0);
		sys(__NR_setresuid32, 1000, 1000, 1000);
		content("possessed by a user", key);
		say("new session %r", sign(ctl(KEYCTL_JOIN_SESSION_KEYRING, 0)));
		say(" read %r", ctl(KEYCTL_READ, key, 0, 0));
		say(" describe %r", ctl(KEYCTL_DESCRIBE, key, 0, 0));
		say(" link %r\n", ctl(KEYCTL_LINK, key, -3));
		describe("session", -3);
		say("named %r", sign(ctl(KEYCTL_JOIN_SESSION_KEYRING, "work")));
		say(" dot %r\n", ctl(KEYCTL_JOIN_SESSION_KEYRING, ".work"));
		describe("session", -3);
		say("chown %r", ctl(KEYCTL_CHOWN, -3, 0, -1));
		say(" same %r", ctl(KEYCTL_CHOWN, -3, 1000, -1));
		say(" nothing %r\n", ctl(KEYCTL_CHOWN, -3, -1, -1));
		char name[8] = "k000";
		long last = 0;
		int made = 0;
		for (int i = 0; i < 300; i++) {
			name[1] = '0' + i / 100, name[2] = '0' + i / 10 % 10, name[3] = '0' + i % 10;
			last = add("user", name, "some bytes", -3);
			if (last < 0)
				break;
			made++;
		}
		say("quota %d after many %d\n", (int)last, made > 190 && made < 200);
		leave(0);
	}
	wait_for(pid);
	nap(200);
	say("chown %r", ctl(KEYCTL_CHOWN, key, 1000, 1000));
	describe(" given", key);
	say("back %r\n", ctl(KEYCTL_CHOWN, key, 0, 0));
	say("instantiate %r", ctl(KEYCTL_INSTANTIATE, key, "v", 1, 0));
	say(" negate %r", ctl(KEYCTL_NEGATE, key, 1, 0));
	say(" reject %r", ctl(KEYCTL_REJECT, key, 1, 0, 0));
	say(" assume %r", ctl(KEYCTL_ASSUME_AUTHORITY, 0));
	say(" %r", ctl(KEYCTL_ASSUME_AUTHORITY, key));
	say(" %r", ctl(KEYCTL_ASSUME_AUTHORITY, -1));
	say(" default ring %r", ctl(KEYCTL_SET_REQKEY_KEYRING, -1));
	say(" set %r", ctl(KEYCTL_SET_REQKEY_KEYRING, 3));
	say(" now %r", ctl(KEYCTL_SET_REQKEY_KEYRING, 0));
	say(" bad %r", ctl(KEYCTL_SET_REQKEY_KEYRING, 9));
	say(" group %r", ctl(KEYCTL_SET_REQKEY_KEYRING, 6));
	say(" unknown %r\n", ctl(99));
	pid = fork();
	if (!pid) {
		ctl(KEYCTL_JOIN_SESSION_KEYRING, 0);
		add("user", "for the parent", "v", -3);
		say("to parent %r\n", ctl(KEYCTL_SESSION_TO_PARENT));
		leave(0);
	}
	wait_for(pid);
	say("the child's key %r\n", sign(sys(__NR_request_key, "user", "for the parent", 0, 0)));
	say("persistent %r", sign(ctl(KEYCTL_GET_PERSISTENT, -1, -2)));
	describe(" it", ctl(KEYCTL_GET_PERSISTENT, -1, -2));
}

int main(int argc, char **argv)
{
	say("join %r\n", sign(ctl(KEYCTL_JOIN_SESSION_KEYRING, 0)));
	making();
	changing();
	ending();
	rights();
	return 0;
}
