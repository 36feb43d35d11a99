/*
 * Makes writes of known sizes to /dev/null: in each round 1 of 1 byte, 2 of 2, 3 of 4, ... 13 of 4096, then one that fails
 * (the descriptor is open for reading only); finally one line on stdout.  `writer [ROUNDS]`, 1 if not said.
 */
#include "tiny.h"

static char data[4096];

int main(int argc, char **argv)
{
	ulong rounds = argc > 1 ? number_of(argv[1]) : 1, writes = 0, bytes = 0;
	int fd = syscall4(SYS_openat, -100, (long)"/dev/null", 1, 0);
	int read_only = syscall4(SYS_openat, -100, (long)"/dev/null", 0, 0);
	char line[96], *at;

	if (fd < 0) {
		put("writer: cannot open /dev/null\n");
		return 1;
	}
	for (ulong round = 0; round < rounds; round++) {
		for (int power = 0; power <= 12; power++) {
			for (int i = 0; i <= power; i++) {
				bytes += syscall4(SYS_write, fd, (long)data, 1L << power, 0);
				writes++;
			}
		}
		syscall4(SYS_write, read_only, (long)data, 7, 0);
	}
	syscall4(SYS_close, fd, 0, 0, 0);
	at = add(line, "wrote ");
	at = add_number(at, bytes);
	at = add(at, " bytes in ");
	at = add_number(at, writes);
	add(at, " writes\n");
	put(line);
	return 0;
}
