/* PERF_RECORD_NAMESPACES of forks, unshare(2), clone(2) and setns(2), and PERF_RECORD_CGROUP of new control groups. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>
#define R(e) ({ errno = 0; long r_ = (e); r_ < 0 ? (long)-errno : r_; })
static const char *kinds[] = {"net", "uts", "ipc", "pid", "user", "mnt", "cgroup"};
static unsigned long first[7];
static struct perf_event_mmap_page *ring;
static void look(unsigned long *out)
{
	for (int i = 0; i < 7; i++) {
		char path[40];
		struct stat s;
		sprintf(path, "/proc/self/ns/%s", kinds[i]);
		out[i] = stat(path, &s) ? 0 : s.st_ino;
	}
}
static void drain(const char *what)
{
	unsigned char *data = (void *)ring + 4096;
	unsigned long size = ring->data_size, at = ring->data_tail;
	struct stat s;
	stat("/proc/self/ns/net", &s);
	printf("== %s\n", what);
	while (at < ring->data_head) {
		unsigned char b[4096];
		struct perf_event_header *h = (void *)(data + at % size);
		for (int i = 0; i < h->size; i++)
			b[i] = data[(at + i) % size];
		h = (void *)b;
		printf("type %d misc %x size %d", h->type, h->misc, h->size);
		if (h->type == 16) {
			unsigned *p = (void *)(b + 8);
			unsigned long *q = (void *)(b + 16);
			printf(" own pid %d tid is pid %d nr %lu:", p[0] == getpid(), p[0] == p[1], q[0]);
			for (unsigned i = 0; i < q[0] && i < 8; i++)
				printf(" %s %s%s", kinds[i], q[2 + 2 * i] == first[i] ? "same" : "new", q[1 + 2 * i] == s.st_dev ? "" : " dev?");
		} else if (h->type == 19) {
			unsigned long id = *(unsigned long *)(b + 8);
			printf(" id %s path %s", id > 1 && id < 1000000 ? "small" : "?", b + 16);
		}
		puts("");
		at += h->size;
	}
	ring->data_tail = at;
}
static int child(void *unused)
{
	return 0;
}
int main(void)
{
	setvbuf(stdout, 0, _IONBF, 0);
	struct perf_event_attr a = {.type = PERF_TYPE_SOFTWARE, .size = sizeof a, .config = PERF_COUNT_SW_DUMMY, .namespaces = 1, .cgroup = 1, .task = 1};
	look(first);
	int all = R(syscall(SYS_perf_event_open, &a, -1, 0, -1, 0));
	printf("all %d\n", all > 0 ? 1 : all);
	ring = mmap(0, 5 * 4096, PROT_READ | PROT_WRITE, MAP_SHARED, all, 0);
	const char *cg = access("/sys/fs/cgroup/cgroup.procs", F_OK) ? "/sys/fs/cgroup/unified" : "/sys/fs/cgroup";
	char path[100];
	sprintf(path, "%s/records_one", cg);
	printf("mkdir %ld\n", R(mkdir(path, 0755)));
	drain("a control group");
	sprintf(path, "%s/records_one/longer_name", cg);
	printf("mkdir %ld\n", R(mkdir(path, 0755)));
	rmdir(path);
	sprintf(path, "%s/records_one", cg);
	rmdir(path);
	drain("one in it");
	close(all);
	a.sample_id_all = 1;
	a.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU;
	all = R(syscall(SYS_perf_event_open, &a, 0, -1, -1, 0));
	printf("own %d\n", all > 0 ? 1 : all);
	munmap(ring, 5 * 4096);
	ring = mmap(0, 5 * 4096, PROT_READ | PROT_WRITE, MAP_SHARED, all, 0);
	sprintf(path, "%s/records_one", cg);
	printf("mkdir %ld\n", R(mkdir(path, 0755)));
	drain("a control group");
	sprintf(path, "%s/records_one/longer_name", cg);
	printf("mkdir %ld\n", R(mkdir(path, 0755)));
	rmdir(path);
	sprintf(path, "%s/records_one", cg);
	rmdir(path);
	drain("one in it");
	if (!fork())
		_exit(0);
	wait(0);
	drain("fork");
	a.sample_id_all = 0;
	close(all);
	munmap(ring, 5 * 4096);
	all = R(syscall(SYS_perf_event_open, &a, -1, 0, -1, 0));
	ring = mmap(0, 5 * 4096, PROT_READ | PROT_WRITE, MAP_SHARED, all, 0);
	if (!fork())
		_exit(0);
	wait(0);
	drain("fork");
	int uts = open("/proc/self/ns/uts", O_RDONLY);
	printf("unshare %ld\n", R(unshare(CLONE_NEWUTS)));
	drain("unshare uts");
	printf("unshare %ld\n", R(unshare(CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWCGROUP)));
	drain("unshare mnt, ipc and cgroup");
	printf("unshare %ld\n", R(unshare(CLONE_FILES | CLONE_FS)));
	drain("unshare files and fs");
	printf("unshare %ld\n", R(unshare(0)));
	drain("unshare nothing");
	printf("unshare %ld\n", R(unshare(0x1)));
	drain("unshare refused");
	printf("setns %ld\n", R(setns(uts, CLONE_NEWUTS)));
	drain("setns uts");
	printf("setns %ld\n", R(setns(uts, CLONE_NEWNET)));
	drain("setns refused");
	static char stack[8192];
	clone(child, stack + 8192, SIGCHLD | CLONE_NEWNET, 0);
	wait(0);
	drain("clone with a network");
	clone(child, stack + 8192, SIGCHLD | CLONE_VM | CLONE_VFORK, 0);
	wait(0);
	drain("vfork");
	printf("unshare %ld\n", R(unshare(CLONE_NEWPID)));
	drain("unshare pid");
	return 0;
}
