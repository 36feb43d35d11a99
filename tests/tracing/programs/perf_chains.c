/* callchains of software events, by name */
#define _GNU_SOURCE
#include <signal.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <poll.h>
#include <sched.h>
static struct{uint64_t a;char n[64];}*sy;static int ns;
static void load(void){FILE*f=fopen("/proc/kallsyms","r");char t;sy=malloc(200000*sizeof*sy);unsigned long a;char n[300];while(fscanf(f,"%lx %c %299s%*[^\n]",&a,&t,n)==3)if(t=='t'||t=='T'||t=='W'||t=='w'){sy[ns].a=a;strncpy(sy[ns++].n,n,63);}}
static const char*sym(uint64_t a){int b=-1;for(int i=0;i<ns;i++)if(sy[i].a<=a&&(b<0||sy[i].a>sy[b].a))b=i;return b<0?"?":sy[b].n;}
static long po(struct perf_event_attr*a,int pid,int cpu,int g,long fl){long r=syscall(SYS_perf_event_open,a,pid,cpu,g,fl);return r<0?-errno:r;}
static void chains(char*ring,const char*t,int max){struct perf_event_mmap_page*m=(void*)ring;char*d=ring+4096;uint64_t k=m->data_tail;int n=0;while(k<m->data_head&&n<max){struct perf_event_header*e=(void*)(d+k);if(e->type==9){n++;uint64_t*p=(void*)(e+1);printf("%s misc %x:",t,e->misc);for(int i=1;i<=p[0]&&i<30;i++)if(p[i]==(uint64_t)-128)printf(" KERNEL");else if(p[i]==(uint64_t)-512)printf(" USER");else if(p[i]>>63)printf(" %s",sym(p[i]));printf("\n");}k+=e->size;}m->data_tail=m->data_head;}
static int id_of(const char *n){char p[200],b[20]="";sprintf(p,"/sys/kernel/tracing/events/%s/id",n);int f=open(p,O_RDONLY);read(f,b,19);close(f);return atoi(b);}
int main(void){load();int pp[2];pipe(pp);
 for(int w=0;w<5;w++){struct perf_event_attr a={.type=PERF_TYPE_SOFTWARE,.size=sizeof a,.config=PERF_COUNT_SW_CONTEXT_SWITCHES,.sample_period=1,.sample_type=PERF_SAMPLE_CALLCHAIN,.disabled=1};int fd=po(&a,0,-1,-1,0);char*r=mmap(0,9*4096,3,MAP_SHARED,fd,0);
  if(!fork()){usleep(20000);write(pp[1],"x",1);_exit(0);}
  ioctl(fd,PERF_EVENT_IOC_ENABLE,0);char c;struct pollfd pf={pp[0],POLLIN};
  if(w==0)usleep(20000);if(w==1)read(pp[0],&c,1);if(w==2){poll(&pf,1,-1);}if(w==3)wait(0);if(w==4)poll(0,0,5);
  ioctl(fd,PERF_EVENT_IOC_DISABLE,0);chains(r,"cs",1);close(fd);munmap(r,9*4096);if(w!=1)read(pp[0],&c,1);while(wait(0)>0);}
 char*ev[]={"sched/sched_switch","sched/sched_wakeup","sched/sched_process_fork","sched/sched_process_exit","syscalls/sys_enter_getppid","syscalls/sys_exit_getppid","raw_syscalls/sys_enter","signal/signal_generate","task/task_newtask","kmem/mm_page_alloc","exceptions/page_fault_user","sched/sched_waking","timer/hrtimer_start","sched/sched_stat_runtime","task/task_rename","signal/signal_deliver","sched/sched_wakeup_new","sched/sched_process_wait"};
 for(int i=0;i<18;i++){struct perf_event_attr a={.type=PERF_TYPE_TRACEPOINT,.size=sizeof a,.config=id_of(ev[i]),.sample_period=1,.sample_type=PERF_SAMPLE_CALLCHAIN,.disabled=1};int fd=po(&a,0,-1,-1,0);char*r=mmap(0,33*4096,3,MAP_SHARED,fd,0);ioctl(fd,PERF_EVENT_IOC_ENABLE,0);
  if(i==0)usleep(20000);else if(i==1||i==11){write(pp[1],"y",1);char c;if(!fork()){read(pp[0],&c,1);read(pp[0],&c,1);_exit(0);}usleep(20000);ioctl(fd,PERF_EVENT_IOC_RESET,0);struct perf_event_mmap_page*m=(void*)r;m->data_tail=m->data_head;write(pp[1],"x",1);wait(0);}else if(i==2||i==8||i==16||i==17){if(!fork())_exit(0);wait(0);}else if(i==4||i==5||i==6)syscall(SYS_getppid);else if(i==7||i==15){signal(10,SIG_IGN);kill(getpid(),0);kill(getpid(),10);}else if(i==9||i==10){char*p=mmap(0,4096,3,MAP_PRIVATE|MAP_ANONYMOUS,-1,0);*p=1;}else if(i==14){int f=open("/proc/self/comm",O_WRONLY);write(f,"abc",3);close(f);}else usleep(20000);
  ioctl(fd,PERF_EVENT_IOC_DISABLE,0);chains(r,ev[i],1);close(fd);munmap(r,33*4096);}
 return 0;}
