/* What the scripts beside it trace: a known number of system calls, functions with arguments, data with names. */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

__attribute__((noinline)) long add3(long a, long b, const char *s)
{
	__asm__ volatile("");
	return a * 2 + b + s[0];
}

__attribute__((noinline)) void deep(int n)
{
	if (n)
		deep(n - 1);
	__asm__ volatile("");
}

volatile long glob = 42;
char gtext[] = "global text";

int main(int argc, char **argv)
{
	int turns = argc > 1 ? atoi(argv[1]) : 3;
	char buffer[64];

	for (int i = 0; i < turns; i++) {
		open("/none", O_RDONLY);
		int fd = open("/tmp/wfile", O_CREAT | O_RDWR | O_TRUNC, 0644);
		write(fd, "hello world", 11);
		lseek(fd, i, SEEK_SET);
		read(fd, buffer, 5);
		close(fd);
		getppid();
		add3(i, 100 - i, "xyz");
		deep(i);
	}
	if (argc > 2) {
		pid_t pid = fork();
		if (!pid) {
			getppid();
			_exit(7);
		}
		waitpid(pid, NULL, 0);
	}
	unlink("/tmp/wfile");
	return (int)(glob - 42) + gtext[11];
}
