/* What a real s390x kernel says to every opcode, with operands of all zeros and others: the tables of arch/s390x/exceptions.py.
 *
 *     s390x-linux-gnu-gcc -O1 -static opcodes.c -o opcodes; BOOT_COMMAND -f opcodes /opcodes > opcodes.out
 *
 * One line for each signal that is not a memory fault: the instruction, signal, code, how far behind its first byte the counter stands.
 * QEMU itself dies of `csst` (c8.2), of moves with keys (e50a to e50f) and of vector instructions (e6, e7) with some operands: they are left out.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

static const unsigned char FILLS[] = {0x00, 0x11, 0x45, 0xee};
static const unsigned char EXIT[] = {0xa7, 0x29, 0, 77, 0xa7, 0x19, 0, 1, 0x0a, 0}; /* lghi %r2,77; lghi %r1,1; svc 0 */
static unsigned char *text, *data, shown[13];

static void on_signal(int signo, siginfo_t *info, void *context)
{
	char line[64];
	long behind = (long)((ucontext_t *)context)->uc_mcontext.psw.addr - (long)text;

	if (signo == SIGILL || signo == SIGFPE || signo == SIGTRAP)
		write(1, line, snprintf(line, sizeof(line), "%s %d %d %ld\n", shown, signo, info->si_code, behind));
	_exit(0);
}

static void ask(const unsigned char *insn, int length)
{
	static char stack[65536];
	stack_t alternative = {.ss_sp = stack, .ss_size = sizeof(stack)};
	struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_ONSTACK};

	for (int i = 0; i < length; i++)
		sprintf((char *)shown + 2 * i, "%02x", insn[i]);
	if (fork()) {
		wait(NULL);
		return;
	}
	sigaltstack(&alternative, NULL);
	for (int signo = SIGHUP; signo < SIGCHLD; signo++)
		sigaction(signo, &action, NULL);
	memcpy(text, insn, length);
	memcpy(text + length, EXIT, sizeof(EXIT));
	alarm(1);
	/* Every register but 14 and 15 is an odd address that can be read and written, or 0 where the operands are zeros. */
	asm volatile("lgr %%r14,%0\n lgr %%r0,%1\n lgr %%r2,%%r0\n lgr %%r3,%%r0\n lgr %%r4,%%r0\n lgr %%r5,%%r0\n lgr %%r6,%%r0\n"
		     "lgr %%r7,%%r0\n lgr %%r8,%%r0\n lgr %%r9,%%r0\n lgr %%r10,%%r0\n lgr %%r11,%%r0\n lgr %%r12,%%r0\n lgr %%r13,%%r0\n"
		     "lgr %%r1,%%r0\n br %%r14" ::"a"(text), "a"(insn[length - 1] || insn[1] ? data + 1025 : 0) : "memory", "14");
}

int main(void)
{
	static const int lengths[] = {2, 4, 4, 6};

	text = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	data = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) + (1 << 19);
	for (unsigned i = 0; i < sizeof(FILLS); i++)
		for (int first = 0; first < 256; first++) {
			int second = first == 0x01 || first == 0xb2 || first == 0xb3 || first == 0xb9 || first == 0xe5;
			int last = first == 0xe3 || first == 0xeb || first == 0xec || first == 0xed;

			if (first == 0xe7 || first == 0xe6 || first == 0xc8)
				continue;
			for (int more = 0; more < (second || last ? 256 : 1); more++) {
				unsigned char insn[6];

				memset(insn, FILLS[i], sizeof(insn));
				insn[0] = first;
				if (second || last)
					insn[second ? 1 : 5] = more;
				if (first != 0xe5 || more < 0x0a || more > 0x0f)
					ask(insn, lengths[first >> 6]);
			}
		}
	return 0;
}
