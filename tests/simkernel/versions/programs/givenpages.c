/* What fallocate() gave a file of tmpfs and nobody touched: whether it is in memory, data or a hole, and what it takes. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#define PAGES 24
#define P 4096

static int fd;

static void show(const char *what)
{
	unsigned char vec[PAGES];
	struct stat st;
	fstat(fd, &st);
	printf("%-18s size %lld blocks %lld ", what, (long long)st.st_size, (long long)st.st_blocks);
	char *a = mmap(0, PAGES * P, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (mincore(a, PAGES * P, vec))
		printf("mincore %d", errno);
	else
		for (int i = 0; i < PAGES; i++)
			putchar('0' + (vec[i] & 1));
	munmap(a, PAGES * P);
	off_t at = 0;
	while ((at = lseek(fd, at, SEEK_DATA)) >= 0) {
		off_t end = lseek(fd, at, SEEK_HOLE);
		printf(" [%lld,%lld)", (long long)at, (long long)end);
		at = end;
	}
	printf(" %d\n", errno);
}

static void fresh(const char *name)
{
	if (fd)
		close(fd);
	fd = memfd_create(name, MFD_ALLOW_SEALING);
}

int main(void)
{
	char buf[P * 3], *a;
	setvbuf(stdout, 0, _IOLBF, 0);
	fresh("one");
	printf("%d\n", fallocate(fd, 0, 0, PAGES * P));
	show("given");
	printf("read %zd", read(fd, buf, sizeof buf));
	printf(" %d\n", buf[5]);
	show("read");
	pwrite(fd, "x", 1, 2 * P + 100);
	show("written");
	a = mmap(0, PAGES * P, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	printf("%d\n", a[5 * P]);
	show("loaded");
	a[20 * P] = 1;
	show("stored");
	printf("%d\n", a[21 * P]);
	show("loaded beside");
	madvise(a + 8 * P, 2 * P, MADV_POPULATE_READ);
	show("populated read");
	madvise(a + 10 * P, 2 * P, MADV_POPULATE_WRITE);
	show("populated write");
	madvise(a + 12 * P, P, MADV_WILLNEED);
	show("will need");
	printf("%d\n", fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, P, 2 * P));
	show("punched");
	printf("%d\n", fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 3 * P + 10, 20));
	show("punched inside");
	printf("%d\n", fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 15 * P + 10, 2 * P));
	show("punched uneven");
	printf("%d\n", fallocate(fd, 0, 0, PAGES * P));
	show("given again");
	printf("%d\n", ftruncate(fd, 7 * P + 100));
	show("shrunk");
	printf("%d\n", ftruncate(fd, PAGES * P));
	show("grown");
	munmap(a, PAGES * P);
	fresh("two");
	pwrite(fd, "y", 1, 2 * P);
	printf("%d\n", fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, 8 * P));
	show("kept size");
	printf("%d\n", ftruncate(fd, 6 * P));
	show("grown");
	printf("%d\n", ftruncate(fd, 3 * P + 7));
	show("shrunk");
	printf("%d\n", ftruncate(fd, 4 * P + 7));
	show("grown");
	printf("%d\n", fallocate(fd, 0, 5 * P + 7, 10));
	show("more");
	a = mmap(0, PAGES * P, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	printf("%d\n", a[5 * P]);
	show("private load");
	a[4 * P] = 3;
	show("private store");
	a[0] = 3;
	show("private store");
	munmap(a, PAGES * P);
	fresh("three");
	printf("%d\n", fallocate(fd, 0, 0, 6 * P));
	int other = memfd_create("target", 0);
	off_t from = P;
	printf("sendfile %zd\n", sendfile(other, fd, &from, 2 * P));
	show("sent");
	a = mmap(0, 6 * P, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0);
	show("mapped populated");
	munmap(a, 6 * P);
	fresh("four");
	printf("%d\n", fallocate(fd, 0, 0, 6 * P));
	printf("%d\n", posix_fadvise(fd, 0, 6 * P, POSIX_FADV_WILLNEED));
	show("advised");
	printf("%zd\n", readahead(fd, 0, 6 * P));
	show("read ahead");
	printf("%d\n", fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE));
	show("sealed");
	fresh("five");
	pwrite(fd, "abc", 3, 0);
	a = mmap(0, PAGES * P, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	a[10] = 'z';
	printf("%d\n", ftruncate(fd, 5));
	printf("behind the end %d\n", a[10]);
	a[10] = 'z';
	printf("%d\n", ftruncate(fd, 2 * P));
	printf("behind the old end %d\n", a[10]);
	printf("%d\n", ftruncate(fd, 7));
	a[10] = 'z';
	pwrite(fd, "q", 1, 20);
	printf("behind the old end %d\n", a[10]);
	show("written");
	printf("%d\n", fallocate(fd, 0, 0, 4 * P));
	printf("%d\n", fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, P, P));
	show("given and punched");
	return 0;
}
