/* /proc/sys/kernel/keys and what it limits; System V numbers that are asked for. */
#include "tiny.h"
#ifdef __NR_shmget
#define HAVE_SHM 1
#endif
static char text[4096];
static void row(const char *name)
{
	char path[128];
	int n = 0;
	for (const char *p = "/proc/sys/"; *p;) path[n++] = *p++;
	for (const char *p = name; *p;) path[n++] = *p++;
	path[n] = 0;
	long got = slurp(path, text, sizeof(text));
	say(" %s %r %s", name, got < 0 ? got : 0, got < 0 ? "\n" : text);
}
static void store(const char *name, const char *value)
{
	char path[128];
	int n = 0;
	for (const char *p = "/proc/sys/"; *p;) path[n++] = *p++;
	for (const char *p = name; *p;) path[n++] = *p++;
	path[n] = 0;
	long ret = spit(path, value);
	say(" %s = %s: %r;", name, value, ret), row(name);
}
static const char *const names[] = { "gc_delay", "maxkeys", "maxbytes", "root_maxkeys", "root_maxbytes", "persistent_keyring_expiry" };
static const char *const values[] = { "-1", "0", "2147483647", "2147483648", "x", "7 8", "77" };
int main(int argc, char **argv)
{
	char name[64];
	say("keys\n");
	for (int i = 0; i < 6; i++) {
		static char was[64];
		memset(name, 0, 64);
		memcpy(name, "kernel/keys/", 12), memcpy(name + 12, names[i], strlen(names[i]));
		row(name);
		memcpy(was, text, 64);
		for (int j = 0; j < 7; j++)
			store(name, values[j]);
		store(name, was);
	}
	say("quota\n");
	store("kernel/keys/maxkeys", "5"), store("kernel/keys/maxbytes", "200");
	long child = fork();
	if (!child) {
		say(" %r\n", sys(__NR_setresuid, 1234, 1234, 1234));
		for (int i = 0; i < 7; i++) {
			name[0] = 'a' + i, name[1] = 0;
			say(" key %d: %r\n", i, sys(__NR_add_key, "user", name, "x", 1, -2) > 0 ? 0L : sys(__NR_add_key, "user", name, "x", 1, -2));
		}
		char big[300];
		memset(big, 'y', 300);
		long r = sys(__NR_add_key, "user", "a", big, 180, -2);
		say(" longer: %r\n", r > 0 ? 0L : r);
		leave(0);
	}
	wait_for(child);
	store("kernel/keys/maxkeys", "200"), store("kernel/keys/maxbytes", "20000");
	say("system v\n");
	static const char *const next[] = { "kernel/msg_next_id", "kernel/sem_next_id", "kernel/shm_next_id" };
	for (int i = 0; i < 3; i++)
		row(next[i]), store(next[i], "-2"), store(next[i], "2147483648"), store(next[i], "2"), store(next[i], "1"), store(next[i], "-1");
#ifdef HAVE_SHM
	static const long calls[] = { __NR_msgget, __NR_semget, __NR_shmget };
	static const long ends[] = { __NR_msgctl, __NR_semctl, __NR_shmctl };
	for (int i = 0; i < 3; i++) {
		long second = i == 0 ? 0600 | 512 : i == 1 ? 1 : 4096, third = i == 0 ? 0 : 0600 | 512;
#define MAKE() sys(calls[i], 0, second, third)
#define DROP(id) (i == 1 ? sys(ends[i], id, 0, 0) : sys(ends[i], id, 0, 0))
		store(next[i], "77");
		long one = MAKE();
		say(" made %r\n", one);
		row(next[i]);
		store(next[i], "77");
		long two = MAKE();
		say(" made %r\n", two);
		store(next[i], "100000");
		long three = MAKE();
		say(" made %r\n", three);
		row(next[i]);
		say(" gone %r %r %r\n", DROP(one), DROP(two), DROP(three));
		store(next[i], "40000");
		three = MAKE();
		say(" made %r gone %r\n", three, DROP(three));
	}
#endif
	return 0;
}
