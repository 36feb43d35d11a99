/* System V IPC: corners of semaphores, messages, segments.  not: i386, s390x */
#include <unistd.h>
#undef __NR_x
#include "tiny.h"
#include <linux/ipc.h>
#include <linux/sem.h>
#include <linux/msg.h>
#include <linux/shm.h>
struct mb { long type; char text[100]; };
static void times(struct semid64_ds *d) { say("otime %d ctime %d nsems %l mode %x\n", d->sem_otime != 0, d->sem_ctime != 0, (long)d->sem_nsems, (long)d->sem_perm.mode); }
int main(int argc, char **argv)
{
	struct semid64_ds ds; struct seminfo si; unsigned short v[300]; struct sembuf b[600]; struct __kernel_timespec ts = { 0, 1000000 };
	T(__NR_semget, 0, 0, 0); T(__NR_semget, 0, 40000, 0600); T(__NR_semget, 0x1234, 1, 0600); T(__NR_semget, 0, -1, 0600);
	long s = sys(__NR_semget, 0x1234, 3, 0600 | IPC_CREAT);
	T(__NR_semget, 0x1234, 4, 0600) ; T(__NR_semget, 0x1234, 0, 0); T(__NR_semget, 0x1234, 3, 0600 | IPC_CREAT | IPC_EXCL); T(__NR_semget, 0x1234, 2, 0);
	T(__NR_semctl, s, 0, IPC_STAT, &ds); times(&ds);
	T(__NR_semctl, s, 0, IPC_STAT, 1); T(__NR_semctl, -1, 0, IPC_STAT, &ds); T(__NR_semctl, s, 0, 99, 0); T(__NR_semctl, s + 7, 0, GETVAL);
	T(__NR_semctl, s, 3, GETVAL); T(__NR_semctl, s, -1, GETVAL); T(__NR_semctl, s, 0, SETVAL, 32768); T(__NR_semctl, s, 0, SETVAL, -1); T(__NR_semctl, s, 0, SETVAL, 32767); say("pid %d\n", sys(__NR_semctl, s, 0, GETPID) == sys(__NR_getpid));
	v[0] = 1, v[1] = 2, v[2] = 40000; T(__NR_semctl, s, 0, SETALL, v); v[2] = 3; T(__NR_semctl, s, 0, SETALL, v); v[0] = v[1] = v[2] = 0; T(__NR_semctl, s, 0, GETALL, v); say("all %d %d %d\n", v[0], v[1], v[2]);
	T(__NR_semctl, s, 0, GETALL, 1); T(__NR_semctl, s, 0, SETALL, 1);
	for (int i = 0; i < 600; i++) b[i] = (struct sembuf){ 0, 1, IPC_NOWAIT };
	T(__NR_semop, s, b, 0); T(__NR_semop, s, b, 500); T(__NR_semop, s, b, 501); T(__NR_semop, s, 1, 1); T(__NR_semop, -1, b, 1); T(__NR_semop, s + 1, b, 1); T(__NR_semctl, s, 0, GETVAL);
	b[0] = (struct sembuf){ 3, 1, 0 }; T(__NR_semop, s, b, 1); b[0] = (struct sembuf){ 0, 32767, 0 }; T(__NR_semop, s, b, 1);
	b[0] = (struct sembuf){ 1, -3, IPC_NOWAIT }; T(__NR_semop, s, b, 1); b[0] = (struct sembuf){ 1, 0, IPC_NOWAIT }; T(__NR_semop, s, b, 1);
	b[0] = (struct sembuf){ 1, -3, 0 }; T(__NR_semtimedop, s, b, 1, &ts); ts.tv_nsec = -1; T(__NR_semtimedop, s, b, 1, &ts); ts.tv_nsec = 1000000000; T(__NR_semtimedop, s, b, 1, &ts); ts.tv_nsec = 1; ts.tv_sec = -1; T(__NR_semtimedop, s, b, 1, &ts); T(__NR_semtimedop, s, b, 1, 1);
	b[0] = (struct sembuf){ 1, 1, 0 }; b[1] = (struct sembuf){ 2, -100, IPC_NOWAIT }; T(__NR_semop, s, b, 2); T(__NR_semctl, s, 1, GETVAL);
	b[0] = (struct sembuf){ 1, 0, 0 }; b[1] = (struct sembuf){ 1, 1, 0 }; { long pid = fork(); if (!pid) { b[0].sem_flg = 0; say("waits %r\n", sys(__NR_semop, s, b, 2)); leave(0); } nap(20); T(__NR_semctl, s, 1, GETZCNT); T(__NR_semctl, s, 1, GETNCNT); T(__NR_semctl, s, 1, SETVAL, 0); wait_for(pid); T(__NR_semctl, s, 1, GETVAL); say("pid %d\n", sys(__NR_semctl, s, 1, GETPID) == pid); }
	{ long pid = fork(); if (!pid) { b[0] = (struct sembuf){ 1, -5, SEM_UNDO }; say("ncnt %r\n", sys(__NR_semop, s, b, 1)); leave(0); } nap(20); T(__NR_semctl, s, 1, GETZCNT); T(__NR_semctl, s, 1, GETNCNT); T(__NR_semctl, s, 0, IPC_RMID); wait_for(pid); }
	s = sys(__NR_semget, IPC_PRIVATE, 2, 0600);
	{ long pid = fork(); if (!pid) { b[0] = (struct sembuf){ 0, 5, SEM_UNDO }; b[1] = (struct sembuf){ 1, 7, 0 }; say("undo %r\n", sys(__NR_semop, s, b, 2)); b[0].sem_op = -2; sys(__NR_semop, s, b, 1); say("now %r\n", sys(__NR_semctl, s, 0, GETVAL)); leave(0); } wait_for(pid); T(__NR_semctl, s, 0, GETVAL); T(__NR_semctl, s, 1, GETVAL); }
	{ b[0] = (struct sembuf){ 0, 5, SEM_UNDO }; T(__NR_semop, s, b, 1); T(__NR_semctl, s, 0, SETVAL, 1); }
	{ b[0] = (struct sembuf){ 0, -1, SEM_UNDO }; T(__NR_semop, s, b, 1); for (int i = 0; i < 3; i++) b[i] = (struct sembuf){ 0, 32767, SEM_UNDO }; T(__NR_semop, s, b, 1); b[0].sem_op = -32767; T(__NR_semop, s, b, 1); b[0].sem_op = 1, b[0].sem_flg = 0; T(__NR_semop, s, b, 1); b[0].sem_op = -1; b[0].sem_flg = SEM_UNDO | IPC_NOWAIT; T(__NR_semop, s, b, 1); T(__NR_semop, s, b, 1);}
	T(__NR_semctl, 0, 0, IPC_INFO, &si); say("info map %d mni %d mns %d mnu %d msl %d opm %d ume %d usz %d vmx %d aem %d\n", si.semmap, si.semmni, si.semmns, si.semmnu, si.semmsl, si.semopm, si.semume, si.semusz, si.semvmx, si.semaem);
	T(__NR_semctl, 0, 0, SEM_INFO, &si); say("used usz %d aem %d\n", si.semusz, si.semaem);
	ds.sem_perm.mode = 0777; ds.sem_perm.uid = 1000; ds.sem_perm.gid = 1000; T(__NR_semctl, s, 0, IPC_SET, &ds); T(__NR_semctl, s, 0, IPC_STAT, &ds); say("uid %d gid %d cuid %d mode %x\n", ds.sem_perm.uid, ds.sem_perm.gid, ds.sem_perm.cuid, (long)ds.sem_perm.mode);
	ds.sem_perm.uid = -1; T(__NR_semctl, s, 0, IPC_SET, &ds);
	T(__NR_semctl, 1, 0, SEM_STAT, &ds) ; T(__NR_semctl, 99, 0, SEM_STAT, &ds); T(__NR_semctl, 99, 0, 20, &ds); T(__NR_semctl, s, 0, IPC_RMID); T(__NR_semctl, s, 0, IPC_RMID);
	/* messages */
	struct mb m = { 1, "hello" }; struct msqid64_ds md; struct msginfo mi;
	T(__NR_msgget, 0x99, 0); long q = sys(__NR_msgget, 0x99, 0600 | IPC_CREAT); T(__NR_msgget, 0x99, IPC_CREAT | IPC_EXCL); T(__NR_msgget, 0x99, 0);
	m.type = 0; T(__NR_msgsnd, q, &m, 5, 0); m.type = -1; T(__NR_msgsnd, q, &m, 5, 0); m.type = 1; T(__NR_msgsnd, q, &m, -1, 0); T(__NR_msgsnd, q, &m, 8193, 0); T(__NR_msgsnd, q, 1, 5, 0); T(__NR_msgsnd, -1, &m, 5, 0); T(__NR_msgsnd, q + 1, &m, 5, 0);
	T(__NR_msgsnd, q, &m, 0, 0);
	for (int i = 5; i > 0; i--) { m.type = i; m.text[0] = '0' + i; sys(__NR_msgsnd, q, &m, i, 0); }
	T(__NR_msgctl, q, IPC_STAT, &md); say("qnum %l cbytes %l qbytes %l lspid %d lrpid %d stime %d rtime %d\n", (long)md.msg_qnum, (long)md.msg_cbytes, (long)md.msg_qbytes, md.msg_lspid != 0, md.msg_lrpid != 0, md.msg_stime != 0, md.msg_rtime != 0);
#define R(...) do { m.type = 0; long r = sys(__NR_msgrcv, q, __VA_ARGS__); say("rcv %s: %r type %l %d\n", #__VA_ARGS__, r, m.type, r > 0 ? m.text[0] : 0); } while (0)
	R(&m, 100, 9, IPC_NOWAIT); R(&m, 0, 2, IPC_NOWAIT); R(&m, 1, 2, MSG_NOERROR); R(&m, 100, -3, 0); R(&m, 100, -3, 0); R(&m, 100, 4, MSG_EXCEPT); R(&m, -1, 0, 0); R(1, 100, 0, 0); R(&m, 100, 0, IPC_NOWAIT); R(&m, 100, 0, IPC_NOWAIT); R(&m, 100, 0, IPC_NOWAIT);
	m.type = 3; sys(__NR_msgsnd, q, &m, 3, 0); m.type = 4; sys(__NR_msgsnd, q, &m, 4, 0);
	R(&m, 100, 0, 040000); R(&m, 100, 0, 040000 | IPC_NOWAIT); R(&m, 100, 1, 040000 | IPC_NOWAIT); R(&m, 100, 5, 040000 | IPC_NOWAIT); R(&m, 100, 1, 040000 | IPC_NOWAIT | MSG_EXCEPT); R(&m, 100, (-0x7fffffffffffffffL - 1), IPC_NOWAIT);
	md.msg_qbytes = 10; md.msg_perm.mode = 0666; T(__NR_msgctl, q, IPC_SET, &md); m.type = 1; T(__NR_msgsnd, q, &m, 10, IPC_NOWAIT); T(__NR_msgsnd, q, &m, 7, IPC_NOWAIT); T(__NR_msgsnd, q, &m, 0, IPC_NOWAIT); md.msg_qbytes = 1 << 20; T(__NR_msgctl, q, IPC_SET, &md); T(__NR_msgctl, q, IPC_STAT, 1); T(__NR_msgctl, q, 77, &md); T(__NR_msgctl, -1, IPC_STAT, &md);
	T(__NR_msgctl, 0, IPC_INFO, &mi); say("pool %d map %d max %d mnb %d mni %d ssz %d tql %d seg %d\n", mi.msgpool, mi.msgmap, mi.msgmax, mi.msgmnb, mi.msgmni, mi.msgssz, mi.msgtql, mi.msgseg);
	T(__NR_msgctl, 0, 12, &mi); say("pool %d map %d tql %d\n", mi.msgpool, mi.msgmap, mi.msgtql);
	{ long pid = fork(); if (!pid) { sys(__NR_setuid, 1000); say("user %r %r", sys(__NR_msgsnd, q, &m, 0, IPC_NOWAIT), sys(__NR_msgctl, q, IPC_SET, &md)); say(" %r %r\n", sys(__NR_msgctl, q, IPC_RMID), sys(__NR_msgget, 0x99, 0700)); leave(0); } wait_for(pid); }
	{ long pid = fork(); if (!pid) { say("gone %r\n", sys(__NR_msgrcv, q, &m, 100, 77, 0)); leave(0); } nap(20); T(__NR_msgctl, q, IPC_RMID); wait_for(pid); }
	/* segments */
	struct shmid64_ds sd; struct shminfo64 shi; struct shm_info shu;
	T(__NR_shmget, 0, 0, 0600); T(__NR_shmget, 0x77, 10, 0); long id = sys(__NR_shmget, 0x77, 8192, 0640 | IPC_CREAT); T(__NR_shmget, 0x77, 8193, 0); T(__NR_shmget, 0x77, 100, 0) ; T(__NR_shmget, 0x77, 0, IPC_CREAT | IPC_EXCL);
	T(__NR_shmget, 0, -1L, 0600);
	char *at = (char *)sys(__NR_shmat, id, 0, 0); say("attached %d\n", !bad(at)); at[0] = 7;
	T(__NR_shmat, id, at + 1, 0); T(__NR_shmat, id, at, 0) ; T(__NR_shmat, id, 0, SHM_REMAP); T(__NR_shmat, -1, 0, 0); T(__NR_shmat, id, 0xfffffffffffff000, 0);
	say("remap %d\n", sys(__NR_shmat, id, at, SHM_REMAP) == (long)at); say("round %d\n", sys(__NR_shmat, id, at + 5, SHM_REMAP | SHM_RND) == (long)at); say("value %d\n", at[0]);
	char *ro = (char *)sys(__NR_shmat, id, 0, SHM_RDONLY); say("ro %d %d\n", !bad(ro), ro[0]); T(__NR_mprotect, ro, 4096, 3); T(__NR_shmdt, ro + 4096); T(__NR_shmdt, ro); T(__NR_shmdt, ro); T(__NR_shmdt, 1);
	T(__NR_shmctl, id, IPC_STAT, &sd); say("size %l nattch %l mode %x atime %d dtime %d ctime %d cpid %d lpid %d\n", (long)sd.shm_segsz, (long)sd.shm_nattch, (long)sd.shm_perm.mode, sd.shm_atime != 0, sd.shm_dtime != 0, sd.shm_ctime != 0, sd.shm_cpid == sys(__NR_getpid), sd.shm_lpid == sys(__NR_getpid));
	T(__NR_shmctl, id, SHM_LOCK, 0); T(__NR_shmctl, id, IPC_STAT, &sd); say("mode %x\n", (long)sd.shm_perm.mode); T(__NR_shmctl, id, SHM_UNLOCK, 0); T(__NR_shmctl, id, 99, 0); T(__NR_shmctl, id, IPC_STAT, 1); T(__NR_shmctl, -1, IPC_STAT, &sd);
	T(__NR_shmctl, 0, IPC_INFO, &shi); say("max %x min %l mni %l seg %l all %x\n", (long)shi.shmmax, (long)shi.shmmin, (long)shi.shmmni, (long)shi.shmseg, (long)shi.shmall);
	T(__NR_shmctl, 0, SHM_INFO, &shu); say("used %d tot %l rss %l swp %l\n", shu.used_ids, (long)shu.shm_tot, (long)shu.shm_rss, (long)shu.shm_swp);
	{ long pid = fork(); if (!pid) { sys(__NR_setuid, 1000); say("user %r %r %r %r\n", sys(__NR_shmat, id, 0, 0), sys(__NR_shmctl, id, IPC_STAT, &sd), sys(__NR_shmctl, id, IPC_RMID, 0), sys(__NR_shmctl, id, SHM_LOCK, 0)); leave(0); } wait_for(pid); }
	T(__NR_shmctl, id, IPC_RMID, 0); T(__NR_shmctl, id, IPC_STAT, &sd); say("mode %x key %x\n", (long)sd.shm_perm.mode, (long)sd.shm_perm.key); char *more = (char *)sys(__NR_shmat, id, 0, 0); say("after removal %d\n", !bad(more)); T(__NR_shmdt, more); T(__NR_shmdt, at); T(__NR_shmctl, id, IPC_STAT, &sd);
	T(__NR_munmap, at, 8192);
	id = sys(__NR_shmget, 0, 8192, 0600); at = (char *)sys(__NR_shmat, id, 0, 0); T(__NR_munmap, at, 4096); T(__NR_shmctl, id, IPC_STAT, &sd); say("nattch %l\n", (long)sd.shm_nattch); T(__NR_shmdt, at); T(__NR_shmctl, id, IPC_STAT, &sd); say("nattch %l\n", (long)sd.shm_nattch); T(__NR_shmdt, at + 4096);
	T(__NR_mremap, at + 4096, 4096, 4096, 3, at + (1 << 20)); T(__NR_shmctl, id, IPC_RMID, 0);
	T(__NR_shmget, 0, 1 << 21, 0600 | SHM_HUGETLB);
	for (int i = 0; i < 70; i++) { long n = sys(__NR_semget, IPC_PRIVATE, 1, 0600); say("%x ", n); if (i % 5) sys(__NR_semctl, n, 0, IPC_RMID); }
	say("\n");
	for (int i = 0; i < 70; i++) { long n = sys(__NR_msgget, IPC_PRIVATE, 0600); say("%x ", n); if (i < 3) sys(__NR_msgctl, n, IPC_RMID, 0); }
	say("\n");
	return 0;
}
