/* Says hello, then its arguments; exits with their count. */
#include "tiny.h"

int main(int argc, char **argv)
{
	put("hello, world\n");
	for (int i = 1; i < argc; i++) {
		put(argv[i]);
		put("\n");
	}
	return argc - 1;
}
