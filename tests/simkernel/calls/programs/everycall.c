/* Which numbers are no call: each from 0 to 470, with zeros and with ones, is ENOSYS or is not. not: i386 s390x */
#include "tiny.h"
#include "callnames.h"

static int left_out(int number) /* these make a task, or end one */
{
	return number == __NR_clone || number == __NR_fork || number == __NR_vfork || number == __NR_clone3 || number == __NR_exit ||
	       number == __NR_exit_group || number == __NR_rt_sigreturn;
}
static int unknown(int number, long fill)
{
	long pid = fork();
	if (!pid) {
		sys(__NR_setsid);
		sys(__NR_alarm, 1);
		long ret = sys(number, fill, fill, fill, fill, fill, fill);
		leave((int)ret == -ENOSYS ? 1 : 0);
	}
	return wait_for(pid) == 256;
}
int main(int argc, char **argv)
{
	for (int number = 0; number <= 470; number++) {
		int zeros, ones;
		if (left_out(number))
			continue;
		zeros = unknown(number, 0), ones = unknown(number, -1);
		const char *name = number < (int)(sizeof(call_names) / sizeof(*call_names)) && call_names[number] ? call_names[number] : "-";
		if (zeros || ones)
			say("%d %s: %s\n", number, name, zeros && ones ? "ENOSYS" : zeros ? "ENOSYS with zeros" : "ENOSYS with ones");
	}
	return 0;
}
