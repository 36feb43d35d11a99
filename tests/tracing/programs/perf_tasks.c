/* side-band records: COMM MMAP MMAP2 FORK EXIT SWITCH NAMESPACES KSYMBOL BPF_EVENT, with sample_id_all, in order, with contents */
#define _GNU_SOURCE
#include <sched.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <linux/bpf.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
static long po(struct perf_event_attr*a,int pid,int cpu,int g,long fl){long r=syscall(SYS_perf_event_open,a,pid,cpu,g,fl);return r<0?-errno:r;}
static int pids[50],np;static int P(int p){for(int i=0;i<np;i++)if(pids[i]==p)return i;pids[np]=p;return np++;}
static void show(char*ring,int pages,const char*t){struct perf_event_mmap_page*m=(void*)ring;char*d=ring+4096;uint64_t size=pages*4096ull,h=m->data_head,k=m->data_tail;printf("%s\n",t);
 while(k<h){char b[4096];struct perf_event_header*e=(void*)b;for(int i=0;i<8;i++)b[i]=d[(k+i)%size];for(int i=0;i<e->size&&i<4096;i++)b[i]=d[(k+i)%size];uint32_t*w=(void*)(b+8);uint64_t*q=(void*)(b+8);
  if((e->type==1||e->type==10)&&(strstr(b+40,"[v")||strstr(b+72,"[v")||strstr(b+72,"[stack")||strstr(b+72,"//anon"))){k+=e->size;continue;}
  switch(e->type){case 3:printf(" COMM misc %x P%d P%d %s size %d\n",e->misc,P(w[0]),P(w[1]),(char*)(w+2),e->size);break;
  case 1:printf(" MMAP misc %x P%d len %lx pgoff %s %s size %d\n",e->misc,P(w[0]),q[2],q[3]>0xfffff?"big":q[3]?"some":"0",(char*)(q+4),e->size);break;
  case 10:printf(" MMAP2 misc %x P%d len %lx pgoff %s maj %d min ino %d prot %x flags %x %s size %d\n",e->misc,P(w[0]),q[2],q[3]>0xfffff?"big":q[3]?"some":"0",0,*(uint64_t*)(b+48)>0,*(uint32_t*)(b+64),*(uint32_t*)(b+68),b+72,e->size);break;
  case 7:case 4:printf(" %s P%d from P%d tid P%d from P%d size %d\n",e->type==7?"FORK":"EXIT",P(w[0]),P(w[1]),P(w[2]),P(w[3]),e->size);break;
  case 14:printf(" SWITCH %x %d\n",e->misc,e->size);break;case 15:printf(" SWITCHCPU %x %d\n",e->misc,e->size);break;
  case 16:printf(" NS P%d nr %lu size %d:",P(w[0]),q[1],e->size);for(int i=0;i<q[1];i++)printf(" %lx",q[3+2*i]);printf("\n");break;
  case 17:printf(" KSYMBOL len>0 %d type %d flags %d %.9s size %d\n",w[2]>0,*(uint16_t*)(b+20),*(uint16_t*)(b+22),b+24,e->size>60);break;
  case 18:printf(" BPF type %d flags %d size %d\n",*(uint16_t*)(b+8),*(uint16_t*)(b+10),e->size);break;
  default:printf(" type %d misc %x size %d\n",e->type,e->misc,e->size);}
  if(!e->size)break;k+=e->size;}m->data_tail=h;}
static void*th(void*a){prctl(PR_SET_NAME,"thread");return 0;}
static void work(void){prctl(PR_SET_NAME,"a name that is long");int fd=open("/w",O_RDONLY);char*p=mmap(0,8192,PROT_READ|PROT_EXEC,MAP_PRIVATE,fd,0);p=mmap(0,4096,PROT_READ,MAP_PRIVATE,fd,0x1000);mprotect(p,4096,PROT_READ|PROT_EXEC);mmap(0,4096,PROT_READ|PROT_EXEC,MAP_SHARED,fd,0);mmap(0,4096,PROT_READ|PROT_WRITE|PROT_EXEC,MAP_PRIVATE|MAP_ANONYMOUS,-1,0);int mf=memfd_create("mem",0);ftruncate(mf,4096);mmap(0,4096,PROT_READ|PROT_EXEC,MAP_SHARED,mf,0);close(fd);
 if(!fork())_exit(3);wait(0);if(!fork()){execl("/w","w","0",NULL);_exit(1);}wait(0);pthread_t t;pthread_create(&t,0,th,0);pthread_join(t,0);}
int main(void){setvbuf(stdout,0,_IONBF,0);P(getpid());P(getppid());
 for(int k=0;k<9;k++){
  struct perf_event_attr a={.type=PERF_TYPE_SOFTWARE,.size=sizeof a,.config=PERF_COUNT_SW_DUMMY,.inherit=k>0,.sample_type=k==8?PERF_SAMPLE_TID|PERF_SAMPLE_TIME|PERF_SAMPLE_ID|PERF_SAMPLE_CPU|PERF_SAMPLE_STREAM_ID|PERF_SAMPLE_IDENTIFIER:0,.sample_id_all=k==8,.disabled=1};
  const char*n[]={"comm","comm inherit","mmap","mmap2","mmap_data","task","comm_exec","all but data","all with ids"};
  if(k==0||k==1||k>=6)a.comm=1;if(k==6||k>=7)a.comm_exec=1;if(k==2||k>=7)a.mmap=1;if(k==3||k>=7)a.mmap=a.mmap2=1;if(k==4)a.mmap=a.mmap2=a.mmap_data=1;if(k==5||k>=7)a.task=1;
  int fd=po(&a,0,k?0:-1,-1,0);char*r=mmap(0,17*4096,3,MAP_SHARED,fd,0);
  if(!fork()){work();_exit(0);}  ;wait(0);
  ioctl(fd,PERF_EVENT_IOC_ENABLE,0);int c=fork();if(!c){work();_exit(0);}waitpid(c,0,0);if(k==0)prctl(PR_SET_NAME,"self");ioctl(fd,PERF_EVENT_IOC_DISABLE,0);show(r,16,n[k]);munmap(r,17*4096);close(fd);}
 {struct perf_event_attr a={.type=PERF_TYPE_SOFTWARE,.size=sizeof a,.config=PERF_COUNT_SW_DUMMY,.ksymbol=1,.bpf_event=1};int fd=po(&a,-1,0,-1,0);char*r=mmap(0,9*4096,3,MAP_SHARED,fd,0);
  struct bpf_insn in[2]={{.code=0xb7},{.code=0x95}};union bpf_attr b={.prog_type=1,.insn_cnt=2,.insns=(long)in,.license=(long)"GPL",.prog_name="myprog"};int pf=syscall(SYS_bpf,BPF_PROG_LOAD,&b,sizeof b);printf("prog %d\n",pf>0);close(pf);usleep(50000);show(r,8,"bpf");close(fd);}
 {struct perf_event_attr a={.type=PERF_TYPE_SOFTWARE,.size=sizeof a,.config=PERF_COUNT_SW_DUMMY,.namespaces=1,.inherit=1};int fd=po(&a,0,0,-1,0);char*r=mmap(0,9*4096,3,MAP_SHARED,fd,0);if(!fork()){_exit(0);}wait(0);if(!fork()){unshare(CLONE_NEWUTS);_exit(0);}wait(0);ioctl(fd,PERF_EVENT_IOC_DISABLE,0);struct perf_event_mmap_page*m=(void*)r;printf("ns bytes %lu\n",m->data_head);close(fd);}
 return 0;}
