/* The time stamp counter: it grows between any two looks, by what a sleep took, and rdtscp names the CPU.  With an argument: what it says.
 * not: s390x */
#include "tiny.h"

static unsigned long long cycles(void)
{
	unsigned low, high;
	__asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
	return (unsigned long long)high << 32 | low;
}
static unsigned long long cycles_and_cpu(unsigned *cpu)
{
	unsigned low, high;
	__asm__ volatile("rdtscp" : "=a"(low), "=d"(high), "=c"(*cpu));
	return (unsigned long long)high << 32 | low;
}
int main(int argc, char **argv)
{
	unsigned long long last = cycles(), now, least = ~0ULL;
	unsigned cpu, there = 0;

	for (int i = 0; i < 1000; i++, last = now)
		if ((now = cycles()) - last < least)
			least = now - last;
	say("always later: %d\n", least > 0 && least < 1ULL << 40);
	now = cycles_and_cpu(&cpu);
	say("rdtscp later than rdtsc: %d\n", now > last);
	sys(__NR_getcpu, &there, 0, 0);
	say("its CPU: %d\n", cpu == there);
	last = cycles();
	nap(20);
	now = cycles() - last;
	say("a sleep of 20 ms took more than 10 million and less than 10 billion: %d\n", now > 10000000 && now < 10000000000ULL);
	long pid = fork();
	if (!pid)
		leave(cycles() > last ? 0 : 1);
	say("a child's is later: %d\n", wait_for(pid) == 0);
	if (argc > 1)
		say("%d %d\n", (int)last, (int)cycles());
	flush();
	return 0;
}
