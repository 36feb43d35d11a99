/* Probes of sys/sdt.h: arguments in registers, memory and constants; one with a semaphore; called, in a child, and after exec. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#define _SDT_HAS_SEMAPHORES 1
#include <sys/sdt.h>

__extension__ unsigned short places_guarded_semaphore __attribute__((unused)) __attribute__((section(".probes")));
unsigned short places_plain_semaphore __attribute__((section(".probes")));

struct pair {
	signed char small;
	short middle;
	unsigned int wide;
} pairs[3] = { { -1, -300, 70000 }, { 2, 301, 0xfffffff0u }, { -3, 302, 3 } };

__attribute__((noinline)) long twice(long value)
{
	return 2 * value;
}

__attribute__((noinline)) void visit(int index)
{
	STAP_PROBE4(places, plain, pairs[index].small, pairs[index].middle, pairs[index].wide, -5);
	if (places_guarded_semaphore)
		STAP_PROBE1(places, guarded, twice(index));
}

int main(int argc, char **argv)
{
	int status = 0, guarded = places_guarded_semaphore;

	for (int i = 0; i < 3; i++)
		visit(i);
	if (argc < 2) {
		fflush(stdout);
		if (!fork()) {
			visit(1);
			execl(argv[0], argv[0], "again", (char *)NULL);
			_exit(9);
		}
		wait(&status);
	}
	printf("%ld %d %d\n", twice(argc), guarded > 0, status);
	return 0;
}
