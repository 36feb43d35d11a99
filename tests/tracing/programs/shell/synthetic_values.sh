# synthetic events of every type, filled by a histogram, as text, in filters and keys
cd /sys/kernel/tracing
log() { sed 's/^\[.*\] //' error_log; echo > error_log; }
s() { echo "$1" >> synthetic_events; echo "[$1] $?"; log; }
s 'num u8 a; s8 b; u16 c; s16 d; u32 e; s32 f; u64 g; s64 h'
s 'cnum unsigned char a; short b; unsigned int c; int d; unsigned long e; long f; size_t g; ssize_t h'
s 'other pid_t p; bool t; gfp_t g; char s[16]; char d[]'
s 'ptr void *p; unsigned long q[2]'
s 'arr char s[0]'
s 'arr char s[300]'
s 'arr char s[2'
s 'arr char s]2['
s 'arr char s[x]'
s 'arr int'
s 'arr'
s 'arr;'
s 'arr int a;;'
s 'arr int a; int a'
s 'arr int a b'
s 'arr unsigned a'
s 'arr unsigned long long a'
s 'arr long long a'
s 'arr struct foo a'
s 'arr __data_loc char[] a'
s 'arr u64 $a'
s 'a-b u64 a'
s '1a u64 a'
s 'num u8 a'
s 'num u8 a; s8 b; u16 c; s16 d; u32 e; s32 f; u64 g; s64 h'
s 'g/num u64 a'
s 's:num2 u64 a'
s '!other'
s '!other pid_t p'
s '!nosuch'
s '!'
s '-:num'
cat synthetic_events
echo 's:dyn u64 a; char b[]' >> dynamic_events; echo $?; log
echo 's:grp/dyn2 u64 a' >> dynamic_events; echo $?; log
echo '-:dyn2' >> dynamic_events; echo $?; log
echo '-:synthetic/dyn' >> dynamic_events; echo $?; log
cat dynamic_events
for v in num cnum other; do sed 's/ID: .*/ID/' events/synthetic/$v/format; done
L=syscalls/sys_enter_lseek
t() { echo "$2" >> events/$1/trigger; echo "[$2] $?"; log; }
t $L 'hist:keys=offset:v=offset-1:onchange($v).trace(num,$v,$v,$v,$v,$v,$v,$v,$v)'
t $L 'hist:keys=offset:v1=offset-1:onchange($v1).trace(cnum,$v1,$v1,$v1,$v1,$v1,$v1,$v1,$v1)'
t $L 'hist:keys=offset:v1=offset:onchange($v1).trace(cnum,offset,offset,offset,offset,offset,offset,offset,offset)'
t $L 'hist:keys=offset:v2=offset:onchange($v2).trace(other,common_pid,offset,whence,common_comm,common_comm)'
t $L 'hist:keys=offset:v3=offset:n=common_comm:onchange($v3).trace(other,$v3,$v3,$v3,$n,$n)'
t synthetic/num 'hist:keys=a,b.hex:vals=c,e:sort=a'
t synthetic/other 'hist:keys=s,d:sort=s'
t synthetic/other 'hist:keys=d'
t synthetic/other 'hist:keys=t,g.sym'
f() { echo "$2" > events/$1/filter; echo "{$2} $?"; sed 's/^/   /' events/$1/filter; }
f synthetic/num 'a > 3'
f synthetic/num 'b == -1 || h == -1'
f synthetic/other 's == "w" && d ~ "w*"'
f synthetic/other 'd == "x"'
f synthetic/cnum 'a == "x"'
f synthetic/num 0
f synthetic/other 'd ~ "?"'
echo 1 > events/synthetic/enable; /w 3; echo 0 > events/synthetic/enable
grep -v '^#' trace | sed 's/.*[0-9]: //; s/p=[0-9]*/p=PID/'
cat events/synthetic/num/hist | grep -v '^$'; for n in 1 2; do :; done; grep -v '^$' events/synthetic/other/hist | sed 's/[0-9]\{3,\}/N/'
