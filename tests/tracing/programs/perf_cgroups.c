/* perf events of control groups */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
static int id_of(const char *n){char p[200],b[20]="";sprintf(p,"/sys/kernel/tracing/events/%s/id",n);int f=open(p,O_RDONLY);read(f,b,19);close(f);return atoi(b);}
static long po(struct perf_event_attr*a,int pid,int cpu,int g,long fl){long r=syscall(SYS_perf_event_open,a,pid,cpu,g,fl);return r<0?-errno:r;}
static void put(const char*f,const char*s){int fd=open(f,O_WRONLY);if(write(fd,s,strlen(s))<0)printf("write %s: %d\n",f,errno);close(fd);}
#define CG 4
static int e_;
static unsigned long val(int fd){uint64_t v[4]={0};long n=read(fd,v,8);return n<0?-errno:v[0];}
static void child(const char*cg,int n){if(!fork()){put(cg,"0");for(int i=0;i<n;i++)syscall(SYS_getppid);_exit(0);}wait(0);}
int main(void){setvbuf(stdout,0,_IONBF,0);
 mkdir("/sys/fs/cgroup/a",0755);mkdir("/sys/fs/cgroup/a/b",0755);mkdir("/sys/fs/cgroup/c",0755);
 int root=open("/sys/fs/cgroup",O_RDONLY),a=open("/sys/fs/cgroup/a",O_RDONLY|O_DIRECTORY),b=open("/sys/fs/cgroup/a/b",O_RDONLY),c=open("/sys/fs/cgroup/c",O_RDONLY),f=open("/sys/fs/cgroup/a/cgroup.procs",O_RDONLY),dir=open("/tmp",O_RDONLY),pa=open("/sys/fs/cgroup/a",O_PATH),st=open("/sys/fs/cgroup/a/cgroup.stat",O_RDONLY);
 int gp=id_of("syscalls/sys_enter_getppid");
 struct perf_event_attr e={.type=PERF_TYPE_TRACEPOINT,.size=sizeof e,.config=gp};
 e_=1;
 {struct perf_event_attr e={.type=PERF_TYPE_TRACEPOINT,.size=sizeof e,.config=gp};printf("before: %d %ld %ld %ld\n",po(&e,root,0,-1,CG)>0,po(&e,a,0,-1,CG),po(&e,b,0,-1,CG),po(&e,c,0,-1,CG));
 put("/sys/fs/cgroup/a/cgroup.subtree_control","-pids");printf("a written: %ld %ld\n",po(&e,a,0,-1,CG),po(&e,b,0,-1,CG));put("/sys/fs/cgroup/cgroup.subtree_control","-pids");printf("nothing written: %ld %ld\n",po(&e,a,0,-1,CG),po(&e,b,0,-1,CG));
 put("/sys/fs/cgroup/cgroup.subtree_control","+pids");printf("after: %d %d %d %d\n",po(&e,root,0,-1,CG)>0,po(&e,a,0,-1,CG)>0,po(&e,b,0,-1,CG)>0,po(&e,c,0,-1,CG)>0);
 put("/sys/fs/cgroup/cgroup.subtree_control","-pids");printf("off again: %d %d %d %d\n",po(&e,root,0,-1,CG)>0,po(&e,a,0,-1,CG)>0,po(&e,b,0,-1,CG)>0,po(&e,c,0,-1,CG)>0);mkdir("/sys/fs/cgroup/n",0755);int n=open("/sys/fs/cgroup/n",O_RDONLY);printf("new %d\n",po(&e,n,0,-1,CG)>0);rmdir("/sys/fs/cgroup/n");}
 printf("bad: %ld %ld %ld %ld %ld %ld %ld %ld\n",po(&e,99,0,-1,CG),po(&e,-1,0,-1,CG),po(&e,a,-1,-1,CG),po(&e,dir,0,-1,CG),po(&e,f,0,-1,CG)>0,po(&e,pa,0,-1,CG),po(&e,a,1,-1,CG),po(&e,st,0,-1,CG));
 e.inherit=1;printf("inherit %ld\n",po(&e,a,0,-1,CG)>0);e.inherit=0;
 int er=po(&e,root,0,-1,CG),ea=po(&e,a,0,-1,CG),eb=po(&e,b,0,-1,CG),ec=po(&e,c,0,-1,CG);printf("open %d %d %d %d\n",er>0,ea>0,eb>0,ec>0);
 child("/sys/fs/cgroup/a/cgroup.procs",5);printf("a: %lu %lu %lu %lu\n",val(er),val(ea),val(eb),val(ec));
 child("/sys/fs/cgroup/a/b/cgroup.procs",7);printf("b: %lu %lu %lu %lu\n",val(er),val(ea),val(eb),val(ec));
 child("/sys/fs/cgroup/c/cgroup.procs",3);printf("c: %lu %lu %lu %lu\n",val(er),val(ea),val(eb),val(ec));
 syscall(SYS_getppid);printf("self: %lu %lu %lu %lu\n",val(er),val(ea),val(eb),val(ec));
 put("/sys/fs/cgroup/a/cgroup.procs","0");syscall(SYS_getppid);syscall(SYS_getppid);printf("moved to a: %lu %lu %lu %lu\n",val(er),val(ea),val(eb),val(ec));
 put("/sys/fs/cgroup/c/cgroup.procs","0");syscall(SYS_getppid);printf("moved to c: %lu %lu %lu %lu\n",val(er),val(ea),val(eb),val(ec));
 put("/sys/fs/cgroup/cgroup.procs","0");syscall(SYS_getppid);printf("back: %lu %lu %lu %lu\n",val(er),val(ea),val(eb),val(ec));
 ioctl(ea,PERF_EVENT_IOC_DISABLE,0);child("/sys/fs/cgroup/a/cgroup.procs",5);printf("off: %lu\n",val(ea));ioctl(ea,PERF_EVENT_IOC_RESET,0);ioctl(ea,PERF_EVENT_IOC_ENABLE,0);child("/sys/fs/cgroup/a/cgroup.procs",5);printf("on: %lu\n",val(ea));
 /* groups */
 printf("group other cgroup: %ld\n",po(&e,c,0,ea,CG));printf("group cpu: %ld\n",po(&e,-1,0,ea,0));printf("group task: %ld\n",po(&e,0,0,ea,0));int eg=po(&e,a,0,ea,CG);printf("same group %d\n",eg>0);int ecpu=po(&e,-1,0,-1,0);printf("cgroup in cpu's: %ld\n",po(&e,a,0,ecpu,CG));
 /* software */
 struct perf_event_attr s={.type=PERF_TYPE_SOFTWARE,.size=sizeof s,.config=PERF_COUNT_SW_TASK_CLOCK};int sc[11];for(int i=0;i<12;i++){s.config=i;int fd=po(&s,a,0,-1,CG);printf("sw %d: %d\n",i,fd<0?fd:1);if(i<11)sc[i]=fd;}
 unsigned long b4[11];for(int i=0;i<11;i++)b4[i]=val(sc[i]);
 if(!fork()){put("/sys/fs/cgroup/a/cgroup.procs","0");for(volatile int i=0;i<3000000;i++);char*p=mmap(0,40960,3,MAP_PRIVATE|MAP_ANONYMOUS,-1,0);for(int i=0;i<10;i++)p[i*4096]=1;usleep(1000);usleep(1000);_exit(0);}wait(0);
 for(int i=0;i<11;i++){unsigned long d=val(sc[i])-b4[i];printf("sw %d %s\n",i,d?i==2||i==5?d>=10&&d<60?"some":"other":i==3||i==11?d>=2?"switches":"few":"moved":"0");}
 {uint64_t v[3];e.read_format=3;int fd=po(&e,c,0,-1,CG);usleep(20000);read(fd,v,24);printf("enabled %d running %lu\n",v[1]>0,v[2]);if(!fork()){put("/sys/fs/cgroup/c/cgroup.procs","0");for(volatile int i=0;i<3000000;i++);_exit(0);}wait(0);read(fd,v,24);printf("enabled %d running %d less %d\n",v[1]>0,v[2]>0,v[2]<v[1]);e.read_format=0;}
 /* samples */
 e.sample_period=1;e.sample_type=PERF_SAMPLE_TID|PERF_SAMPLE_CGROUP;e.sample_id_all=1;e.cgroup=1;int fd=po(&e,b,0,-1,CG);char*r=mmap(0,9*4096,3,MAP_SHARED,fd,0);printf("ring %d\n",r!=MAP_FAILED);
 child("/sys/fs/cgroup/a/cgroup.procs",2);child("/sys/fs/cgroup/a/b/cgroup.procs",2);mkdir("/sys/fs/cgroup/a/b/n",0755);
 struct perf_event_mmap_page*m=(void*)r;char*d=r+4096;uint64_t k=0;struct stat sb;fstat(b,&sb);while(k<m->data_head){struct perf_event_header*h=(void*)(d+k);printf("record %d size %d",h->type,h->size);if(h->type==9)printf(" cgroup %d",*(uint64_t*)(d+k+16)==sb.st_ino);printf("\n");k+=h->size;}
 /* cpu-wide with cgroup samples */
 {struct perf_event_attr q={.type=PERF_TYPE_TRACEPOINT,.size=sizeof q,.config=gp,.sample_period=1,.sample_type=PERF_SAMPLE_CGROUP,.cgroup=1};int fd=po(&q,-1,0,-1,0);char*r=mmap(0,9*4096,3,MAP_SHARED,fd,0);child("/sys/fs/cgroup/a/cgroup.procs",1);child("/sys/fs/cgroup/a/b/cgroup.procs",1);syscall(SYS_getppid);mkdir("/sys/fs/cgroup/zz",0755);struct stat sa,sr;fstat(a,&sa);fstat(root,&sr);struct perf_event_mmap_page*m=(void*)r;char*d=r+4096;uint64_t k=0;while(k<m->data_head){struct perf_event_header*h=(void*)(d+k);if(h->type==9){uint64_t i=*(uint64_t*)(d+k+8);printf("in %s\n",i==sa.st_ino?"a":i==sb.st_ino?"b":i==sr.st_ino?"root":"?");}else printf("record %d %d %s\n",h->type,h->size,h->type==19?d+k+16:"");k+=h->size;}rmdir("/sys/fs/cgroup/zz");}
 /* lifetime */
 close(c);printf("rmdir %d\n",rmdir("/sys/fs/cgroup/c"));syscall(SYS_getppid);printf("dead: %lu\n",val(ec));close(ec);rmdir("/sys/fs/cgroup/a/b/n");printf("rmdir %d %d\n",rmdir("/sys/fs/cgroup/a/b"),rmdir("/sys/fs/cgroup/a"));printf("open dead %ld\n",po(&e,a,0,-1,CG)>0);
 return 0;}
