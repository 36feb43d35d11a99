# synthetic events: every type, arrays, strings, errors, formats, size limits
cd /sys/kernel/tracing
log() { sed 's/^\[.*\] //' error_log; echo > error_log; }
t() { echo "$1" >> synthetic_events; echo "[$1] $?"; log; }
t 'a1 u8 a; s8 b; u16 c; s16 d; u32 e; s32 f; u64 g; s64 h'
t 'a2 int a; unsigned int b; long c; unsigned long d; short e; unsigned short f; char g; unsigned char h; bool i'
t 'a3 char a[8]; char b[]; pid_t c; gfp_t d; ssize_t e; size_t f; loff_t g'
t 'a4 int a[4]'
t 'a5 char a[0]'
t 'a6 char a[257]'
t 'a7 char a[256]'
t 'a8 nosuch a'
t 'a9 struct x a'
t 'b1 int'
t 'b2'
t 'b3 int a;; int b'
t 'b4 int a int b'
t 'b5 int a,int b'
t 'b6 int a; int a'
t 'b7 unsigned a'
t 'b8 unsigned u64 a'
t 'b9 int 1a'
t '1c int a'
t 'c-1 int a'
t 'c1   int   a  ;   long    b ; '
t 'a1 u8 a'
t 'a1 u8 a; s8 b; u16 c; s16 d; u32 e; s32 f; u64 g; s64 h'
t '!a1'
t '!a1 u8 a'
t '!nosuch'
t '!a2 int a; unsigned int b; long c; unsigned long d; short e; unsigned short f; char g; unsigned char h; bool i'
t 'big u64 a01; u64 a02; u64 a03; u64 a04; u64 a05; u64 a06; u64 a07; u64 a08; u64 a09; u64 a10; u64 a11; u64 a12; u64 a13; u64 a14; u64 a15; u64 a16; u64 a17; u64 a18; u64 a19; u64 a20; u64 a21; u64 a22; u64 a23; u64 a24; u64 a25; u64 a26; u64 a27; u64 a28; u64 a29; u64 a30; u64 a31; u64 a32'
t 'big64 u64 a01; u64 a02; u64 a03; u64 a04; u64 a05; u64 a06; u64 a07; u64 a08; u64 a09; u64 a10; u64 a11; u64 a12; u64 a13; u64 a14; u64 a15; u64 a16; u64 a17; u64 a18; u64 a19; u64 a20; u64 a21; u64 a22; u64 a23; u64 a24; u64 a25; u64 a26; u64 a27; u64 a28; u64 a29; u64 a30; u64 a31; u64 a32; u64 b01; u64 b02; u64 b03; u64 b04; u64 b05; u64 b06; u64 b07; u64 b08; u64 b09; u64 b10; u64 b11; u64 b12; u64 b13; u64 b14; u64 b15; u64 b16; u64 b17; u64 b18; u64 b19; u64 b20; u64 b21; u64 b22; u64 b23; u64 b24; u64 b25; u64 b26; u64 b27; u64 b28; u64 b29; u64 b30; u64 b31; u64 b32; u64 c33'
t 's:d1 int a'
t 'p:d1 vfs_read'
cat synthetic_events dynamic_events
for v in a3 a7 c1; do sed 's/ID: .*/ID/' events/synthetic/$v/format; done
ls -1 events/synthetic; echo 's:g/d2 int a' >> dynamic_events; echo rc $?; log; echo 's:synthetic/d3 int a; char b[]' >> dynamic_events; echo rc $?; log; tail -n 2 dynamic_events
echo 'hist:keys=fd:x=common_pid:onmax($x).save(fd):onmatch(syscalls.sys_enter_lseek).trace(d3,fd,common_pid)' > events/syscalls/sys_enter_lseek/trigger; echo rc $?; log
echo 'hist:keys=fd:onmatch(syscalls.sys_enter_lseek).trace(c1,fd,offset)' > events/syscalls/sys_enter_lseek/trigger; echo rc $?; log
echo 'hist:keys=fd:onmatch(syscalls.sys_enter_getppid).c1(fd,offset)' > events/syscalls/sys_enter_lseek/trigger; echo rc $?; log
echo 'hist:keys=fd:onchange(offset).trace(c1,fd,offset)' > events/syscalls/sys_enter_lseek/trigger; echo rc $?; log
echo 'hist:keys=fd:o=offset:onchange($o).trace(c1,fd,offset)' > events/syscalls/sys_enter_lseek/trigger; echo rc $?; log; cat events/syscalls/sys_enter_lseek/trigger; echo 1 > events/synthetic/c1/enable; /w 4; grep c1: trace | sed 's/.*: c1/c1/'; cat events/syscalls/sys_enter_lseek/hist
echo > synthetic_events; echo rc $?; echo '!hist:keys=fd:o=offset:onchange($o).trace(c1,fd,offset)' > events/syscalls/sys_enter_lseek/trigger; echo 0 > events/synthetic/enable; echo > synthetic_events; echo rc $?; cat synthetic_events
