/* A perf ring of one page: a BPF program puts 300 records of 48 bytes into it, 85 fit.  one_page_ring.out: what a real 6.1 printed. */
#define _GNU_SOURCE
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <errno.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
static int bpf(int c,union bpf_attr*a){int r=syscall(SYS_bpf,c,a,sizeof *a); return r<0?-errno:r;}
#define I(c,d,s,o,i) ((struct bpf_insn){c,d,s,o,i})
int main(){ union bpf_attr a; memset(&a,0,sizeof a); a.map_type=BPF_MAP_TYPE_PERF_EVENT_ARRAY;a.key_size=4;a.value_size=4;a.max_entries=1; int m=bpf(BPF_MAP_CREATE,&a);
 struct perf_event_attr o={.type=1,.config=PERF_COUNT_SW_BPF_OUTPUT,.size=sizeof o,.sample_period=1,.sample_type=PERF_SAMPLE_RAW};
 int r=syscall(SYS_perf_event_open,&o,-1,0,-1,0); struct perf_event_mmap_page*q=mmap(0,8192,3,MAP_SHARED,r,0); ioctl(r,PERF_EVENT_IOC_ENABLE,0);
 unsigned k=0; memset(&a,0,sizeof a); a.map_fd=m;a.key=(long)&k;a.value=(long)&r; printf("update %d\n",bpf(BPF_MAP_UPDATE_ELEM,&a));
 struct bpf_insn p[]={ I(0x7a,10,0,-8,1),I(0x7a,10,0,-16,1),I(0x7a,10,0,-24,1),I(0x7a,10,0,-32,1),I(0x7a,10,0,-40,1), I(0x18,2,1,0,m),I(0,0,0,0,0), I(0x18,3,0,0,-1),I(0,0,0,0,0), I(0xbf,4,10,0,0),I(0x07,4,0,0,-40),I(0xb7,5,0,0,36),I(0x85,0,0,0,25),I(0x95,0,0,0,0)};
 memset(&a,0,sizeof a); a.prog_type=BPF_PROG_TYPE_RAW_TRACEPOINT;a.insns=(long)p;a.insn_cnt=sizeof p/8;a.license=(long)"GPL"; int f=bpf(BPF_PROG_LOAD,&a); printf("load %d\n",f<0?f:0);
 int last=1,n=0; for(int i=0;i<300;i++){ memset(&a,0,sizeof a); a.test.prog_fd=f; int e=bpf(BPF_PROG_TEST_RUN,&a); int v=e?e:(int)a.test.retval; if(v!=last&&n){printf("%d x %d\n",n,last);n=0;} last=v;n++; } printf("%d x %d\n",n,last);
 printf("head %llu tail %llu\n",q->data_head,q->data_tail); q->data_tail=q->data_head; memset(&a,0,sizeof a); a.test.prog_fd=f; bpf(BPF_PROG_TEST_RUN,&a); printf("then %d head %llu\n",(int)a.test.retval,q->data_head);
 unsigned char*b=(void*)q+4096; unsigned long t=4080; struct perf_event_header h; for(int i=0;i<8;i++)((char*)&h)[i]=b[(t+i)&4095]; printf("type %u size %u\n",h.type,h.size); unsigned long c[2]; ioctl(r,PERF_EVENT_IOC_DISABLE,0); read(r,c,8); printf("count %lu\n",c[0]); return 0; }
