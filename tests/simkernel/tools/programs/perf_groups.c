/* Groups, inheritance and breakpoints: four debug registers, and which error comes first.  perf_groups.out: what a real 6.1 printed. */
#define _GNU_SOURCE
#include <linux/perf_event.h>
#include <linux/hw_breakpoint.h>
#include <stdio.h>
#include <string.h>
#include <errno.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
static int po(struct perf_event_attr*a,int g,unsigned long f){ int r=syscall(SYS_perf_event_open,a,0,-1,g,f); return r<0?-errno:r; }
volatile long x; void __attribute__((noinline)) fn(){ asm volatile(""); x++; }
int main(){
 struct perf_event_attr l={.type=1,.config=9,.size=sizeof l,.disabled=1,.read_format=15}, b={.type=5,.size=sizeof b,.bp_type=HW_BREAKPOINT_W,.bp_addr=(long)&x,.bp_len=8,.exclude_kernel=1,.exclude_hv=1}, e={.type=5,.size=sizeof e,.bp_type=HW_BREAKPOINT_X,.bp_addr=(long)fn,.bp_len=8,.exclude_kernel=1,.exclude_hv=1};
 int L=po(&l,-1,0),B=po(&b,L,0),E=po(&e,L,0); printf("%d %d %d\n",L>0,B>0,E>0);
 ioctl(L,PERF_EVENT_IOC_ENABLE,PERF_IOC_FLAG_GROUP); for(int i=0;i<7;i++) fn(); ioctl(L,PERF_EVENT_IOC_DISABLE,PERF_IOC_FLAG_GROUP);
 unsigned long v[16]={0}; int n=read(L,v,sizeof v); printf("read %d nr %lu dummy %lu\n",n,v[0],v[3]); long z=0; read(B,v,8); printf("w %lu\n",v[0]); read(E,v,8); printf("x %lu\n",v[0]);
 ioctl(L,PERF_EVENT_IOC_RESET,PERF_IOC_FLAG_GROUP); read(B,v,8); printf("reset %lu\n",v[0]);
 b.inherit=1; int I=po(&b,-1,0); if(!fork()){ fn();fn(); _exit(0);} wait(0); read(I,v,8); printf("inherit %lu\n",v[0]);
 b.inherit=1; b.read_format=PERF_FORMAT_GROUP; printf("inherit group %d\n",po(&b,-1,0)>0?0:po(&b,-1,0)); b.read_format=0;
 b.bp_len=3; printf("len3 %d\n",po(&b,-1,0)); b.bp_len=8; b.bp_addr|=1; printf("unaligned %d\n",po(&b,-1,0)); b.bp_addr&=~1ul; b.bp_type=HW_BREAKPOINT_R; printf("r %d\n",po(&b,-1,0)); b.bp_type=3;b.inherit=0;
 for(int i=0;i<4;i++){ int r=po(&b,-1,0); printf("rw %d\n",r>0?0:r);} 
 struct perf_event_attr s={.type=1,.config=1,.size=sizeof s,.sample_period=100000,.sample_type=(1<<24)}; printf("types %d\n",po(&s,-1,0)); for(int i=0;i<26;i++){ s.sample_type=1ul<<i; int r=po(&s,-1,0); printf("%d:%d ",i,r>0?0:r); if(r>0) close(r);} puts("");
 s.sample_type=1; s.freq=1; s.sample_freq=1000000; printf("freq %d\n",po(&s,-1,0)); s.freq=0; s.sample_period=1ul<<63; printf("period %d\n",po(&s,-1,0)); s.sample_period=1; s.pinned=1; s.exclusive=1; printf("sibling pinned %d\n",po(&s,L,0)>0?0:po(&s,L,0)); s.pinned=s.exclusive=0; s.precise_ip=1; printf("precise %d\n",po(&s,-1,0)>0?0:-1); s.precise_ip=0; s.sigtrap=1; printf("sigtrap %d\n",po(&s,-1,0)); s.remove_on_exec=1; printf("both %d\n",po(&s,-1,0)>0?0:po(&s,-1,0)); s.enable_on_exec=1; printf("enable %d\n",po(&s,-1,0)>0?0:po(&s,-1,0));
 printf("flags %d %d\n",po(&l,-1,16),po(&l,L,PERF_FLAG_FD_NO_GROUP)>0); printf("group of sibling %d\n",po(&l,B,0)); return 0; }
