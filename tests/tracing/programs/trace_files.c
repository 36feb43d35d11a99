/* Every operation on an open file, asked of the files of tracefs: open flags, seeks, reads and writes of odd sizes, what is refused. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/uio.h>
#include <sys/xattr.h>
#include <unistd.h>
#define R(e) ({ errno = 0; long r_ = (e); r_ < 0 ? (long)-errno : r_; })
static const char *files[] = {"trace", "trace_pipe", "tracing_on", "current_tracer", "available_tracers", "available_events", "set_event", "set_event_pid", "set_ftrace_pid", "set_ftrace_filter", "available_filter_functions", "trace_marker", "trace_marker_raw", "trace_options", "trace_clock", "buffer_size_kb", "buffer_total_size_kb", "snapshot", "kprobe_events", "kprobe_profile", "uprobe_events", "dynamic_events", "synthetic_events", "error_log", "saved_cmdlines", "saved_tgids", "README", "events/enable", "events/header_page", "events/sched/enable", "events/sched/filter", "events/sched/sched_switch/enable", "events/sched/sched_switch/filter", "events/sched/sched_switch/format", "events/sched/sched_switch/id", "events/sched/sched_switch/trigger", "events/sched/sched_switch/hist", "per_cpu/cpu0/stats", "per_cpu/cpu0/trace_pipe_raw", "per_cpu/cpu0/trace", "per_cpu/cpu0/snapshot_raw", "options/raw", "free_buffer", "stack_trace", "stack_max_size", "max_graph_depth", "tracing_cpumask", "timestamp_mode", "set_graph_function", "enabled_functions", "dyn_ftrace_total_info", "buffer_percent", "tracing_thresh", "saved_cmdlines_size", "instances", "events", "."};
int main(void)
{
	setvbuf(stdout, 0, _IOLBF, 0); chdir("/sys/kernel/tracing"); char b[8192];
	struct statfs sf; statfs(".", &sf); printf("statfs %lx bsize %ld blocks %ld namelen %ld\n", (long)sf.f_type, (long)sf.f_bsize, (long)sf.f_blocks, (long)sf.f_namelen);
	for (unsigned i = 0; i < sizeof files / sizeof *files; i++) {
		const char *f = files[i]; struct stat s; long r = R(stat(f, &s)); printf("== %s %ld mode %o size %ld blocks %ld nlink %d blksize %ld\n", f, r, s.st_mode, (long)s.st_size, (long)s.st_blocks, S_ISDIR(s.st_mode) ? 0 : (int)s.st_nlink, (long)s.st_blksize);
		int fl[] = {O_RDONLY, O_WRONLY, O_RDWR, O_WRONLY | O_APPEND, O_RDONLY | O_TRUNC, O_DIRECTORY, O_CREAT | O_RDWR, O_CREAT | O_EXCL | O_RDWR, O_PATH, O_RDONLY | O_NOFOLLOW, O_RDWR | O_TMPFILE, O_RDONLY | O_DIRECT, O_RDONLY | O_NOATIME};
		for (unsigned j = 0; j < sizeof fl / sizeof *fl; j++) { if ((!strcmp(f, "free_buffer") && j != 0) || (S_ISDIR(s.st_mode) && j == 11)) continue; long fd = R(open(f, fl[j] | O_NONBLOCK, 0644)); printf(" open %u: %ld", j, fd < 0 ? fd : 0); if (fd >= 0) close(fd); } puts("");
		if (S_ISDIR(s.st_mode)) { printf(" mkdir %ld rmdir %ld unlink %ld rename %ld symlink %ld mknod %ld creat %ld\n", R(mkdir("events/new", 0755)), R(rmdir(f)), R(unlink(f)), R(rename(f, "nosuch")), R(symlink("a", "linkname")), R(mknod("node", S_IFIFO, 0)), R(open("newfile", O_CREAT | O_RDWR, 0644))); continue; }
		printf(" unlink %ld rename %ld link %ld truncate %ld access %ld %ld %ld setxattr %ld getxattr %ld list %ld\n", R(unlink(f)), R(rename(f, "x")), R(link(f, "x")), strcmp(f, "snapshot") ? R(truncate(f, 0)) : 0, R(access(f, R_OK)), R(access(f, W_OK)), R(access(f, X_OK)), R(setxattr(f, "user.a", "b", 1, 0)), R(getxattr(f, "user.a", b, 10)), R(listxattr(f, b, 10)));
		int rd = open(f, O_RDONLY | O_NONBLOCK);
		if (rd >= 0) {
			printf(" read 0 %ld read 1 %ld lseek set 5 %ld cur 0 %ld end %ld -1 %ld data %ld hole %ld big %ld\n", R(read(rd, b, 0)), R(read(rd, b, 1)), R(lseek(rd, 5, SEEK_SET)), R(lseek(rd, 0, SEEK_CUR)), R(lseek(rd, 0, SEEK_END)), R(lseek(rd, -1, SEEK_SET)), R(lseek(rd, 0, SEEK_DATA)), R(lseek(rd, 0, SEEK_HOLE)), R(lseek(rd, 1L << 62, SEEK_SET)));
			long a, c; lseek(rd, 0, SEEK_SET); a = R(read(rd, b, 10)); char first[16] = ""; if (a > 0) memcpy(first, b, a); c = R(pread(rd, b, 4, 3)); printf(" read 10: %ld pread 4 at 3: %ld %d pread at 100000: %ld pread -1 %ld readbad %ld", a, c, c == 4 && a == 10 ? !memcmp(b, first + 3, 4) : -1, strcmp(f, "available_filter_functions") && strcmp(f, "printk_formats") && strcmp(f, "available_events")? R(pread(rd, b, 4, 100000)) : 0, R(pread(rd, b, 4, -1)), R(read(rd, (void *)8, 4)));
			struct iovec v[2] = {{b, 2}, {b + 2, 3}}; lseek(rd, 0, SEEK_SET); printf(" readv %ld preadv %ld", R(readv(rd, v, 2)), R(preadv(rd, v, 2, 1)));
			struct pollfd p = {rd, POLLIN | POLLOUT | POLLPRI, 0}; long q = R(poll(&p, 1, 0)); printf(" poll %ld %x write %ld ftruncate %ld fsync %ld fdatasync %ld", q, p.revents, R(write(rd, "0", 1)), R(ftruncate(rd, 0)), R(fsync(rd)), R(fdatasync(rd)));
			void *m = mmap(0, 4096, PROT_READ, MAP_PRIVATE, rd, 0); printf(" mmap %d ioctl %ld %ld fionread %ld fallocate %ld fadvise %ld flock", m == MAP_FAILED ? errno : 0, R(ioctl(rd, 0x1234, 0)), R(ioctl(rd, 0x5401, b)), R(ioctl(rd, 0x541B, b)), R(fallocate(rd, 0, 0, 10)), R(posix_fadvise(rd, 0, 10, 0)));
			int pp[2]; pipe2(pp, O_NONBLOCK); lseek(rd, 0, SEEK_SET); printf(" splice %ld", strcmp(f, "per_cpu/cpu0/trace_pipe_raw") ? R(splice(rd, 0, pp[1], 0, 20, SPLICE_F_NONBLOCK)) : 0); close(pp[0]); close(pp[1]); pipe2(pp, O_NONBLOCK); lseek(rd, 0, SEEK_SET); printf(" sendfile %ld copy_range %ld\n", strcmp(f, "trace_pipe") ? R(sendfile(pp[1], rd, 0, 20)) : 0, R(copy_file_range(rd, 0, pp[1], 0, 10, 0))); close(pp[0]); close(pp[1]); close(rd);
		}
		int wr = open(f, O_WRONLY | O_NONBLOCK); if (!strcmp(f, "free_buffer") && wr >= 0) { close(wr); continue; }
		if (wr >= 0) {
			printf(" wr: write 0 %ld bad %ld read %ld lseek %ld pwrite 0 %ld writev %ld", R(write(wr, "0", 0)), R(write(wr, (void *)8, 4)), R(read(wr, b, 1)), R(lseek(wr, 3, SEEK_SET)), R(pwrite(wr, "0", 0, 5)), R(writev(wr, (struct iovec[]){{"", 0}}, 1)));
			char *big = malloc(70000); memset(big, 'a', 70000); big[69999] = '\n'; printf(" 300 %ld", R(write(wr, big, 300))); printf(" 5000 %ld", R(write(wr, big, 5000))); printf(" 70000 %ld", R(write(wr, big, 70000))); printf(" nul %ld", R(write(wr, "\0", 1))); printf(" nl %ld", R(write(wr, "\n", 1))); printf(" sp %ld", R(write(wr, " ", 1))); printf(" tab0 %ld", R(write(wr, "\t0\n", 3)));
			struct pollfd p = {wr, POLLIN | POLLOUT, 0}; long q = R(poll(&p, 1, 0)); printf(" poll %ld %x ftruncate %ld", q, p.revents, R(ftruncate(wr, 0))); int pp[2]; pipe(pp); write(pp[1], "0\n", 2); printf(" splice %ld\n", R(splice(pp[0], 0, wr, 0, 2, 0))); close(pp[0]); close(pp[1]); close(wr); free(big);
		}
	}
	return 0;
}
