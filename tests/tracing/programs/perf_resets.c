/* What RESET takes along of what children counted, by who waited how. */
#include "asking.h"
static int fd; static void hit(int n) { while (n--) syscall(SYS_getppid); }
static int start(void) { struct perf_event_attr a = {.type = PERF_TYPE_TRACEPOINT, .inherit = 1}; a.config = tp_id("syscalls/sys_enter_getppid"); return fd = peo(&a, 0, -1, -1, 0); }
int main(void) {
	setvbuf(stdout, 0, _IONBF, 0); int st, p[2], q[2]; char c; pipe(p); pipe(q);
	start(); hit(3); if (!fork()) { hit(5); _exit(0); } usleep(100000); printf("slept: %llu", cnt(fd)); wait(&st); ioctl(fd, PERF_EVENT_IOC_RESET, 0); printf(" reset %llu\n", cnt(fd)); close(fd);
	start(); hit(3); if (!fork()) { for (int i = 0; i < 3; i++) { read(p[0], &c, 1); hit(1); write(q[1], "y", 1); } _exit(0); } for (int i = 0; i < 3; i++) { hit(1); write(p[1], "x", 1); read(q[0], &c, 1); } printf("ping pong: %llu", cnt(fd)); wait(&st); ioctl(fd, PERF_EVENT_IOC_RESET, 0); printf(" reset %llu\n", cnt(fd)); close(fd);
	start(); hit(1); for (int i = 0; i < 3; i++) if (!fork()) { hit(10 << i); _exit(0); } while (wait(&st) > 0); printf("three: %llu", cnt(fd)); ioctl(fd, PERF_EVENT_IOC_RESET, 0); printf(" reset %llu\n", cnt(fd)); close(fd);
	start(); hit(1); if (!fork()) { hit(2); if (!fork()) { hit(4); _exit(0); } wait(&st); hit(8); _exit(0); } wait(&st); printf("grandchild: %llu", cnt(fd)); ioctl(fd, PERF_EVENT_IOC_RESET, 0); printf(" reset %llu\n", cnt(fd)); close(fd);
	start(); hit(1); if (!vfork()) { hit(2); _exit(0); } printf("vfork: %llu", cnt(fd)); wait(&st); ioctl(fd, PERF_EVENT_IOC_RESET, 0); printf(" reset %llu\n", cnt(fd)); close(fd);
	start(); ioctl(fd, PERF_EVENT_IOC_DISABLE, 0); hit(1); if (!fork()) { hit(2); _exit(0); } wait(&st); printf("disabled: %llu", cnt(fd)); ioctl(fd, PERF_EVENT_IOC_ENABLE, 0); if (!fork()) { hit(2); _exit(0); } wait(&st); printf(" enabled %llu\n", cnt(fd)); close(fd);
	return 0; }
