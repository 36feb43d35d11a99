/* ptrace at its edges not: i386 s390x */
#include "tiny.h"
#include <linux/ptrace.h>
#include <asm/signal.h>
#include <asm/siginfo.h>
#include <linux/uio.h>
#include <linux/elf.h>
static char buf[4096]; static long words[64]; static siginfo_t si; static int status;
static long pt(int r, long pid, long a, long d) { return sys(__NR_ptrace, r, pid, a, d); }
#define P(r, a, d) say("%s: %r\n", #r " " #a " " #d, pt(r, pid, (long)(a), (long)(d)))
static void stop(const char *what, long pid) { status = -1; long r = sys(__NR_wait4, pid, &status, 0x40000000, 0); say("%s: %r status %x\n", what, r == pid ? 0 : r, (long)status); }
int main(int argc, char **argv)
{
	long pid, msg;
	 
	pid = sys(__NR_getpid); P(PTRACE_ATTACH, 0, 0); P(PTRACE_SEIZE, 0, 0); pid = 0x3fffffff; P(PTRACE_ATTACH, 0, 0); P(PTRACE_CONT, 0, 0); pid = 2; P(PTRACE_ATTACH, 0, 0); pid = 0; P(PTRACE_ATTACH, 0, 0); P(PTRACE_PEEKDATA, 0, 0); pid = -1; P(PTRACE_KILL, 0, 0);
	pid = fork(); if (!pid) { sys(__NR_kill, sys(__NR_getpid), SIGSTOP); for (;;) sys(__NR_getppid); }
	sys(__NR_wait4, pid, &status, 2, 0); say("stopped %x\n", (long)status);
	P(PTRACE_CONT, 0, 0); P(PTRACE_SEIZE, 1, 0); P(PTRACE_SEIZE, 0, 1 << 30); P(PTRACE_SEIZE, 0, PTRACE_O_TRACESYSGOOD); P(PTRACE_SEIZE, 0, 0); P(PTRACE_ATTACH, 0, 0); P(PTRACE_PEEKDATA, buf, words); P(PTRACE_INTERRUPT, 1, 0); stop("interrupted", pid); P(PTRACE_GETSIGINFO, 0, &si); say("signo %d code %x\n", si.si_signo, (long)si.si_code); P(PTRACE_LISTEN, 0, 0); P(PTRACE_PEEKDATA, buf, words); P(PTRACE_INTERRUPT, 0, 0); stop("again", pid); sys(__NR_kill, pid, SIGCONT); 
	P(PTRACE_SETOPTIONS, 0, 1 << 22); P(PTRACE_SETOPTIONS, 0, PTRACE_O_EXITKILL | PTRACE_O_TRACESYSGOOD); P(PTRACE_GETEVENTMSG, 0, &msg); say("msg %l\n", msg); P(PTRACE_GETEVENTMSG, 0, 8); P(PTRACE_PEEKDATA, 8, words); P(PTRACE_PEEKDATA, buf, 8); P(PTRACE_PEEKUSR, 4, words); P(PTRACE_PEEKUSR, 15 * 8, words); say("orig %l\n", words[0]); P(PTRACE_PEEKUSR, 2000, words); P(PTRACE_PEEKUSR, 27 * 8, words); P(PTRACE_POKEUSR, 0, 5); P(PTRACE_POKEUSR, 17 * 8, 0); P(PTRACE_POKEUSR, 21 * 8, -1UL); P(PTRACE_POKEUSR, 848, 8); P(PTRACE_POKEUSR, 848, 1UL << 47); P(PTRACE_PEEKUSR, 848 + 6 * 8, words); say("dr6 %x\n", words[0]); P(PTRACE_POKEUSR, 848 + 7 * 8, 0x3); P(PTRACE_POKEUSR, 848 + 4 * 8, 0x3); P(PTRACE_PEEKUSR, 848 + 4 * 8, words); P(99, 0, 0); P(PTRACE_TRACEME, 0, 0);
	{ struct iovec v = { words, 100 }; P(PTRACE_GETREGSET, NT_PRSTATUS, &v); say("len %l\n", v.iov_len); v.iov_len = 1000; P(PTRACE_GETREGSET, NT_PRSTATUS, &v); say("len %l\n", v.iov_len); v.iov_len = 7; P(PTRACE_GETREGSET, NT_PRSTATUS, &v); P(PTRACE_GETREGSET, 99, &v); P(PTRACE_GETREGSET, NT_PRSTATUS, 8); v.iov_len = 16; v.iov_base = buf; P(PTRACE_GETREGSET, NT_PRFPREG, &v);  P(PTRACE_GETREGSET, 0x200, &v);  }
	P(PTRACE_GETSIGMASK, 8, buf); P(PTRACE_GETSIGMASK, 4, buf); P(PTRACE_SETSIGMASK, 8, 8); P(PTRACE_SETSIGINFO, 0, 8); P(PTRACE_SETSIGINFO, 0, &si); { struct { unsigned long off; unsigned flags; int nr; } a = { 0, 0, 3 }; P(PTRACE_PEEKSIGINFO, &a, buf); a.flags = 2; P(PTRACE_PEEKSIGINFO, &a, buf); a.flags = 1; a.nr = -1; P(PTRACE_PEEKSIGINFO, &a, buf); } P(PTRACE_SECCOMP_GET_FILTER, 0, 0); P(PTRACE_SECCOMP_GET_METADATA, 16, buf); P(PTRACE_GET_SYSCALL_INFO, 4096, buf); P(PTRACE_GET_SYSCALL_INFO, 4, buf); say("op %d arch %x\n", buf[0], (long)*(unsigned *)(buf + 4)); P(PTRACE_GET_RSEQ_CONFIGURATION, 24, buf); P(PTRACE_GET_RSEQ_CONFIGURATION, 8, buf); 
	P(PTRACE_CONT, 0, 65); P(PTRACE_CONT, 0, -1); P(PTRACE_SINGLEBLOCK, 0, 99); 
	return 0;
}
