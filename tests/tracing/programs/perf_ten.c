/* Programs about perf_event_open, one for each argument.  Not asked: what the kernel itself stores where a breakpoint is, the clock of a mapped page. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#define P(...) printf(__VA_ARGS__)
#define E(x) ({errno=0;long r_=(long)(x);r_==-1?-errno:r_;})
#define OK(x) ({long q_=(x);q_>=0?0:q_;})
typedef struct perf_event_attr Attr;
static long po(Attr*a,int pid,int cpu,int g,long fl){long r=syscall(SYS_perf_event_open,a,pid,cpu,g,fl);return r<0?-errno:r;}
static int id_of(const char *n){char p[200],b[20]="";sprintf(p,"/sys/kernel/tracing/events/%s/id",n);int f=open(p,O_RDONLY);read(f,b,19);close(f);return atoi(b);}
static Attr T(const char*n){Attr a={.type=PERF_TYPE_TRACEPOINT,.size=sizeof a,.config=id_of(n)};return a;}
static Attr S(int c){Attr a={.type=PERF_TYPE_SOFTWARE,.size=sizeof a,.config=c};return a;}
static Attr B(int t,void*p,int l){Attr a={.type=PERF_TYPE_BREAKPOINT,.size=sizeof a,.bp_type=t,.bp_addr=(uint64_t)p,.bp_len=l,.sample_period=1};return a;}
static uint64_t count(int fd){uint64_t v[64]={0};return read(fd,v,sizeof v)>0?v[0]:-1;}
static volatile uint64_t cell[8];
static void text(const char*p){char b[4096];int f=open(p,O_RDONLY);int n=f<0?-1:read(f,b,4095);close(f);if(n<0){P("%s: %d\n",p,-errno);return;}b[n]=0;P("%s: %s%s",p,b,n&&b[n-1]=='\n'?"":"\n");}
__attribute__((noinline)) int called(int x){asm volatile(""::"r"(x));return x+1;}
struct ring{struct perf_event_mmap_page*m;char*d;uint64_t size,at;};
static struct ring ring(int fd,int pages){struct ring r={0};r.m=mmap(0,(pages+1)*4096,3,MAP_SHARED,fd,0);r.d=(char*)r.m+4096;r.size=pages*4096ul;return r;}
static char buf[65536];
static struct perf_event_header*next(struct ring*r){if(r->m==MAP_FAILED||r->at>=r->m->data_head)return 0;struct perf_event_header h;for(int i=0;i<8;i++)((char*)&h)[i]=r->d[(r->at+i)%r->size];for(int i=0;i<h.size;i++)buf[i]=r->d[(r->at+i)%r->size];r->at+=h.size;return(void*)buf;}
static void breakpoints(void){
 int types[]={0,1,2,3,4,5,7,8},lens[]={0,1,2,3,4,5,8,16};
 for(int i=0;i<8;i++)for(int j=0;j<8;j++){Attr a=B(types[i],(void*)&cell,lens[j]);long f=po(&a,0,-1,-1,0);P("%d/%d:%ld ",types[i],lens[j],OK(f));if(f>=0)close(f);}P("\n");
 for(int o=0;o<9;o++){Attr a=B(2,(char*)cell+o,4);long f=po(&a,0,-1,-1,0);P("off%d:%ld ",o,OK(f));if(f>=0)close(f);}P("\n");
 Attr a=B(HW_BREAKPOINT_W,(void*)&cell[0],8);int w=po(&a,0,-1,-1,0);a=B(HW_BREAKPOINT_RW,(void*)&cell[1],8);int rw=po(&a,0,-1,-1,0);a=B(HW_BREAKPOINT_X,called,8);int x=po(&a,0,-1,-1,0);a=B(HW_BREAKPOINT_W,(char*)&cell[2]+4,4);int h=po(&a,0,-1,-1,0);
 a=B(HW_BREAKPOINT_W,(void*)&cell[5],8);P("fifth %ld\n",po(&a,0,-1,-1,0));
 for(int i=0;i<5;i++){cell[0]=i;cell[1]=cell[1]+1;called(i);cell[2]=i;((volatile int*)cell)[5]=i;}
 P("w %lu rw %lu x %lu half %d\n",count(w),count(rw),count(x),count(h)>=10);
 ioctl(w,PERF_EVENT_IOC_DISABLE,0);cell[0]=9;P("off %lu\n",count(w));ioctl(w,PERF_EVENT_IOC_ENABLE,0);cell[0]=9;P("on %lu\n",count(w));ioctl(w,PERF_EVENT_IOC_REFRESH,2);for(int i=0;i<5;i++)cell[0]=i;P("refresh %lu\n",count(w));
 a=B(HW_BREAKPOINT_W,(void*)&cell[3],8);P("modify %ld",E(ioctl(w,PERF_EVENT_IOC_MODIFY_ATTRIBUTES,&a)));ioctl(w,PERF_EVENT_IOC_ENABLE,0);cell[3]=1;cell[0]=1;P(" %lu\n",count(w));
 a.bp_len=3;P("modify bad %ld\n",E(ioctl(w,PERF_EVENT_IOC_MODIFY_ATTRIBUTES,&a)));a=S(1);P("modify type %ld\n",E(ioctl(w,PERF_EVENT_IOC_MODIFY_ATTRIBUTES,&a)));a=B(HW_BREAKPOINT_W,(void*)&cell[3],8);a.size=0;P("modify size0 %ld\n",E(ioctl(w,PERF_EVENT_IOC_MODIFY_ATTRIBUTES,&a)));a.size=4096;P("size big %ld\n",E(ioctl(w,PERF_EVENT_IOC_MODIFY_ATTRIBUTES,&a)));
 
 close(w);a=B(HW_BREAKPOINT_W,(void*)&cell[0],8);a.exclude_kernel=1;w=po(&a,0,-1,-1,0);cell[0]=2;read(open("/dev/zero",O_RDONLY),(void*)&cell[0],8);P("exclude_kernel %lu\n",count(w));close(w);
 a=B(HW_BREAKPOINT_W,(void*)0xffffffff81000000,8);P("kernel address %ld",OK(po(&a,0,-1,-1,0)));a.exclude_kernel=1;P(" excluded %ld\n",OK(po(&a,0,-1,-1,0)));
 a=B(HW_BREAKPOINT_W,(void*)0x7ffffffffff8,8);P("top %ld\n",OK(po(&a,0,-1,-1,0)));
 a=B(HW_BREAKPOINT_W,(void*)&cell[0],8);a.config=1;P("config %ld\n",OK(po(&a,0,-1,-1,0)));
}
static void child_counts(void){
 const char*names[]={"none","inherit","inherit_thread","inherit_stat"};
 for(int k=0;k<4;k++){Attr a=T("syscalls/sys_enter_getppid");a.inherit=k>0;a.inherit_thread=k==2;a.inherit_stat=k==3;long f=po(&a,0,-1,-1,0);
  for(int i=0;i<3;i++){if(!fork()){for(int j=0;j<=i;j++)syscall(SYS_getppid);if(i==2){if(!fork()){syscall(SYS_getppid);_exit(0);}wait(0);}_exit(0);}wait(0);}
  P("%s %ld %lu\n",names[k],OK(f),f>=0?count(f):0);if(f>=0){ioctl(f,PERF_EVENT_IOC_DISABLE,0);if(!fork()){syscall(SYS_getppid);_exit(0);}wait(0);P("disabled %lu\n",count(f));ioctl(f,PERF_EVENT_IOC_ENABLE,0);uint64_t was=count(f);if(!fork()){syscall(SYS_getppid);ioctl(f,PERF_EVENT_IOC_DISABLE,0);syscall(SYS_getppid);_exit(0);}wait(0);syscall(SYS_getppid);P("child disables %lu\n",count(f)-was);close(f);}}
 Attr a=T("syscalls/sys_enter_getppid");a.inherit=1;int l=po(&a,0,-1,-1,0);a=T("syscalls/sys_enter_getuid");a.inherit=1;int m=po(&a,0,-1,l,0);if(!fork()){syscall(SYS_getppid);syscall(SYS_getuid);syscall(SYS_getuid);_exit(0);}wait(0);P("group %lu %lu\n",count(l),count(m));
 for(unsigned f=0;f<32;f++){a=S(PERF_COUNT_SW_DUMMY);a.inherit=1;a.read_format=f;P("%u:%ld ",f,OK(po(&a,0,-1,-1,0)));}P("\n");
 prctl(PR_TASK_PERF_EVENTS_DISABLE);syscall(SYS_getppid);P("prctl off %lu",count(l));prctl(PR_TASK_PERF_EVENTS_ENABLE);syscall(SYS_getppid);P(" on %lu\n",count(l));
}
static void formats(void){
 for(unsigned f=0;f<64;f++){Attr a=T("syscalls/sys_enter_getppid");a.read_format=f;long l=po(&a,0,-1,-1,0);a=T("syscalls/sys_enter_getuid");a.read_format=f;long m=l>=0?po(&a,0,-1,l,0):-1;
  uint64_t v[32]={0};syscall(SYS_getppid);syscall(SYS_getuid);syscall(SYS_getuid);long n=l>=0?E(read(l,v,sizeof v)):0;P("%u %ld %ld n%ld",f,OK(l),OK(m),n);
  if(n>0){int g=f&8,i=0;if(g)P(" nr%lu",v[i++]);else P(" c%lu",v[i++]);if(f&1)P(" e%d",v[i++]>0);if(f&2)P(" r%d",v[i++]>0);for(int k=0;k<(g?v[0]:1)&&k<4;k++){if(g)P(" c%lu",v[i++]);if(f&4)P(" i%d",v[i++]>0);if(f&16)P(" l%lu",v[i++]);}P(" used%d",i*8==n);}
  if(l>=0){for(int s=0;s<80;s+=8){errno=0;long q=read(l,v,s);P(" %ld",q<0?-errno:q);}close(l);}if(m>=0){P(" after %ld",E(read(m,v,256)));close(m);}P("\n");}
}
static void lost(void){
 Attr a=T("syscalls/sys_enter_getppid");a.sample_period=1;a.sample_type=PERF_SAMPLE_TID|PERF_SAMPLE_PERIOD|PERF_SAMPLE_RAW;a.read_format=PERF_FORMAT_LOST;int f=po(&a,0,-1,-1,0);struct ring r=ring(f,1);
 for(int i=0;i<200;i++)syscall(SYS_getppid);uint64_t v[4];read(f,v,32);P("count %lu lost %lu\n",v[0],v[1]);
 int n=0,types[32]={0};struct perf_event_header*h;while((h=next(&r))){n++;types[h->type&31]++;}P("records %d samples %d lost %d head %lu\n",n,types[9],types[2],(unsigned long)r.m->data_head);
 r.m->data_tail=r.m->data_head;for(int i=0;i<3;i++)syscall(SYS_getppid);while((h=next(&r))){P("type %u size %u",h->type,h->size);if(h->type==2)P(" lost %lu",((uint64_t*)(h+1))[1]);P("\n");}read(f,v,32);P("count %lu lost %lu\n",v[0],v[1]);
 P("pause %ld",E(ioctl(f,PERF_EVENT_IOC_PAUSE_OUTPUT,1)));for(int i=0;i<5;i++)syscall(SYS_getppid);while((h=next(&r)))P(" ?%u",h->type);P(" resume %ld",E(ioctl(f,PERF_EVENT_IOC_PAUSE_OUTPUT,0)));syscall(SYS_getppid);while((h=next(&r)))P(" t%u s%u",h->type,h->size);read(f,v,32);P(" lost %lu\n",v[1]);
 close(f);a.write_backward=1;f=po(&a,0,-1,-1,0);struct ring b=ring(f,2);for(int i=0;i<500;i++)syscall(SYS_getppid);read(f,v,32);P("backward %lu lost %lu head %ld\n",v[0],v[1],(long)b.m->data_head);
 a.write_backward=0;a.sample_id_all=1;a.sample_type|=PERF_SAMPLE_TIME|PERF_SAMPLE_ID;int g=po(&a,0,-1,-1,0);struct ring c=ring(g,1);for(int i=0;i<300;i++)syscall(SYS_getppid);c.m->data_tail=c.m->data_head;c.at=c.m->data_head;syscall(SYS_getppid);while((h=next(&c)))P("id_all type %u size %u\n",h->type,h->size);
 P("set_output self %ld other %ld -1 %ld back %ld\n",E(ioctl(g,PERF_EVENT_IOC_SET_OUTPUT,g)),E(ioctl(f,PERF_EVENT_IOC_SET_OUTPUT,g)),E(ioctl(g,PERF_EVENT_IOC_SET_OUTPUT,-1)),E(ioctl(g,PERF_EVENT_IOC_SET_OUTPUT,f)));
 a=S(PERF_COUNT_SW_DUMMY);for(int p=0;p<9;p++){int d=po(&a,0,-1,-1,0);void*m=mmap(0,p*4096,3,MAP_SHARED,d,0);P("%d:%d ",p,m==MAP_FAILED?-errno:0);close(d);}P("\n");
 int d=po(&a,0,-1,-1,0);P("private %ld ro %ld off %ld\n",E(mmap(0,8192,3,MAP_PRIVATE,d,0))<0?(long)-errno:0,E(mmap(0,8192,1,MAP_SHARED,d,0))<0?(long)-errno:0,E(mmap(0,8192,3,MAP_SHARED,d,4096))<0?(long)-errno:0);
}
static void sources(void){
 DIR*d=opendir("/sys/bus/event_source/devices");struct dirent*e;char names[32][64];int n=0;while((e=readdir(d)))if(e->d_name[0]!='.')strcpy(names[n++],e->d_name);
 for(int i=0;i<n;i++)for(int j=i+1;j<n;j++)if(strcmp(names[i],names[j])>0){char t[64];strcpy(t,names[i]);strcpy(names[i],names[j]);strcpy(names[j],t);}
 const char*want[]={"breakpoint","kprobe","uprobe","software","tracepoint"};for(int i=0;i<5;i++){int there=0;for(int j=0;j<n;j++)there|=!strcmp(want[i],names[j]);P("%s %d\n",want[i],there);}
 const char*files[]={"breakpoint/type","software/type","tracepoint/type","software/perf_event_mux_interval_ms","breakpoint/perf_event_mux_interval_ms","tracepoint/perf_event_mux_interval_ms","kprobe/format/retprobe","uprobe/format/retprobe","uprobe/format/ref_ctr_offset","kprobe/perf_event_mux_interval_ms","software/uevent","kprobe/power/control"};for(int i=0;i<12;i++){char p[200];sprintf(p,"/sys/bus/event_source/devices/%s",files[i]);text(p);}
 const char*sys[]={"perf_event_paranoid","perf_event_max_sample_rate","perf_event_mlock_kb","perf_event_max_stack","perf_event_max_contexts_per_stack","perf_cpu_time_max_percent"};for(int i=0;i<6;i++){char p[99];sprintf(p,"/proc/sys/kernel/%s",sys[i]);text(p);}
 int kt,ut;char b[20]="";read(open("/sys/bus/event_source/devices/kprobe/type",0),b,19);kt=atoi(b);memset(b,0,20);read(open("/sys/bus/event_source/devices/uprobe/type",0),b,19);ut=atoi(b);
 Attr a={.type=kt,.size=sizeof a};a.kprobe_func=(uint64_t)"__x64_sys_getppid";int k=po(&a,0,-1,-1,0);a.config=1;int kr=po(&a,0,-1,-1,0);a.config=0;a.probe_offset=1;P("inside %ld",OK(po(&a,0,-1,-1,0)));a.probe_offset=0x100000;P(" far %d",po(&a,0,-1,-1,0)<0);a.probe_offset=0;a.kprobe_func=(uint64_t)"nosuch";P(" none %ld",OK(po(&a,0,-1,-1,0)));a.kprobe_func=(uint64_t)"";P(" empty %ld",OK(po(&a,0,-1,-1,0)));a.kprobe_func=8;P(" bad %ld",OK(po(&a,0,-1,-1,0)));a.kprobe_func=0;a.kprobe_addr=5;P(" addr %ld",OK(po(&a,0,-1,-1,0)));a.config=2;a.kprobe_func=(uint64_t)"vfs_read";P(" cfg2 %ld",OK(po(&a,0,-1,-1,0)));a.config=4;P(" cfg4 %ld\n",OK(po(&a,0,-1,-1,0)));
 for(int i=0;i<4;i++)syscall(SYS_getppid);P("kprobe %lu ret %lu\n",count(k),count(kr));
 Attr u={.type=ut,.size=sizeof u};u.uprobe_path=(uint64_t)"/proc/self/exe";u.probe_offset=0;P("uprobe %ld",OK(po(&u,0,-1,-1,0)));u.uprobe_path=(uint64_t)"/nosuch";P(" none %ld",OK(po(&u,0,-1,-1,0)));u.uprobe_path=(uint64_t)"/tmp";P(" dir %ld",OK(po(&u,0,-1,-1,0)));u.uprobe_path=0;P(" null %ld",OK(po(&u,0,-1,-1,0)));u.uprobe_path=(uint64_t)"";P(" empty %ld\n",OK(po(&u,0,-1,-1,0)));
 for(int t=0;t<14;t++){if(t==kt||t==ut)continue;Attr q={.type=t,.size=sizeof q};long r=po(&q,0,-1,-1,0);if(t<4||t==5)P("type %d %ld\n",t,OK(r));}
 for(int c=0;c<14;c++){Attr q=S(c);long f=po(&q,0,-1,-1,0),g=po(&q,-1,0,-1,0);P("sw%d %ld %ld; ",c,OK(f),OK(g));}P("\n");
 for(int c=0;c<12;c++){Attr q={.type=0,.size=sizeof q,.config=c};P("hw%d %ld ",c,OK(po(&q,0,-1,-1,0)));}P("\n");
 for(int c=0;c<8;c++){Attr q={.type=3,.size=sizeof q,.config=c|(c%3)<<8|(c%2)<<16};P("cache%d %ld ",c,OK(po(&q,0,-1,-1,0)));}Attr q={.type=4,.size=sizeof q,.config=0xc0};P("raw %ld\n",OK(po(&q,0,-1,-1,0)));
}
static void ioctls(void){
 Attr a=T("syscalls/sys_enter_lseek");int f=po(&a,0,-1,-1,0);const char*fs[]={"fd == 5","fd == ","nosuch == 1","fd == 5 && offset > 3","","0","fd","common_pid > 0","fd == 5 || whence == 2","\"","fd == 0xffffffffffffffffff","(fd == 5"};
 for(int i=0;i<12;i++){ioctl(f,PERF_EVENT_IOC_RESET,0);P("[%s] %ld",fs[i],E(ioctl(f,PERF_EVENT_IOC_SET_FILTER,fs[i])));lseek(5,1,0);lseek(6,7,2);lseek(5,9,1);P(" %lu\n",count(f));}
 P("null %ld bad %ld\n",E(ioctl(f,PERF_EVENT_IOC_SET_FILTER,0)),E(ioctl(f,PERF_EVENT_IOC_SET_FILTER,8)));
 char*big=malloc(9000);memset(big,' ',9000);big[8999]=0;P("big %ld\n",E(ioctl(f,PERF_EVENT_IOC_SET_FILTER,big)));
 Attr s=S(1);int sw=po(&s,0,-1,-1,0);P("sw filter %ld\n",E(ioctl(sw,PERF_EVENT_IOC_SET_FILTER,"fd == 5")));
 struct{uint32_t len,cnt,ids[8];}q={8};P("query %ld cnt %u",E(ioctl(f,PERF_EVENT_IOC_QUERY_BPF,&q)),q.cnt);q.len=0;P(" len0 %ld",E(ioctl(f,PERF_EVENT_IOC_QUERY_BPF,&q)));q.len=65;P(" len65 %ld",E(ioctl(f,PERF_EVENT_IOC_QUERY_BPF,&q)));P(" sw %ld null %ld\n",E(ioctl(sw,PERF_EVENT_IOC_QUERY_BPF,&q)),E(ioctl(f,PERF_EVENT_IOC_QUERY_BPF,0)));
 uint64_t insn[2]={0x00000000000000b7ull,0x95};struct{uint32_t type,cnt;uint64_t insns,lic;uint32_t lvl,sz;uint64_t buf;uint32_t kv,fl;char pad[64];}l={5,2,(uint64_t)insn,(uint64_t)"GPL"};int p=syscall(SYS_bpf,5,&l,72);P("prog %d",p>0);P(" set %ld",E(ioctl(f,PERF_EVENT_IOC_SET_BPF,p)));q.len=8;q.cnt=0;P(" query %ld %u",E(ioctl(f,PERF_EVENT_IOC_QUERY_BPF,&q)),q.cnt);P(" again %ld",E(ioctl(f,PERF_EVENT_IOC_SET_BPF,p)));int g=po(&a,0,-1,-1,0);P(" other %ld",E(ioctl(g,PERF_EVENT_IOC_SET_BPF,p)));P(" sw %ld neg %ld\n",E(ioctl(sw,PERF_EVENT_IOC_SET_BPF,p)),E(ioctl(f,PERF_EVENT_IOC_SET_BPF,-1)));
 q.len=1;q.cnt=0;P("query1 %ld %u\n",E(ioctl(f,PERF_EVENT_IOC_QUERY_BPF,&q)),q.cnt);
 ioctl(f,PERF_EVENT_IOC_RESET,0);lseek(5,1,0);P("returns 0: %lu\n",count(f));
 s=S(PERF_COUNT_SW_CPU_CLOCK);s.sample_period=1000000;int c=po(&s,0,-1,-1,0);uint64_t v=0;P("period 0 %ld",E(ioctl(c,PERF_EVENT_IOC_PERIOD,&v)));v=5;P(" 5 %ld",E(ioctl(c,PERF_EVENT_IOC_PERIOD,&v)));v=1ull<<63;P(" big %ld null %ld\n",E(ioctl(c,PERF_EVENT_IOC_PERIOD,&v)),E(ioctl(c,PERF_EVENT_IOC_PERIOD,0)));
 s.freq=1;s.sample_freq=100;c=po(&s,0,-1,-1,0);v=200000000;P("freq %ld",E(ioctl(c,PERF_EVENT_IOC_PERIOD,&v)));v=100;P(" %ld\n",E(ioctl(c,PERF_EVENT_IOC_PERIOD,&v)));
 P("refresh 0 %ld -1 %ld noperiod %ld\n",E(ioctl(c,PERF_EVENT_IOC_REFRESH,0)),E(ioctl(c,PERF_EVENT_IOC_REFRESH,-1)),E(ioctl(f,PERF_EVENT_IOC_REFRESH,1)));
 struct pollfd pf={f,POLLIN};P("poll %d %x\n",poll(&pf,1,0),pf.revents);struct stat st;P("fstat %d %o lseek %ld write %ld pread %ld\n",fstat(f,&st),st.st_mode,E(lseek(f,0,0)),E(write(f,"x",1)),E(pread(f,big,64,0)));
}
static void frequency(void){
 for(int i=0;i<5;i++){uint64_t fr[]={0,1,1000,100000,100001};Attr a=S(PERF_COUNT_SW_CPU_CLOCK);a.freq=1;a.sample_freq=fr[i];P("%lu %ld\n",fr[i],OK(po(&a,0,-1,-1,0)));}
 Attr a=T("syscalls/sys_enter_getppid");a.freq=1;a.sample_freq=1000;P("tracepoint %ld\n",OK(po(&a,0,-1,-1,0)));
 a=S(PERF_COUNT_SW_CPU_CLOCK);a.sample_period=1000000;a.sample_type=PERF_SAMPLE_IP|PERF_SAMPLE_TID|PERF_SAMPLE_PERIOD|PERF_SAMPLE_CPU|PERF_SAMPLE_STREAM_ID|PERF_SAMPLE_ID|PERF_SAMPLE_IDENTIFIER|PERF_SAMPLE_ADDR|PERF_SAMPLE_READ;a.exclude_kernel=1;int f=po(&a,0,-1,-1,0);struct ring r=ring(f,8);
 volatile int x;for(int i=0;i<30000000&&!(i%1000==0&&r.m->data_head>800);i++)x=i;ioctl(f,PERF_EVENT_IOC_DISABLE,0);struct perf_event_header*h=next(&r);if(h){uint64_t*w=(void*)(h+1);P("type %u misc %x size %u id %d ip %d pid %d addr %lx id2 %d stream %d cpu %lu period %lu read %d\n",h->type,h->misc,h->size,w[0]>0,w[1]>0x1000,(uint32_t)w[2]==getpid(),w[3],w[4]==w[0],w[5]==w[0],w[6],w[7],w[8]>0);}
 a.sample_period=(1ull<<63);P("huge %ld\n",OK(po(&a,0,-1,-1,0)));a.sample_period=1;a.precise_ip=1;P("precise1 %ld",OK(po(&a,0,-1,-1,0)));a.precise_ip=3;P(" 3 %ld\n",OK(po(&a,0,-1,-1,0)));
 a=S(PERF_COUNT_SW_PAGE_FAULTS);a.sample_period=1;a.sample_type=PERF_SAMPLE_ADDR|PERF_SAMPLE_IP;a.exclude_kernel=1;f=po(&a,0,-1,-1,0);r=ring(f,8);char*m=mmap(0,65536,3,MAP_PRIVATE|MAP_ANONYMOUS,-1,0);for(int i=0;i<16;i++)m[i*4096+i]=1;ioctl(f,PERF_EVENT_IOC_DISABLE,0);int hit=0;while((h=next(&r))){uint64_t*w=(void*)(h+1);if(w[1]>=(uint64_t)m&&w[1]<(uint64_t)m+65536)hit+=(w[1]-(uint64_t)m)/4096==(w[1]&4095);}P("faults %d\n",hit);
 a.sample_period=4;f=po(&a,0,-1,-1,0);r=ring(f,8);m=mmap(0,65536,3,MAP_PRIVATE|MAP_ANONYMOUS,-1,0);for(int i=0;i<16;i++)m[i*4096+i]=1;int n=0;ioctl(f,PERF_EVENT_IOC_DISABLE,0);while((h=next(&r)))n++;P("every fourth %d %d\n",n>=4,n<8);
 a.wakeup_events=3;f=po(&a,0,-1,-1,0);r=ring(f,8);struct pollfd pf={f,POLLIN};m=mmap(0,65536,3,MAP_PRIVATE|MAP_ANONYMOUS,-1,0);P("poll %d",poll(&pf,1,0));for(int i=0;i<16;i++)m[i*4096]=1;P(" %d %x",poll(&pf,1,0),pf.revents);P(" again %d\n",poll(&pf,1,0));
 a=S(PERF_COUNT_SW_CONTEXT_SWITCHES);a.sample_period=1;a.sample_type=PERF_SAMPLE_TID|PERF_SAMPLE_CALLCHAIN;f=po(&a,0,-1,-1,0);r=ring(f,8);usleep(1000);usleep(1000);ioctl(f,PERF_EVENT_IOC_DISABLE,0);n=0;while((h=next(&r))){n++;uint64_t*w=(void*)(h+1);if(n==1)P("switch misc %x chain ctx %lx\n",h->misc,w[2]);}P("switches %d count %d\n",n>=2,count(f)==n);
 text("/proc/sys/kernel/perf_event_max_sample_rate");
}
static void maps(void){
 for(int k=0;k<5;k++){Attr a=S(PERF_COUNT_SW_DUMMY);a.mmap=k!=4;a.mmap2=k>=1&&k<4;a.build_id=k==2;a.mmap_data=k==3;a.comm=1;a.task=1;a.sample_id_all=k==3;a.sample_type=PERF_SAMPLE_TID;long f=po(&a,0,-1,-1,0);P("kind %d %ld\n",k,OK(f));struct ring r=ring(f,8);
  void*m=mmap(0,8192,PROT_READ|PROT_EXEC,MAP_PRIVATE,open("/proc/self/exe",O_RDONLY),0);mmap(0,4096,7,MAP_PRIVATE|MAP_ANONYMOUS,-1,0);mmap(0,4096,3,MAP_PRIVATE|MAP_ANONYMOUS,-1,0);mprotect(m,8192,1);mprotect(m,8192,5);prctl(PR_SET_NAME,"renamed");if(!fork())_exit(0);wait(0);munmap(m,8192);
  struct perf_event_header*h;while((h=next(&r))){char*b=(char*)(h+1);uint32_t*w=(void*)b;if(h->type==1)P(" MMAP misc %x me %d len %lx off %d %s\n",h->misc,w[0]==getpid(),*(uint64_t*)(b+16),*(uint64_t*)(b+24)>0,b[32]=='/'?"file":b+32);else if(h->type==10){P(" MMAP2 misc %x len %lx off %d prot %x flags %x ",h->misc,*(uint64_t*)(b+16),*(uint64_t*)(b+24)>0,*(uint32_t*)(b+56),*(uint32_t*)(b+60));if(h->misc&(1<<14))P("buildid size %d ",b[32]);P("%s\n",b[64]=='/'?"file":b+64);}else if(h->type==3)P(" COMM misc %x %s size %u\n",h->misc,b+8,h->size);else P(" type %u misc %x size %u\n",h->type,h->misc,h->size);}
  close(f);}
}
static int traps;static uint64_t trapdata,trapaddr;static int trapcode,traptype;
static void trapped(int s,siginfo_t*i,void*c){traps++;trapcode=i->si_code;trapaddr=(uint64_t)i->si_addr;trapdata=*(uint64_t*)((char*)i+24);traptype=*(int*)((char*)i+32);}
static void sigtrap(void){
 struct sigaction sa={.sa_sigaction=trapped,.sa_flags=SA_SIGINFO};sigaction(SIGTRAP,&sa,0);
 Attr a=B(HW_BREAKPOINT_W,(void*)&cell[0],8);a.sigtrap=1;P("without remove_on_exec %ld\n",OK(po(&a,0,-1,-1,0)));a.remove_on_exec=1;a.sig_data=0x1234567890;long f=po(&a,0,-1,-1,0);P("%ld\n",OK(f));cell[0]=1;cell[0]=2;P("traps %d code %d addr %d data %lx type %d count %lu\n",traps,trapcode,trapaddr==(uint64_t)&cell[0],trapdata,traptype,count(f));
 ioctl(f,PERF_EVENT_IOC_DISABLE,0);cell[0]=3;P("off %d\n",traps);sigset_t s;sigemptyset(&s);sigaddset(&s,SIGTRAP);ioctl(f,PERF_EVENT_IOC_ENABLE,0);a.sig_data=7;P("modify %ld\n",E(ioctl(f,PERF_EVENT_IOC_MODIFY_ATTRIBUTES,&a)));cell[0]=4;P("data %lx %d\n",trapdata,traps);close(f);
 a.inherit=1;P("inherit %ld\n",OK(po(&a,0,-1,-1,0)));a.inherit=0;P("cpu %ld\n",OK(po(&a,-1,0,-1,0)));
 traps=0;a=T("syscalls/sys_enter_getppid");a.sigtrap=1;a.remove_on_exec=1;a.sample_period=1;f=po(&a,0,-1,-1,0);P("tracepoint %ld",OK(f));syscall(SYS_getppid);P(" traps %d type %d\n",traps,traptype);if(f>=0)close(f);
 traps=0;a=S(PERF_COUNT_SW_PAGE_FAULTS);a.sigtrap=1;a.remove_on_exec=1;a.sample_period=1;f=po(&a,0,-1,-1,0);char*m=mmap(0,8192,3,MAP_PRIVATE|MAP_ANONYMOUS,-1,0);int before=traps;m[0]=1;P("fault %ld traps %d type %d\n",OK(f),traps-before,traptype);ioctl(f,PERF_EVENT_IOC_DISABLE,0);
 int owner=po(&a,0,-1,-1,0);a=T("syscalls/sys_enter_getppid");a.sample_period=2;a.wakeup_events=1;f=po(&a,0,-1,-1,0);struct ring r=ring(f,1);traps=0;fcntl(f,F_SETFL,O_ASYNC);fcntl(f,F_SETOWN,getpid());fcntl(f,F_SETSIG,SIGTRAP);for(int i=0;i<6;i++)syscall(SYS_getppid);P("async %d code %d\n",traps,trapcode);traps=0;ioctl(f,PERF_EVENT_IOC_REFRESH,1);for(int i=0;i<6;i++)syscall(SYS_getppid);P("refresh %d code %d count %lu\n",traps,trapcode,count(f));
}
static void stacks(void){
 Attr a=T("syscalls/sys_enter_getppid");a.sample_period=1;a.sample_type=PERF_SAMPLE_REGS_USER|PERF_SAMPLE_STACK_USER|PERF_SAMPLE_RAW;a.sample_regs_user=0xff0fff;a.sample_stack_user=64;long f=po(&a,0,-1,-1,0);P("%ld\n",OK(f));struct ring r=ring(f,8);syscall(SYS_getppid);ioctl(f,PERF_EVENT_IOC_DISABLE,0);struct perf_event_header*h=next(&r);if(h){char*b=(char*)(h+1);uint32_t raw=*(uint32_t*)b;uint64_t*w=(void*)(b+4+raw);P("size %u raw %u abi %lu ax %ld flags %lx cs %lx ss %lx sp %d stack %lu dyn %lu\n",h->size,raw,w[0],(long)w[1],w[10]&0x40,w[11],w[12],w[8]>0x1000,w[21],w[21+1+w[21]/8]);}
 uint64_t masks[]={0,1,1ull<<11,1ull<<12,1ull<<13,1ull<<23,1ull<<24,1ull<<32,1ull<<63};for(int i=0;i<9;i++){a=T("syscalls/sys_enter_getppid");a.sample_type=PERF_SAMPLE_REGS_USER;a.sample_regs_user=masks[i];long x=po(&a,0,-1,-1,0);a.sample_type=PERF_SAMPLE_REGS_INTR;a.sample_regs_user=0;a.sample_regs_intr=masks[i];long y=po(&a,0,-1,-1,0);P("%lx %ld %ld\n",masks[i],OK(x),OK(y));if(x>=0)close(x);if(y>=0)close(y);}
 unsigned ss[]={0,1,7,8,16,65528,65535,65536};for(int i=0;i<8;i++){a=T("syscalls/sys_enter_getppid");a.sample_type=PERF_SAMPLE_STACK_USER;a.sample_stack_user=ss[i];long x=po(&a,0,-1,-1,0);P("stack %u %ld\n",ss[i],OK(x));if(x>=0)close(x);}
 for(int b=0;b<28;b++){a=T("syscalls/sys_enter_getppid");a.sample_period=1;a.sample_type=1ull<<b;long x=po(&a,0,-1,-1,0);P("type %d %ld",b,OK(x));if(x>=0){r=ring(x,2);syscall(SYS_getppid);h=next(&r);P(" size %d",h?h->size:-1);close(x);}P("\n");}
 a=T("syscalls/sys_enter_getppid");a.sample_period=1;a.sample_type=PERF_SAMPLE_CALLCHAIN;a.sample_max_stack=3;f=po(&a,0,-1,-1,0);r=ring(f,2);syscall(SYS_getppid);h=next(&r);uint64_t*w=(void*)(h+1);P("chain nr %lu first %lx\n",w[0],w[1]);a.exclude_callchain_kernel=1;a.sample_max_stack=0;f=po(&a,0,-1,-1,0);r=ring(f,2);syscall(SYS_getppid);h=next(&r);P("user first %lx\n",w[1]);a.exclude_callchain_user=1;f=po(&a,0,-1,-1,0);r=ring(f,2);syscall(SYS_getppid);h=next(&r);P("neither %lu\n",h?w[0]:99);a.sample_max_stack=128;P("max 128 %ld\n",OK(po(&a,0,-1,-1,0)));
}
static void refused(void){
 struct{const char*n;int set;}x[1];(void)x;Attr z;
#define TRY(name,...) z=S(1);__VA_ARGS__;P("%s %ld\n",name,OK(po(&z,0,-1,-1,0)))
 TRY("aux_output",z.aux_output=1);TRY("aux_watermark",z.aux_watermark=4096);TRY("aux_sample_size",z.aux_sample_size=64);TRY("aux_sample_type",z.sample_type=PERF_SAMPLE_AUX;z.aux_sample_size=64);TRY("branch",z.sample_type=PERF_SAMPLE_BRANCH_STACK;z.branch_sample_type=PERF_SAMPLE_BRANCH_ANY);TRY("branch none",z.sample_type=PERF_SAMPLE_BRANCH_STACK);TRY("branch bad",z.sample_type=PERF_SAMPLE_BRANCH_STACK;z.branch_sample_type=1u<<20);
 TRY("reserved",z.__reserved_1=1);TRY("size 0",z.size=0);TRY("size 63",z.size=63);TRY("size 64",z.size=64);TRY("size 72",z.size=72);TRY("size 8192",z.size=8192);TRY("clock mono",z.use_clockid=1;z.clockid=1);TRY("clock raw",z.use_clockid=1;z.clockid=4);TRY("clock cpu",z.use_clockid=1;z.clockid=2);TRY("clock 99",z.use_clockid=1;z.clockid=99);TRY("clock boot",z.use_clockid=1;z.clockid=7);TRY("clock tai",z.use_clockid=1;z.clockid=11);TRY("clockid alone",z.clockid=99);
 TRY("exclude all",z.exclude_user=z.exclude_kernel=z.exclude_hv=z.exclude_idle=1);TRY("exclude_host",z.exclude_host=1);TRY("exclude_guest",z.exclude_guest=1);TRY("read_format 32",z.read_format=32);TRY("read_format 64",z.read_format=64);TRY("sample_type big",z.sample_type=1ull<<40);TRY("namespaces",z.namespaces=1);TRY("ksymbol",z.ksymbol=1);TRY("bpf_event",z.bpf_event=1);TRY("cgroup",z.cgroup=1);TRY("text_poke",z.text_poke=1);TRY("build_id",z.build_id=1);TRY("inherit_thread",z.inherit_thread=1);TRY("remove+enable",z.remove_on_exec=1;z.enable_on_exec=1);TRY("remove",z.remove_on_exec=1);TRY("sigtrap",z.sigtrap=1);TRY("weight both",z.sample_type=PERF_SAMPLE_WEIGHT|PERF_SAMPLE_WEIGHT_STRUCT);TRY("phys",z.sample_type=PERF_SAMPLE_PHYS_ADDR);TRY("cgroup sample",z.sample_type=PERF_SAMPLE_CGROUP);TRY("max_stack",z.sample_max_stack=1000;z.sample_type=PERF_SAMPLE_CALLCHAIN);TRY("watermark",z.watermark=1;z.wakeup_watermark=100);TRY("context_switch",z.context_switch=1);TRY("config 99",z.config=99);TRY("config1",z.config1=5);TRY("config3",z.config3=5);TRY("pinned",z.pinned=1);TRY("exclusive",z.exclusive=1);TRY("precise",z.precise_ip=2);TRY("write_backward",z.write_backward=1);
 z=S(1);int f=po(&z,0,-1,-1,0);struct perf_event_mmap_page*m=mmap(0,8192,3,MAP_SHARED,f,0);m->aux_offset=8192;m->aux_size=4096;P("aux mmap %ld",E(mmap(0,4096,3,MAP_SHARED,f,8192))<0?(long)-errno:0);P(" page: version %u compat %u size %lu offset %lu dsize %lu caps %d index %u width %u\n",m->version,m->compat_version,sizeof*m,(unsigned long)m->data_offset,(unsigned long)m->data_size,m->capabilities>>1&1,m->index,m->pmc_width);
 if(!fork()){setresuid(1000,1000,1000);for(int k=0;k<6;k++){z=k<2?S(1):k<4?T("syscalls/sys_enter_getppid"):B(2,(void*)&cell,8);z.exclude_kernel=k&1;P("user %d %ld",k,OK(po(&z,0,-1,-1,0)));P(" all %ld init %ld\n",OK(po(&z,-1,0,-1,0)),OK(po(&z,1,-1,-1,0)));}_exit(0);}wait(0);
 int par=open("/proc/sys/kernel/perf_event_paranoid",O_RDWR);for(int v=-1;v<4;v++){char b[8];sprintf(b,"%d\n",v);pwrite(par,b,strlen(b),0);if(!fork()){setresuid(1000,1000,1000);for(int k=0;k<4;k++){z=k<2?S(1):T("syscalls/sys_enter_getppid");z.exclude_kernel=k&1;long a=po(&z,0,-1,-1,0),c=po(&z,-1,0,-1,0);z.sample_type=PERF_SAMPLE_RAW;long d=po(&z,0,-1,-1,0);P("p%d k%d %ld %ld %ld\n",v,k,OK(a),OK(c),OK(d));}_exit(0);}wait(0);}pwrite(par,"3\n",2,0);
}
static void execs(char*me){
 Attr a=T("syscalls/sys_enter_getppid");a.remove_on_exec=1;int f=po(&a,0,-1,-1,0);a.remove_on_exec=0;int k=po(&a,0,-1,-1,0);a.enable_on_exec=1;a.disabled=1;int e=po(&a,0,-1,-1,0);Attr c=S(PERF_COUNT_SW_DUMMY);c.comm=c.comm_exec=c.task=c.mmap=1;c.sample_type=PERF_SAMPLE_TID;int d=po(&c,0,-1,-1,0);
 int p[2];pipe(p);int pid=fork();if(!pid)_exit(0);wait(0);pid=fork();if(!pid){Attr t=T("syscalls/sys_enter_getppid");t.remove_on_exec=1;int r=po(&t,0,-1,-1,0);t.remove_on_exec=0;int s=po(&t,0,-1,-1,0);t.enable_on_exec=t.disabled=1;int q=po(&t,0,-1,-1,0);Attr u=S(PERF_COUNT_SW_DUMMY);u.comm=u.comm_exec=u.task=1;u.sample_type=PERF_SAMPLE_TID;syscall(SYS_getppid);char x[20],y[20],z[20];sprintf(x,"%d",r);sprintf(y,"%d",s);sprintf(z,"%d",q);execl(me,me,"after",x,y,z,NULL);_exit(1);}
 wait(0);P("own %lu %lu %lu\n",count(f),count(k),count(e));
}
static void after(char**v){syscall(SYS_getppid);for(int i=2;i<5;i++){uint64_t c[4]={7};errno=0;long r=read(atoi(v[i]),c,8);P("fd %d: %ld %d %lu",i-2,r,errno,c[0]);struct pollfd pf={atoi(v[i]),POLLIN};P(" poll %d %x\n",poll(&pf,1,0),pf.revents);}}
static void cgroup(void){
 mkdir("/sys/fs/cgroup/ten",0755);int d=open("/sys/fs/cgroup/ten",O_RDONLY);Attr a=T("syscalls/sys_enter_getppid");
 P("cpu -1 %ld",OK(po(&a,d,-1,-1,PERF_FLAG_PID_CGROUP)));P(" bad fd %ld",OK(po(&a,99,0,-1,PERF_FLAG_PID_CGROUP)));P(" not cgroup %ld",OK(po(&a,open("/tmp",O_RDONLY),0,-1,PERF_FLAG_PID_CGROUP)));P(" file %ld",OK(po(&a,open("/sys/fs/cgroup/ten/cgroup.procs",O_RDONLY),0,-1,PERF_FLAG_PID_CGROUP)));P(" cpu 5 %ld pid -1 %ld\n",OK(po(&a,d,5,-1,PERF_FLAG_PID_CGROUP)),OK(po(&a,-1,0,-1,PERF_FLAG_PID_CGROUP)));
 int f=po(&a,d,0,-1,PERF_FLAG_PID_CGROUP);syscall(SYS_getppid);P("outside %lu",count(f));
 if(!fork()){int p=open("/sys/fs/cgroup/ten/cgroup.procs",O_WRONLY);write(p,"0",1);close(p);syscall(SYS_getppid);syscall(SYS_getppid);if(!fork()){syscall(SYS_getppid);_exit(0);}wait(0);p=open("/sys/fs/cgroup/cgroup.procs",O_WRONLY);write(p,"0",1);close(p);syscall(SYS_getppid);_exit(0);}wait(0);P(" inside %lu\n",count(f));
 a.inherit=1;P("inherit %ld\n",OK(po(&a,d,0,-1,PERF_FLAG_PID_CGROUP)));a=S(PERF_COUNT_SW_CGROUP_SWITCHES);int s=po(&a,-1,0,-1,0);P("cgroup switches %d\n",s>=0);
 a=S(PERF_COUNT_SW_TASK_CLOCK);int t=po(&a,d,0,-1,PERF_FLAG_PID_CGROUP);P("task clock %d\n",t>=0?0:t);a=B(2,(void*)&cell,8);P("breakpoint %ld\n",OK(po(&a,d,0,-1,PERF_FLAG_PID_CGROUP)));a=S(PERF_COUNT_SW_DUMMY);int l=po(&a,d,0,-1,PERF_FLAG_PID_CGROUP);P("group same %ld other %ld\n",OK(po(&a,d,0,l,PERF_FLAG_PID_CGROUP)),OK(po(&a,open("/sys/fs/cgroup",0),0,l,PERF_FLAG_PID_CGROUP)));
 P("rmdir %ld\n",E(rmdir("/sys/fs/cgroup/ten")));syscall(SYS_getppid);P("after %lu\n",count(f));
}
int main(int n,char**v){setvbuf(stdout,0,_IONBF,0);if(n>2&&!strcmp(v[1],"after")){after(v);return 0;}
 for(int i=1;i<n;i++){P("== %s\n",v[i]);if(!fork()){alarm(60);
#define RUN(x,...) if(!strcmp(v[i],#x))x(__VA_ARGS__)
 RUN(breakpoints);RUN(child_counts);RUN(formats);RUN(lost);RUN(sources);RUN(ioctls);RUN(frequency);RUN(maps);RUN(sigtrap);RUN(stacks);RUN(refused);RUN(execs,v[0]);RUN(cgroup);_exit(0);}int s;wait(&s);if(s)P("status %x\n",s);}
 return 0;}
