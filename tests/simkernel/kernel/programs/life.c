/*
 * What a process can do: one part per argument, each prints lines that are the same on every Linux.
 * life.out holds what a real Linux printed.  build.py makes bin/ARCH/life with zig's musl.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t got, count;
static void note(int sig) { got = sig; count++; }
static sigjmp_buf back;
static siginfo_t seen;
static void fault(int sig, siginfo_t *info, void *context) { seen = *info; siglongjmp(back, sig); }

static int wait_for(pid_t pid)
{
	int status = 0;
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return status;
}

static void part_fork(void)
{
	int x = 1, status;
	int *shared = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t pid = fork();
	if (!pid) {
		x = 2;
		*shared = 42;
		_exit(getppid() == 1 ? 9 : 5);
	}
	status = wait_for(pid);
	printf("own x %d, shared %d, child exited %d with %d\n", x, *shared, WIFEXITED(status), WEXITSTATUS(status));
	printf("nobody left: %d %s\n", wait(0), strerror(errno));
	pid = vfork();
	if (!pid)
		_exit(7);
	printf("vfork %d\n", WEXITSTATUS(wait_for(pid)));
	pid = fork();
	if (!pid) {
		if (!fork()) {
			usleep(20000);
			_exit(0);
		}
		_exit(3);
	}
	printf("grandchild does not matter: %d\n", WEXITSTATUS(wait_for(pid)));
	siginfo_t info;
	memset(&info, 0, sizeof info);
	pid = fork();
	if (!pid)
		_exit(11);
	waitid(P_PID, pid, &info, WEXITED | WNOWAIT);
	printf("waitid code %d status %d, still there %d\n", info.si_code, info.si_status, wait_for(pid) >> 8);
	pid = fork();
	if (!pid) {
		execl("/no/such/program", "x", (char *)0);
		_exit(errno == ENOENT ? 20 : 21);
	}
	printf("exec of nothing %d\n", WEXITSTATUS(wait_for(pid)));
}

static void part_exec(char *self)
{
	char *argv[] = { "renamed", "child", "a b", "", 0 }, *envp[] = { "ONE=1", "TWO=", 0 };
	pid_t pid = fork();
	if (!pid) {
		execve(self, argv, envp);
		_exit(99);
	}
	printf("exec child %d\n", WEXITSTATUS(wait_for(pid)));
}

static int part_child(int argc, char **argv, char **envp)
{
	for (int i = 0; i < argc; i++)
		printf("argv[%d] = '%s'\n", i, argv[i]);
	for (; *envp; envp++)
		printf("env '%s'\n", *envp);
	fflush(stdout);
	return argc;
}

static void part_signals(void)
{
	struct sigaction action = { .sa_handler = note };
	int status;
	pid_t pid;

	sigaction(SIGUSR1, &action, 0);
	raise(SIGUSR1);
	printf("raised: got %d\n", got);
	sigset_t set, old;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, &old);
	got = 0;
	raise(SIGUSR1);
	raise(SIGUSR1);
	count = 0;
	printf("blocked: got %d\n", got);
	sigpending(&set);
	printf("pending %d\n", sigismember(&set, SIGUSR1));
	sigprocmask(SIG_SETMASK, &old, 0);
	printf("unblocked: got %d, %d times\n", got, count);
	pid = fork();
	if (!pid)
		for (;;)
			pause();
	usleep(1000);
	kill(pid, SIGTERM);
	printf("terminated by %d\n", WTERMSIG(wait_for(pid)));
	pid = fork();
	if (!pid)
		for (;;)
			;
	usleep(10000);
	kill(pid, SIGSTOP);
	waitpid(pid, &status, WUNTRACED);
	printf("stopped %d by %d\n", WIFSTOPPED(status), WSTOPSIG(status));
	kill(pid, SIGCONT);
	waitpid(pid, &status, WCONTINUED);
	printf("continued %d\n", WIFCONTINUED(status));
	kill(pid, SIGKILL);
	printf("killed by %d\n", WTERMSIG(wait_for(pid)));
	action.sa_handler = note;
	action.sa_flags = 0;
	sigaction(SIGALRM, &action, 0);
	struct itimerval timer = { { 0, 0 }, { 0, 5000 } };
	setitimer(ITIMER_REAL, &timer, 0);
	int result = usleep(2000000);
	printf("sleep interrupted: %d %s got %d\n", result, strerror(errno), got);
	int fds[2];
	char byte;
	pipe(fds);
	action.sa_flags = SA_RESTART;
	sigaction(SIGALRM, &action, 0);
	pid = fork();
	if (!pid) {
		usleep(20000);
		write(fds[1], "x", 1);
		_exit(0);
	}
	setitimer(ITIMER_REAL, &timer, 0);
	got = 0;
	result = read(fds[0], &byte, 1);
	printf("read restarted: %d '%c' got %d\n", result, byte, got);
	wait_for(pid);
	signal(SIGPIPE, SIG_IGN);
	close(fds[0]);
	result = write(fds[1], "y", 1);
	printf("broken pipe: %d %s\n", result, strerror(errno));
	pid = fork();
	if (!pid) {
		signal(SIGPIPE, SIG_DFL);
		write(fds[1], "y", 1);
		_exit(0);
	}
	printf("dies of %d\n", WTERMSIG(wait_for(pid)));
	pid = fork();
	if (!pid) {
		sigset_t wanted;
		siginfo_t info;
		sigemptyset(&wanted);
		sigaddset(&wanted, SIGUSR2);
		sigprocmask(SIG_BLOCK, &wanted, 0);
		kill(getpid(), SIGUSR2);
		_exit(sigwaitinfo(&wanted, &info) == SIGUSR2 && info.si_pid == getpid() ? 33 : 34);
	}
	printf("sigwaitinfo %d\n", WEXITSTATUS(wait_for(pid)));
}

static void part_faults(void)
{
	struct sigaction action = { .sa_sigaction = fault, .sa_flags = SA_SIGINFO };
	char *page = mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int sig;

	sigaction(SIGSEGV, &action, 0);
	sigaction(SIGBUS, &action, 0);
	sigaction(SIGILL, &action, 0);
	page[4096] = 1;
	munmap(page + 4096, 4096);
	if (!(sig = sigsetjmp(back, 1)))
		page[4100] = 1;
	printf("unmapped: signal %d code %d at +%ld\n", sig, seen.si_code, (long)((char *)seen.si_addr - page) & ~4095L);
	mprotect(page, 4096, PROT_READ);
	if (!(sig = sigsetjmp(back, 1)))
		page[8] = 1;
	printf("read only: signal %d code %d, still %d\n", sig, seen.si_code, page[8]);
	mprotect(page, 4096, PROT_READ | PROT_WRITE);
	page[8] = 5;
	printf("writable again %d\n", page[8]);
	int fd = open("/tmp/short", O_RDWR | O_CREAT | O_TRUNC, 0600);
	write(fd, "abc", 3);
	char *file = mmap(0, 8192, PROT_READ, MAP_SHARED, fd, 0);
	if (!(sig = sigsetjmp(back, 1)))
		page[0] = file[5000];
	printf("behind the end: signal %d, before %c\n", sig, file[2]);
	static char alternate[16384];
	stack_t stack = { .ss_sp = alternate, .ss_size = sizeof alternate };
	sigaltstack(&stack, 0);
	action.sa_flags = SA_SIGINFO | SA_ONSTACK;
	sigaction(SIGSEGV, &action, 0);
	if (!(sig = sigsetjmp(back, 1)))
		*(volatile char *)16 = 1;
	printf("on the other stack: signal %d at %ld\n", sig, (long)seen.si_addr);
	pid_t pid = fork();
	if (!pid) {
		signal(SIGSEGV, SIG_DFL);
		*(volatile char *)16 = 1;
	}
	printf("default: %d\n", WTERMSIG(wait_for(pid)));
	pid = fork();
	if (!pid)
		abort();
	printf("abort: %d\n", WTERMSIG(wait_for(pid)));
}

static void part_memory(void)
{
	size_t size = 1 << 20;
	char *big = mmap(0, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memset(big, 7, size);
	pid_t pid = fork();
	if (!pid) {
		big[100] = 1;
		_exit(big[100] + big[5000]);
	}
	int status = wait_for(pid);
	printf("copy on write: child %d parent %d\n", WEXITSTATUS(status), big[100]);
	char *moved = mremap(big, size, 4 * size, MREMAP_MAYMOVE);
	printf("grown: %d %d\n", moved[size - 1], moved[4 * size - 1]);
	madvise(moved, 4096, MADV_DONTNEED);
	printf("forgotten: %d %d\n", moved[0], moved[4096]);
	int fd = open("/tmp/mapped", O_RDWR | O_CREAT | O_TRUNC, 0600);
	ftruncate(fd, 10000);
	char *shared = mmap(0, 10000, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	char *own = mmap(0, 10000, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	strcpy(shared + 5000, "through the file");
	char text[32] = "";
	pread(fd, text, 17, 5000);
	printf("file says '%s', private mapping '%s'\n", text, own + 5000);
	strcpy(own + 5000, "mine");
	pwrite(fd, "THROUGH", 7, 5000);
	printf("shared '%s', private '%s'\n", shared + 5000, own + 5000);
	void *now = sbrk(0);
	printf("brk moves %d\n", sbrk(40000) == now && sbrk(-40000) == (char *)now + 40000);
	printf("no such length %d %s\n", mmap(0, 0, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED, strerror(errno));
	volatile char deep[300000];
	deep[0] = 1;
	deep[299999] = 2;
	printf("stack grows %d\n", deep[0] + deep[299999]);
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t turn_changed = PTHREAD_COND_INITIALIZER;
static int turn, steps;
static long total;
static __thread long mine;
static void *worker(void *arg)
{
	long id = (long)arg;
	mine = id;
	for (int i = 0; i < 50; i++) {
		pthread_mutex_lock(&lock);
		while (turn != id)
			pthread_cond_wait(&turn_changed, &lock);
		steps++;
		turn = (turn + 1) % 4;
		pthread_cond_broadcast(&turn_changed);
		pthread_mutex_unlock(&lock);
	}
	for (int i = 0; i < 20000; i++)
		__atomic_add_fetch(&total, 1, __ATOMIC_SEQ_CST);
	return (void *)(mine * 10 + 1);
}
static void *quiet(void *arg) { usleep(1000); pthread_exit((void *)3); }

static void part_threads(void)
{
	pthread_t threads[4];
	long sum = 0;
	void *result;
	for (long i = 0; i < 4; i++)
		pthread_create(&threads[i], 0, worker, (void *)i);
	for (int i = 0; i < 4; i++) {
		pthread_join(threads[i], &result);
		sum += (long)result;
	}
	printf("%d steps in turn, total %ld, results %ld, own tls %ld\n", steps, total, sum, mine);
	struct timespec until;
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += 5000000;
	if (until.tv_nsec >= 1000000000)
		until.tv_nsec -= 1000000000, until.tv_sec++;
	pthread_mutex_lock(&lock);
	int late = pthread_cond_timedwait(&turn_changed, &lock, &until);
	pthread_mutex_unlock(&lock);
	printf("timed out %d\n", late == ETIMEDOUT);
	pid_t pid = fork();
	if (!pid) {
		pthread_create(&threads[0], 0, quiet, 0);
		pthread_join(threads[0], &result);
		_exit((long)result);
	}
	printf("threads in a child %d\n", WEXITSTATUS(wait_for(pid)));
	pid = fork();
	if (!pid) {
		for (long i = 0; i < 3; i++)
			pthread_create(&threads[i], 0, quiet, 0);
		exit(6);
	}
	printf("exit_group ends all %d\n", WEXITSTATUS(wait_for(pid)));
}

static void part_time(void)
{
	struct timespec a, b, pause = { 0, 30000000 };
	clock_gettime(CLOCK_MONOTONIC, &a);
	nanosleep(&pause, 0);
	clock_gettime(CLOCK_MONOTONIC, &b);
	long ms = (b.tv_sec - a.tv_sec) * 1000 + (b.tv_nsec - a.tv_nsec) / 1000000;
	printf("slept enough %d, not too long %d\n", ms >= 30, ms < 500);
	struct timespec bad = { 0, 2000000000 };
	printf("bad time %d %s\n", nanosleep(&bad, 0), strerror(errno));
	b.tv_nsec += 1000000;
	if (b.tv_nsec >= 1000000000)
		b.tv_nsec -= 1000000000, b.tv_sec++;
	printf("absolute %d\n", clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &b, 0));
	timer_t timer;
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR2 };
	struct itimerspec when = { { 0, 2000000 }, { 0, 2000000 } };
	struct sigaction action = { .sa_handler = note };
	sigaction(SIGUSR2, &action, 0);
	count = 0;
	timer_create(CLOCK_MONOTONIC, &event, &timer);
	timer_settime(timer, 0, &when, 0);
	while (count < 3)
		;
	timer_delete(timer);
	printf("periodic timer %d\n", count >= 3);
	printf("alarm left %u\n", (alarm(100), alarm(0)));
}

static void part_ids(void)
{
	struct rlimit limit;
	printf("uid %d\n", getuid());
	printf("group leader %d\n", getpgid(0) == getpgrp());
	pid_t pid = fork();
	if (!pid) {
		int fresh = setsid() == getpid() && getsid(0) == getpid() && getpgrp() == getpid();
		_exit(fresh && setsid() == -1 && errno == EPERM ? 1 : 2);
	}
	printf("own session %d\n", WEXITSTATUS(wait_for(pid)));
	pid = fork();
	if (!pid) {
		setgid(1000);
		setuid(1000);
		_exit(geteuid() == 1000 && setuid(0) == -1 && errno == EPERM && kill(1, 0) == -1 && errno == EPERM ? 1 : 2);
	}
	printf("dropped rights %d\n", WEXITSTATUS(wait_for(pid)));
	getrlimit(RLIMIT_NOFILE, &limit);
	limit.rlim_cur = 8;
	setrlimit(RLIMIT_NOFILE, &limit);
	int fd, last = -1;
	while ((fd = dup(0)) >= 0)
		last = fd;
	printf("limited to %d: %s\n", last, strerror(errno));
	printf("no such process %d %s\n", kill(32000, 0), strerror(errno));
	printf("no such signal %d %s\n", kill(getpid(), 99), strerror(errno));
}

int main(int argc, char **argv, char **envp)
{
	setvbuf(stdout, 0, _IOLBF, 0);
	if (argc > 1 && !strcmp(argv[1], "child"))
		return part_child(argc, argv, envp);
	for (int i = 1; i < argc; i++) {
		printf("-- %s\n", argv[i]);
		fflush(stdout);
		if (!strcmp(argv[i], "fork")) part_fork();
		if (!strcmp(argv[i], "exec")) part_exec(argv[0]);
		if (!strcmp(argv[i], "signals")) part_signals();
		if (!strcmp(argv[i], "faults")) part_faults();
		if (!strcmp(argv[i], "memory")) part_memory();
		if (!strcmp(argv[i], "threads")) part_threads();
		if (!strcmp(argv[i], "time")) part_time();
		if (!strcmp(argv[i], "ids")) part_ids();
	}
	return 0;
}
