/* System V IPC and POSIX queues at their edges not: i386 s390x */
#include "tiny.h"
#include <linux/ipc.h>
#include <linux/msg.h>
#include <linux/sem.h>
#undef fork
#include <linux/shm.h>
#define fork() sys(__NR_fork)
#include <linux/mqueue.h>
#include <asm/signal.h>
#include <asm/siginfo.h>
static struct { long type; char text[9000]; } m;
static struct sembuf ops[600];
static unsigned short vals[40];
static struct msqid64_ds mds; static struct semid64_ds sds; static struct shmid64_ds hds;
static char buf[9000];
#define sem(i, n, o, f) (ops[i] = (struct sembuf){ n, o, f })
int main(int argc, char **argv)
{
	int q = sys(__NR_msgget, 0, 0600), s, h;
	(void)q;
	T(__NR_msgget, 0x1234, 0); T(__NR_msgget, 0x1234, IPC_CREAT | 0444); T(__NR_msgget, 0x1234, IPC_CREAT | IPC_EXCL); q = sys(__NR_msgget, 0x1234, 0);
	m.type = 0; T(__NR_msgsnd, q, &m, 1, 0); m.type = -1; T(__NR_msgsnd, q, &m, 1, 0); m.type = 1; T(__NR_msgsnd, q, &m, 8193, 0); T(__NR_msgsnd, q, &m, -1, 0); T(__NR_msgsnd, -1, &m, 1, 0); T(__NR_msgsnd, q + 1, &m, 1, 0); T(__NR_msgsnd, q, 0, 1, 0); T(__NR_msgsnd, q, 0, -1, 0); m.type = 5; T(__NR_msgsnd, q, &m, 0, 0);
	m.type = 3; T(__NR_msgsnd, q, &m, 10, 0); m.type = 2; T(__NR_msgsnd, q, &m, 20, 0); m.type = 9; T(__NR_msgsnd, q, &m, 30, 0);
	T(__NR_msgrcv, q, &m, 5, 3, IPC_NOWAIT); T(__NR_msgrcv, q, &m, 100, -4, IPC_NOWAIT); say("type %l\n", m.type); T(__NR_msgrcv, q, &m, 5, 3, IPC_NOWAIT | MSG_NOERROR); T(__NR_msgrcv, q, &m, 100, 4, IPC_NOWAIT); T(__NR_msgrcv, q, &m, 100, 5, IPC_NOWAIT | MSG_EXCEPT); say("type %l\n", m.type); T(__NR_msgrcv, q, &m, -1, 0, IPC_NOWAIT); T(__NR_msgrcv, q, &m, 100, 0, MSG_COPY); T(__NR_msgrcv, q, &m, 100, 0, MSG_COPY | IPC_NOWAIT); T(__NR_msgrcv, q, &m, 100, 1, MSG_COPY | IPC_NOWAIT); T(__NR_msgrcv, q, &m, 100, 0, MSG_COPY | IPC_NOWAIT | MSG_EXCEPT); T(__NR_msgrcv, q, &m, 100, 0x8000000000000000, IPC_NOWAIT); say("type %l\n", m.type); T(__NR_msgrcv, q, &m, 100, 0, IPC_NOWAIT); T(__NR_msgrcv, q, 0, 100, 0, IPC_NOWAIT);
	{ int n = 0; m.type = 1; while (sys(__NR_msgsnd, q, &m, 1000, IPC_NOWAIT) == 0) n++; say("filled %d", n); T(__NR_msgsnd, q, &m, 0, IPC_NOWAIT); T(__NR_msgctl, q, IPC_STAT, &mds); say("q %l c %l b %l spid %d key %x mode %x\n", mds.msg_qnum, mds.msg_cbytes, mds.msg_qbytes, mds.msg_lspid == sys(__NR_getpid), (long)mds.msg_perm.key, (long)mds.msg_perm.mode); }
	mds.msg_qbytes = 100000; T(__NR_msgctl, q, IPC_SET, &mds); mds.msg_perm.uid = -1; T(__NR_msgctl, q, IPC_SET, &mds); T(__NR_msgctl, q, 77, &mds); T(__NR_msgctl, q, IPC_STAT, 0); T(__NR_msgctl, -1, IPC_RMID, 0); { struct msginfo i; long r = sys(__NR_msgctl, 0, IPC_INFO, &i); say("info %r %d %d %d %d %d %d\n", r >= 0 ? 0 : r, i.msgpool, i.msgmap, i.msgmax, i.msgmnb, i.msgmni, i.msgssz); } T(__NR_msgctl, 99, MSG_STAT, &mds); T(__NR_msgctl, q, IPC_RMID, 0); T(__NR_msgctl, q, IPC_RMID, 0);
	/* semaphores */
	T(__NR_semget, 0, 0, 0600); T(__NR_semget, 0, -1, 0600); T(__NR_semget, 0, 32001, 0600); s = sys(__NR_semget, 0x77, 5, IPC_CREAT | 0600); T(__NR_semget, 0x77, 6, 0); T(__NR_semget, 0x77, 0, 0) ; T(__NR_semget, 0x78, 0, IPC_CREAT); 
	T(__NR_semop, s, ops, 0); T(__NR_semop, s, ops, 501); T(__NR_semop, s, 0, 1); T(__NR_semop, -1, ops, 1); sem(0, 5, 1, 0); T(__NR_semop, s, ops, 1); sem(0, 0, -1, IPC_NOWAIT); T(__NR_semop, s, ops, 1); sem(0, 0, 32767, 0); T(__NR_semop, s, ops, 1); sem(0, 0, 1, 0); T(__NR_semop, s, ops, 1); sem(0, 1, 5, 0), sem(1, 0, 1, 0); T(__NR_semop, s, ops, 2); T(__NR_semctl, s, 1, GETVAL, 0); sem(0, 1, 2, 0), sem(1, 1, -1, 0), sem(2, 1, 0, IPC_NOWAIT); T(__NR_semop, s, ops, 3); T(__NR_semctl, s, 1, GETVAL, 0); sem(0, 0, 0, IPC_NOWAIT); T(__NR_semop, s, ops, 1);
	T(__NR_semctl, s, 5, GETVAL, 0); T(__NR_semctl, s, -1, GETVAL, 0); T(__NR_semctl, s, 0, SETVAL, 32768); T(__NR_semctl, s, 0, SETVAL, -1); T(__NR_semctl, s, 0, SETVAL, 7); say("pid %d\n", sys(__NR_semctl, s, 0, GETPID, 0) == sys(__NR_getpid)); vals[2] = 40000; T(__NR_semctl, s, 0, SETALL, vals); vals[2] = 9; T(__NR_semctl, s, 77, SETALL, vals); T(__NR_semctl, s, 0, GETALL, vals); say("%d %d\n", vals[2], vals[0]); T(__NR_semctl, s, 0, GETNCNT, 0); T(__NR_semctl, s, 0, 99, 0); T(__NR_semctl, s, 0, IPC_STAT, &sds); say("n %l mode %x\n", sds.sem_nsems, (long)sds.sem_perm.mode); { struct seminfo i; long r = sys(__NR_semctl, 0, 0, IPC_INFO, &i); say("info %r %d %d %d %d %d %d %d %d %d\n", r >= 0 ? 0 : r, i.semmap, i.semmni, i.semmns, i.semmnu, i.semmsl, i.semopm, i.semume, i.semusz, i.semvmx); }
	{ struct __kernel_timespec t = { 0, 1000000 }, b = { 0, 1000000000 }; sem(0, 3, -1, 0); T(__NR_semtimedop, s, ops, 1, &t); T(__NR_semtimedop, s, ops, 1, &b); T(__NR_semtimedop, s, ops, 1, 8); }
	if (!fork()) { sem(0, 4, 3, SEM_UNDO); T(__NR_semop, s, ops, 1); sem(0, 4, -40, IPC_NOWAIT); T(__NR_semop, s, ops, 1); sem(0, 4, 32765, SEM_UNDO); T(__NR_semop, s, ops, 1); leave(0); } wait_for(-1); T(__NR_semctl, s, 4, GETVAL, 0);
	if (!fork()) { sem(0, 3, -1, 0); T(__NR_semop, s, ops, 1); leave(0); } nap(20); T(__NR_semctl, s, 3, GETNCNT, 0); sys(__NR_semctl, s, 0, IPC_RMID, 0); wait_for(-1);
	/* segments */
	T(__NR_shmget, 0, 0, 0600); T(__NR_shmget, 0, 1UL << 62, 0600); T(__NR_shmget, 0x55, 4096, SHM_HUGETLB | IPC_CREAT); h = sys(__NR_shmget, 0x55, 5000, IPC_CREAT | 0600); T(__NR_shmget, 0x55, 5001, 0); T(__NR_shmget, 0x55, 8192, 0); T(__NR_shmget, 0x55, 0, 0) ; T(__NR_shmat, h, 1, 0); T(__NR_shmat, h, 0, 040000); T(__NR_shmat, -1, 0, 0); T(__NR_shmat, h, 4097, 020000 | 040000) ;
	char *a = (char *)sys(__NR_shmat, h, 0, 0), *b; b = (char *)sys(__NR_shmat, h, a, 0); say("same place %r", (long)b); say(" remap %d\n", sys(__NR_shmat, h, a, 040000) == (long)a); b = (char *)sys(__NR_shmat, h, a + 8192 * 16 + 5, 020000); say("rounded %d\n", b == a + 8192 * 16); a[4999] = 5; a[8191] = 7; say("%d %d\n", b[4999], b[8191]);
	T(__NR_shmctl, h, IPC_STAT, &hds); say("size %l nattch %l mode %x cpid %d\n", hds.shm_segsz, hds.shm_nattch, (long)hds.shm_perm.mode, hds.shm_cpid == sys(__NR_getpid)); T(__NR_shmdt, a + 4096); T(__NR_shmdt, a + 1); T(__NR_munmap, a + 4096, 4096); T(__NR_shmctl, h, IPC_RMID, 0); T(__NR_shmctl, h, IPC_STAT, &hds); say("nattch %l mode %x key %x\n", hds.shm_nattch, (long)hds.shm_perm.mode, (long)hds.shm_perm.key); T(__NR_shmget, 0x55, 0, 0); T(__NR_shmctl, h, SHM_LOCK, 0); T(__NR_shmctl, h, SHM_UNLOCK, 0); say("attach removed %d\n", sys(__NR_shmat, h, 0, SHM_RDONLY) > 0); T(__NR_shmdt, b); T(__NR_shmdt, b); T(__NR_shmdt, a); T(__NR_shmdt, a); T(__NR_shmctl, h, 77, 0);
	if (!fork()) { sys(__NR_setresuid, 1000, 1000, 1000); T(__NR_shmget, 0, 4096, SHM_HUGETLB | IPC_CREAT | 0600); T(__NR_shmget, 0, 4096, IPC_CREAT | 0600 | SHM_NORESERVE) ; T(__NR_msgctl, sys(__NR_msgget, 0, 0), IPC_STAT, &mds); T(__NR_mlock, buf, 4096); T(__NR_mmap, 0, 1 << 21, 3, 0x40022, -1, 0); leave(0); } wait_for(-1);
	T(__NR_mmap, 0, 1 << 21, 3, 0x40022, -1, 0); T(__NR_mmap, 0, 4096, 3, 0x40022 | 30 << 26, -1, 0); T(__NR_mmap, 0, 4096, 3, 0x40022 | 5 << 26, -1, 0);
	return 0;
}
