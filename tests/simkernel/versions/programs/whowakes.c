/* Who runs when on one CPU: pipes back and forth, threads on one futex, children that become programs, end, or are of other priority. */
#include "turns.h"
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>

static char *self;

static void reap(void)
{
	while (wait(0) > 0)
		;
}

static void pingpong(void)
{
	int a[2], b[2];
	char c;
	pipe(a);
	pipe(b);
	if (!fork()) {
		for (int i = 0; i < 4; i++) {
			read(a[0], &c, 1);
			say("c");
			write(b[1], "x", 1);
			say("C");
		}
		_exit(0);
	}
	for (int i = 0; i < 4; i++) {
		say("p");
		write(a[1], "x", 1);
		say("P");
		read(b[0], &c, 1);
	}
	reap();
	close(a[0]);
	close(a[1]);
	close(b[0]);
	close(b[1]);
}

static void writer(void)
{
	int a[2];
	char c;
	pipe(a);
	if (!fork()) {
		close(a[1]);
		while (read(a[0], &c, 1) > 0)
			say("r");
		_exit(0);
	}
	usleep(2000);
	close(a[0]);
	for (int i = 0; i < 4; i++) {
		write(a[1], "x", 1);
		say("w");
	}
	close(a[1]);
	say("p");
	reap();
}

static void writing_child(void)
{
	int a[2];
	char c;
	pipe(a);
	if (!fork()) {
		close(a[0]);
		for (int i = 0; i < 4; i++) {
			write(a[1], "x", 1);
			say("w");
		}
		_exit(0);
	}
	close(a[1]);
	while (read(a[0], &c, 1) > 0)
		say("r");
	say("p");
	close(a[0]);
	reap();
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static int go;

static void *waits_for(void *name)
{
	pthread_mutex_lock(&lock);
	while (!go)
		pthread_cond_wait(&cond, &lock);
	pthread_mutex_unlock(&lock);
	say(name);
	return 0;
}

static void broadcast(void)
{
	static char *names[] = { "1", "2", "3", "4" };
	pthread_t t[4];
	go = 0;
	for (int i = 0; i < 4; i++) {
		pthread_create(&t[i], 0, waits_for, names[i]);
		usleep(2000);
	}
	pthread_mutex_lock(&lock);
	go = 1;
	pthread_cond_broadcast(&cond);
	pthread_mutex_unlock(&lock);
	say("p");
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], 0);
}

static void *locks(void *name)
{
	pthread_mutex_lock(&lock);
	say(name);
	pthread_mutex_unlock(&lock);
	return 0;
}

static void mutex(void)
{
	static char *names[] = { "1", "2", "3", "4" };
	pthread_t t[4];
	pthread_mutex_lock(&lock);
	for (int i = 0; i < 4; i++) {
		pthread_create(&t[i], 0, locks, names[i]);
		usleep(2000);
	}
	pthread_mutex_unlock(&lock);
	say("p");
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], 0);
}

static void *joined(void *x)
{
	say("t");
	return 0;
}

static void joins(void)
{
	for (int i = 0; i < 3; i++) {
		pthread_t t;
		pthread_create(&t, 0, joined, 0);
		say("p");
		pthread_join(t, 0);
		say("j");
	}
}

static void execs(void)
{
	static char *names[] = { "1", "2", "3" };
	for (int i = 0; i < 3; i++)
		if (!fork()) {
			char fd[12];
			say("c");
			sprintf(fd, "%d", told[1]);
			execl(self, self, fd, names[i], NULL);
			_exit(1);
		}
	say("p");
	reap();
}

static void ended(int n)
{
	say("S");
}

static void sigchld(void)
{
	signal(SIGCHLD, ended);
	for (int i = 0; i < 2; i++)
		if (!fork()) {
			work(1000);
			say("c");
			_exit(0);
		}
	say("p");
	while (wait(0) > 0)
		say("w");
	signal(SIGCHLD, SIG_DFL);
}

static void yielding(void)
{
	static char *names[] = { "1", "2", "3" };
	for (int i = 0; i < 3; i++)
		if (!fork()) {
			for (int n = 0; n < 3; n++) {
				say(names[i]);
				sched_yield();
			}
			_exit(0);
		}
	say("p");
	reap();
}

static void killed(void)
{
	int pid = fork();
	if (!pid) {
		say("c");
		pause();
		_exit(0);
	}
	usleep(2000);
	kill(pid, SIGTERM);
	say("k");
	waitpid(pid, 0, 0);
	say("w");
}

static void realtime(void)
{
	struct sched_param param = { 1 };
	if (!fork()) {
		say("c");
		sched_setscheduler(0, SCHED_FIFO, &param);
		say("f");
		if (!fork()) {
			say("g");
			_exit(0);
		}
		say("d");
		_exit(0);
	}
	say("p");
	reap();
}

static void pairs(void)
{
	int s[2];
	char c;
	socketpair(AF_UNIX, SOCK_STREAM, 0, s);
	if (!fork()) {
		for (int i = 0; i < 3; i++) {
			read(s[1], &c, 1);
			say("c");
			write(s[1], &c, 1);
		}
		_exit(0);
	}
	for (int i = 0; i < 3; i++) {
		write(s[0], "x", 1);
		say("p");
		read(s[0], &c, 1);
		say("r");
	}
	reap();
	close(s[0]);
	close(s[1]);
}

#define ROW(f) { #f, f }
static const struct {
	const char *name;
	void (*run)(void);
} rows[] = {
	ROW(pingpong), ROW(writer), ROW(writing_child), ROW(broadcast), ROW(mutex), ROW(joins), ROW(execs), ROW(sigchld),
	ROW(yielding), ROW(killed), ROW(realtime), ROW(pairs),
};

int main(int argc, char **argv)
{
	if (argc > 2) {
		write(atoi(argv[1]), argv[2], 1);
		return 0;
	}
	cpu_set_t first;
	CPU_ZERO(&first);
	CPU_SET(0, &first);
	sched_setaffinity(0, sizeof first, &first);
	self = argv[0];
	pipe(told);
	for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
		char seen[512];
		for (int round = 0; round < 3; round++) {
			usleep(10000);
			rows[i].run();
			say(".");
			if (!round) /* everything has been used once */
				read(told[0], seen, sizeof seen);
		}
		seen[read(told[0], seen, sizeof seen - 1)] = 0;
		printf("%-14s %s\n", rows[i].name, seen);
		fflush(stdout);
	}
	return 0;
}
