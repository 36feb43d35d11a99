/* PER_UNAME26: a release that begins with 2.6, for the process and its children. */
#include "tiny.h"
static char name[6][65];
static void release(const char *what)
{
	memset(name, 0, sizeof name);
	long ret = sys(__NR_uname, name);
	int n = 0;
	for (int dots = 0; name[2][n] && (name[2][n] == '.' || (name[2][n] >= '0' && name[2][n] <= '9')); n++)
		if (name[2][n] == '.' && ++dots == 3)
			break;
	name[2][n < 4 ? n : 4 + 2 * (name[2][0] == '2')] = 0;
	say("%s: %r %s %s\n", what, ret, name[0], name[2][0] == '2' ? name[2] : "its own");
}
int main(int argc, char **argv)
{
	release("before");
	say("%r\n", sys(__NR_personality, 0x20000));
	release("set");
	if (!fork()) {
		release("child");
		leave(0);
	}
	wait_for(-1);
	say("%r\n", sys(__NR_personality, 0));
	release("after");
	return 0;
}
