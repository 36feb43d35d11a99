/* groups, reads, ids, ioctls on groups, pinned and exclusive, inherit, enable_on_exec, remove_on_exec, dup, fork, reset, period */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <signal.h>
static int id_of(const char *n){char p[200],b[20]="";sprintf(p,"/sys/kernel/tracing/events/%s/id",n);int f=open(p,O_RDONLY);read(f,b,19);close(f);return atoi(b);}
static long po(struct perf_event_attr*a,int pid,int cpu,int g,long fl){long r=syscall(SYS_perf_event_open,a,pid,cpu,g,fl);return r<0?-errno:r;}
static struct perf_event_attr A(int id){struct perf_event_attr a={.type=PERF_TYPE_TRACEPOINT,.size=sizeof a,.config=id};return a;}
static struct perf_event_attr S(int c){struct perf_event_attr a={.type=PERF_TYPE_SOFTWARE,.size=sizeof a,.config=c};return a;}
#define P(...) printf(__VA_ARGS__)
#define E(x) ({long r_=(x);r_<0?-errno:r_;})
static long rd(int fd,uint64_t*v,int n){memset(v,0,n);return E(read(fd,v,n));}
int main(void){setvbuf(stdout,0,_IONBF,0);
 int gp=id_of("syscalls/sys_enter_getppid"),gu=id_of("syscalls/sys_enter_getuid"),gg=id_of("syscalls/sys_enter_getgid");uint64_t v[64];
 struct perf_event_attr a=A(gp);a.read_format=15;a.disabled=1;int l=po(&a,0,-1,-1,0);a=A(gu);a.read_format=0;int m1=po(&a,0,-1,l,0);a=A(gg);a.read_format=4;a.disabled=1;int m2=po(&a,0,-1,l,0);
 P("%d %d %d\n",l>0,m1>0,m2>0);
 ioctl(l,PERF_EVENT_IOC_ENABLE,0);syscall(SYS_getppid);syscall(SYS_getuid);syscall(SYS_getgid);
 long n=rd(l,v,sizeof v);P("group %ld nr %lu vals %lu %lu %lu run<=en %d\n",n,v[0],v[3],v[5],v[7],v[2]<=v[1]);
 P("small %ld\n",rd(l,v,8));P("member %ld %lu\n",rd(m1,v,64),v[0]);P("m2 %ld %lu\n",rd(m2,v,64),v[0]);
 ioctl(l,PERF_EVENT_IOC_ENABLE,PERF_IOC_FLAG_GROUP);syscall(SYS_getgid);n=rd(l,v,sizeof v);P("g %ld %lu %lu %lu\n",n,v[3],v[5],v[7]);
 ioctl(m1,PERF_EVENT_IOC_RESET,PERF_IOC_FLAG_GROUP);n=rd(l,v,sizeof v);P("reset %lu %lu %lu\n",v[3],v[5],v[7]);
 ioctl(m1,PERF_EVENT_IOC_DISABLE,0);syscall(SYS_getuid);syscall(SYS_getppid);n=rd(l,v,sizeof v);P("dis %lu %lu %lu\n",v[3],v[5],v[7]);
 P("closing leader\n");close(l);syscall(SYS_getgid);P("m2 after %ld %lu; m1 %ld %lu\n",rd(m2,v,64),v[0],rd(m1,v,64),v[0]);
 close(m1);close(m2);
 /* group of member, other cpu, other task, software leader w tracepoint, pinned members */
 a=S(1);l=po(&a,0,-1,-1,0);a=S(2);m1=po(&a,0,-1,l,0);a=S(3);P("on member %ld\n",po(&a,0,-1,m1,0));P("cpu %ld\n",po(&a,0,0,l,0));P("any task cpu0 %ld\n",po(&a,-1,0,l,0));P("task %ld\n",po(&a,getppid(),-1,l,0));
 a.pinned=1;P("pinned member %ld\n",po(&a,0,-1,l,0));a.pinned=0;a.exclusive=1;P("excl member %ld\n",po(&a,0,-1,l,0));a=S(1);a.exclusive=1;int x=po(&a,0,-1,-1,0);P("excl leader %d\n",x>0);a=S(2);P("member of excl %ld\n",po(&a,0,-1,x,0)>0);
 a=S(1);a.pinned=1;a.disabled=1;x=po(&a,0,-1,-1,0);P("pinned %d read %ld\n",x>0,rd(x,v,8));
 a=S(1);a.inherit=1;a.read_format=8;P("inherit group fmt %ld\n",po(&a,0,-1,-1,0));a.read_format=4;P("inherit id %d\n",po(&a,0,-1,-1,0)>0);
 a=S(1);a.inherit=1;x=po(&a,0,-1,-1,0);P("mmap inherit cpu -1: %ld\n",E((long)mmap(0,2*4096,3,MAP_SHARED,x,0))<0?-errno:0);
 a=S(1);a.inherit=1;x=po(&a,0,0,-1,0);P("mmap inherit cpu 0: %d\n",mmap(0,2*4096,3,MAP_SHARED,x,0)==MAP_FAILED?-errno:0);
 /* FD flags */
 a=S(1);x=po(&a,0,-1,-1,PERF_FLAG_FD_CLOEXEC);P("cloexec %d\n",fcntl(x,F_GETFD));x=po(&a,0,-1,-1,0);P("no %d fl %x\n",fcntl(x,F_GETFD),fcntl(x,F_GETFL));P("badflag %ld %ld\n",po(&a,0,-1,-1,16),po(&a,0,-1,-1,1ul<<40));P("no group %ld out %ld\n",po(&a,0,-1,-1,PERF_FLAG_FD_NO_GROUP),po(&a,0,-1,-1,PERF_FLAG_FD_OUTPUT));
 P("group fd 0: %ld 99: %ld\n",po(&a,0,-1,0,0),po(&a,0,-1,99,0));P("nogroup w group %d\n",po(&a,0,-1,x,PERF_FLAG_FD_NO_GROUP)>0);P("output w group %d\n",po(&a,0,-1,x,PERF_FLAG_FD_OUTPUT));
 P("pid -1 cpu -1: %ld; pid -2: %ld; pid 99999: %ld; cpu 1: %ld; cpu 9999: %ld; cpu -2: %ld\n",po(&a,-1,-1,-1,0),po(&a,-2,-1,-1,0),po(&a,99999,-1,-1,0),po(&a,0,1,-1,0),po(&a,0,9999,-1,0),po(&a,0,-2,-1,0));
 /* ioctls */
 unsigned long req[]={PERF_EVENT_IOC_ENABLE,PERF_EVENT_IOC_DISABLE,PERF_EVENT_IOC_REFRESH,PERF_EVENT_IOC_RESET,PERF_EVENT_IOC_PERIOD,PERF_EVENT_IOC_SET_OUTPUT,PERF_EVENT_IOC_SET_FILTER,PERF_EVENT_IOC_ID,PERF_EVENT_IOC_SET_BPF,PERF_EVENT_IOC_PAUSE_OUTPUT,PERF_EVENT_IOC_QUERY_BPF,PERF_EVENT_IOC_MODIFY_ATTRIBUTES,0x240c,0x5401};
 for(int k=0;k<3;k++){a=k==0?S(1):k==1?A(gp):S(1);if(k==2){a.sample_period=5;a.sample_type=1;}x=po(&a,0,-1,-1,0);for(int i=0;i<14;i++){errno=0;long r=ioctl(x,req[i],0);P("k%d ioctl %d: %ld %d\n",k,i,r,errno);}close(x);}
 a=S(1);a.sample_period=100;x=po(&a,0,-1,-1,0);uint64_t per=0;P("period 0 %ld\n",E(ioctl(x,PERF_EVENT_IOC_PERIOD,&per)));per=1ull<<63;P("period big %ld\n",E(ioctl(x,PERF_EVENT_IOC_PERIOD,&per)));per=7;P("period 7 %ld\n",E(ioctl(x,PERF_EVENT_IOC_PERIOD,&per)));uint64_t id;P("id %ld same %d\n",E(ioctl(x,PERF_EVENT_IOC_ID,&id)),id>0);
 /* inherit counts */
 a=A(gp);a.inherit=1;x=po(&a,0,-1,-1,0);a.inherit=0;int y=po(&a,0,-1,-1,0);a.inherit_thread=1;P("inherit_thread only %ld\n",po(&a,0,-1,-1,0)>0);a.inherit=1;int z=po(&a,0,-1,-1,0);
 for(int i=0;i<3;i++){if(!fork()){syscall(SYS_getppid);if(i==2&&!fork()){syscall(SYS_getppid);_exit(0);}if(i==2)wait(0);_exit(0);}wait(0);}syscall(SYS_getppid);
 rd(x,v,8);P("inherit %lu ",v[0]);rd(y,v,8);P("not %lu ",v[0]);rd(z,v,8);P("thread %lu\n",v[0]);
 ioctl(x,PERF_EVENT_IOC_RESET,0);rd(x,v,8);P("after reset %lu\n",v[0]);
 /* enable_on_exec and remove_on_exec */
 a=A(gp);a.enable_on_exec=1;a.disabled=1;a.inherit=1;x=po(&a,0,-1,-1,0);a.enable_on_exec=0;a.disabled=0;a.remove_on_exec=1;P("remove+inherit %ld\n",po(&a,0,-1,-1,0)>0);a.inherit=0;a.enable_on_exec=1;P("both %ld\n",po(&a,0,-1,-1,0));
 if(!fork()){syscall(SYS_getppid);execl("/w","w","4",NULL);_exit(1);}wait(0);rd(x,v,8);P("exec child %lu\n",v[0]);
 /* task events on child, read after exit, POLLHUP */
 int pp[2];pipe(pp);int c=fork();if(!c){char q;read(pp[0],&q,1);syscall(SYS_getppid);syscall(SYS_getppid);_exit(0);}
 a=A(gp);a.sample_period=1;a.sample_type=1;a.watermark=0;a.wakeup_events=2;x=po(&a,c,-1,-1,0);char*ring=mmap(0,2*4096,3,MAP_SHARED,x,0);struct pollfd pf={x,POLLIN};P("poll %d %x\n",poll(&pf,1,0),pf.revents);write(pp[1],"x",1);int st;waitpid(c,&st,0);P("poll %d %x\n",poll(&pf,1,0),pf.revents);P("poll %d %x\n",poll(&pf,1,0),pf.revents);P("read %ld %lu\n",rd(x,v,8),v[0]);P("zombie open %ld\n",po(&a,c,-1,-1,0));
 /* write, lseek, pread, splice on it */
 P("write %ld lseek %ld pread %ld\n",E(write(x,"x",1)),E(lseek(x,0,0)),E(pread(x,v,8,0)));
 /* mmap rules */
 a=S(1);x=po(&a,0,-1,-1,0);int ps[]={1,2,3,4,5,9,0};for(int i=0;i<7;i++){char*q=mmap(0,ps[i]*4096,3,MAP_SHARED,x,0);P("pages %d: %d\n",ps[i],q==MAP_FAILED?-errno:0);if(q!=MAP_FAILED)munmap(q,ps[i]*4096);}
 char*q=mmap(0,3*4096,3,MAP_PRIVATE,x,0);P("private %d\n",q==MAP_FAILED?-errno:0);q=mmap(0,2*4096,1,MAP_SHARED,x,0);P("ro %d\n",q==MAP_FAILED?-errno:0);char*q2=mmap(0,5*4096,3,MAP_SHARED,x,0);P("again other size %d\n",q2==MAP_FAILED?-errno:0);q2=mmap(0,2*4096,3,MAP_SHARED,x,0);P("again same %d\n",q2==MAP_FAILED?-errno:0);q2=mmap(0,4096,3,MAP_SHARED,x,4096);P("offset %d\n",q2==MAP_FAILED?-errno:0);P("mprotect %ld\n",E(mprotect(q,8192,3)));q2=mremap(q,8192,16384,1);P("mremap %d\n",q2==MAP_FAILED?-errno:0);
 return 0;}
