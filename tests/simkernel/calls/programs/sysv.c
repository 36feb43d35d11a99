/* System V IPC. */
#include "tiny.h"
#include <linux/ipc.h>
#include <linux/msg.h>
#include <linux/sem.h>
#include <asm/shmbuf.h>
#define SHM_RDONLY 010000
#define SHM_RND 020000
#define SHM_REMAP 040000

struct message { long type; char text[64]; };
#ifndef __NR_msgget
#error "too old headers"
#endif
#if defined(__i386__) || defined(__s390x__)
#define semop(id, ops, n) sys(__NR_ipc, 1, id, n, 0, ops, 0)
#else
#define semop(id, ops, n) sys(__NR_semop, id, ops, n)
#endif

static long send(long q, long type, const char *text, int flags)
{
	struct message m = { type };
	memcpy(m.text, text, strlen(text));
	return sys(__NR_msgsnd, q, &m, strlen(text), flags);
}

static void receive(long q, long type, long size, int flags)
{
	struct message m = { 0 };
	long got = sys(__NR_msgrcv, q, &m, size, type, flags);
	say("receive %l: %r", type, got);
	if (got >= 0)
		say(" type %l '%s'", m.type, m.text);
	say("\n");
}

static void queues(void)
{
	long q = sys(__NR_msgget, 0x1234, IPC_CREAT | 0600);
	say("no such %r\n", sys(__NR_msgget, 0x77, 0));
	say("again same %d\n", sys(__NR_msgget, 0x1234, 0) == q);
	say("exclusive %r\n", sys(__NR_msgget, 0x1234, IPC_CREAT | IPC_EXCL | 0600));
	say("send %r\n", send(q, 3, "three", 0));
	say("send %r\n", send(q, 1, "one", 0));
	say("send %r\n", send(q, 2, "two", 0));
	say("type 0 %r\n", send(q, 0, "zero", 0));
	receive(q, 2, 64, 0);
	receive(q, -2, 64, 0);
	receive(q, 0, 2, 0);
	receive(q, 0, 2, MSG_NOERROR);
	receive(q, 0, 64, IPC_NOWAIT);
	struct msqid64_ds ds;
	say("stat %r", sys(__NR_msgctl, q, IPC_STAT, &ds));
	say(" mode %d qnum %l qbytes %l cbytes %l key %x me %d\n", ds.msg_perm.mode, (long)ds.msg_qnum, (long)ds.msg_qbytes, (long)ds.msg_cbytes, (long)ds.msg_perm.key, ds.msg_lspid == sys(__NR_getpid));
	ds.msg_qbytes = 10;
	say("set %r\n", sys(__NR_msgctl, q, IPC_SET, &ds));
	say("fits %r\n", send(q, 1, "0123456", 0));
	say("full %r\n", send(q, 1, "0123456", IPC_NOWAIT));
	receive(q, 5, 64, MSG_EXCEPT | IPC_NOWAIT);
	long pid = fork();
	if (!pid) {
		receive(q, 9, 64, 0);
		receive(q, 9, 64, 0);
		leave(0);
	}
	nap(50);
	send(q, 9, "wake", 0);
	nap(50);
	say("remove %r\n", sys(__NR_msgctl, q, IPC_RMID, 0));
	wait_for(pid);
	say("gone %r\n", send(q, 9, "x", 0));
	struct msginfo info;
	say("info %r", sys(__NR_msgctl, 0, IPC_INFO, &info));
	say(" max %d mnb %d mni %d\n", info.msgmax, info.msgmnb, info.msgmni);
	say("negative %r too long %r\n", sys(__NR_msgctl, -1, IPC_STAT, &ds), sys(__NR_msgsnd, q, &ds, 9000, 0));
}

static long op(long id, int num, int value, int flags)
{
	struct sembuf b = { num, value, flags };
	return semop(id, &b, 1);
}

static void semaphores(void)
{
	long id = sys(__NR_semget, IPC_PRIVATE, 3, 0600);
	say("too many %r\n", sys(__NR_semget, 0x99, 40000, IPC_CREAT | 0600));
	say("none %r\n", sys(__NR_semget, 0x99, 0, IPC_CREAT | 0600));
	say("setval %r\n", sys(__NR_semctl, id, 0, SETVAL, 5L));
	say("too large %r\n", sys(__NR_semctl, id, 0, SETVAL, 40000L));
	say("getval %r %r\n", sys(__NR_semctl, id, 0, GETVAL, 0), sys(__NR_semctl, id, 7, GETVAL, 0));
	say("down 3 %r\n", op(id, 0, -3, 0));
	say("down 3 %r\n", op(id, 0, -3, IPC_NOWAIT));
	say("zero %r\n", op(id, 0, 0, IPC_NOWAIT));
	say("num %r\n", op(id, 9, 1, 0));
	struct sembuf two[2] = { { 1, 4, 0 }, { 0, -9, IPC_NOWAIT } };
	say("both or none %r", semop(id, two, 2));
	say(" value %r\n", sys(__NR_semctl, id, 1, GETVAL, 0));
	say("no ops %r\n", semop(id, two, 0));
	unsigned short all[3] = { 1, 2, 3 };
	say("setall %r\n", sys(__NR_semctl, id, 0, SETALL, all));
	all[0] = all[1] = all[2] = 0;
	say("getall %r", sys(__NR_semctl, id, 0, GETALL, all));
	say(" %d %d %d\n", all[0], all[1], all[2]);
	long pid = fork();
	if (!pid) {
		say("undo %r\n", op(id, 2, -2, SEM_UNDO));
		say("in child %r\n", sys(__NR_semctl, id, 2, GETVAL, 0));
		leave(0);
	}
	wait_for(pid);
	say("after exit %r, last pid is the child %d\n", sys(__NR_semctl, id, 2, GETVAL, 0), sys(__NR_semctl, id, 2, GETPID, 0) == pid);
	pid = fork();
	if (!pid) {
		say("waited %r\n", op(id, 0, -5, 0));
		say("removed %r\n", op(id, 0, -5, 0));
		leave(0);
	}
	nap(50);
	say("waiters %r %r\n", sys(__NR_semctl, id, 0, GETNCNT, 0), sys(__NR_semctl, id, 0, GETZCNT, 0));
	op(id, 0, 4, 0);
	nap(50);
	struct semid64_ds ds;
	say("stat %r", sys(__NR_semctl, id, 0, IPC_STAT, &ds));
	say(" nsems %l mode %d otime %d\n", (long)ds.sem_nsems, ds.sem_perm.mode, ds.sem_otime != 0);
	say("remove %r\n", sys(__NR_semctl, id, 0, IPC_RMID, 0));
	wait_for(pid);
	say("gone %r cmd %r\n", sys(__NR_semctl, id, 0, GETVAL, 0), sys(__NR_semctl, id, 0, 99, 0));
}

static void memory(void)
{
	long id = sys(__NR_shmget, 0x42, 5000, IPC_CREAT | 0640), other;
	say("larger %r\n", sys(__NR_shmget, 0x42, 9000, 0));
	say("zero %r\n", sys(__NR_shmget, IPC_PRIVATE, 0, 0600));
	char *p = (char *)sys(__NR_shmat, id, 0, 0);
	say("attached %d\n", !bad(p));
	char *q = (char *)sys(__NR_shmat, id, 0, SHM_RDONLY);
	p[4999] = 'x';
	say("seen %d\n", q[4999] == 'x');
	struct shmid64_ds ds;
	say("stat %r", sys(__NR_shmctl, id, IPC_STAT, &ds));
	say(" size %l nattch %l mode %d mine %d\n", (long)ds.shm_segsz, (long)ds.shm_nattch, ds.shm_perm.mode, ds.shm_cpid == sys(__NR_getpid));
	long pid = fork();
	if (!pid) {
		p[0] = 'c';
		sys(__NR_shmctl, id, IPC_STAT, &ds);
		say("child nattch %l\n", (long)ds.shm_nattch);
		leave(0);
	}
	wait_for(pid);
	say("child wrote %d\n", q[0] == 'c');
	say("bad address %r %r\n", sys(__NR_shmat, id, (char *)0x10001, 0), sys(__NR_shmat, 99999, 0, 0));
	char *r = (char *)sys(__NR_shmat, id, p + 100, SHM_RND);
	say("rounded over %r\n", (long)r);
	say("remap nothing %r\n", sys(__NR_shmat, id, 0, SHM_REMAP));
	say("detach %r\n", sys(__NR_shmdt, q));
	say("again %r\n", sys(__NR_shmdt, q));
	say("remove %r\n", sys(__NR_shmctl, id, IPC_RMID, 0));
	say("stat %r", sys(__NR_shmctl, id, IPC_STAT, &ds));
	say(" mode %d key %d\n", ds.shm_perm.mode, (int)ds.shm_perm.key);
	other = sys(__NR_shmget, 0x42, 0, 0);
	say("by key %r\n", other);
	say("still there %d\n", p[0] == 'c');
	say("detach %r\n", sys(__NR_shmdt, p));
	say("gone %r\n", sys(__NR_shmctl, id, IPC_STAT, &ds));
}

int main(int argc, char **argv)
{
	static char text[4096];
	queues();
	semaphores();
	memory();
	slurp("/proc/sysvipc/msg", text, sizeof(text));
	say("%s", text);
	slurp("/proc/sysvipc/sem", text, sizeof(text));
	say("%s", text);
	slurp("/proc/sys/kernel/sem", text, sizeof(text));
	say("%s", text);
	slurp("/proc/sys/kernel/msgmnb", text, sizeof(text));
	say("%s", text);
	return 0;
}
