# synthetic events: definitions, errors, a chain of histograms that makes one, its format.
cd /sys/kernel/tracing
def() { echo "$1" >> synthetic_events 2>/dev/null; echo "[$1] $?"; tail -n 3 error_log | sed 's/^\[ *[0-9.]*\]/[T]/'; echo > error_log; }
def 'lat u64 delta; pid_t pid'
def 'lat u64 delta; pid_t pid'
def 'lat u64 delta'
def 'two int a; int b; char c[16]; char d[]'
def 'three int a int b'
def 'four'
def 'five int'
def 'six int a;'
def 'seven nosuch a'
def 'eight unsigned long long a'
def 'nine char a[300]'
def 'ten char a[x]'
def 'eleven int a[4]'
def '12 int a'
def 'thir-teen int a'
def 'fourteen int a; int a'
def 'fifteen struct foo a'
def 'sixteen char *s'
def 'seventeen gfp_t g; bool b; s8 c; u8 d; s16 e; u16 f; unsigned int h; long i'
def '!nothing'
def '!six int a'
def '!six'
def 'synthetic/a int b'
def 'eighteen stacktrace s'
def 'nineteen u64 a1; u64 a2; u64 a3; u64 a4; u64 a5; u64 a6; u64 a7; u64 a8; u64 a9; u64 b1; u64 b2; u64 b3; u64 b4; u64 b5; u64 b6; u64 b7'
def 'twenty u64 delta ; '
cat synthetic_events
ls events/synthetic
for f in lat two seventeen; do grep -v ^ID events/synthetic/$f/format; done
echo 'hist:keys=common_pid:ts0=common_timestamp.usecs:f=fd' > events/syscalls/sys_enter_lseek/trigger; echo $?
echo 'hist:keys=common_pid:d=common_timestamp.usecs-$ts0:onmatch(syscalls.sys_enter_lseek).trace(lat,$d,common_pid)' > events/syscalls/sys_exit_lseek/trigger; echo $?
echo 'hist:keys=pid:vals=hitcount' > events/synthetic/lat/trigger; echo $?
echo 1 > events/synthetic/lat/enable
dd if=/w of=/dev/null bs=1 skip=2 count=1 2>/dev/null
grep -v '^#' trace | sed 's/delta=[0-9]*/delta=D/'
grep -c 'pid' events/synthetic/lat/hist
cat events/syscalls/sys_exit_lseek/trigger events/syscalls/sys_enter_lseek/trigger
echo '!lat' >> synthetic_events; echo $?
echo '!lat u64 delta; pid_t pid' >> synthetic_events; echo $?
echo 'hist:keys=common_pid:d=common_timestamp-$nosuch:onmatch(syscalls.sys_enter_lseek).lat($d,common_pid)' > events/syscalls/sys_exit_openat/trigger; echo $?; tail -n 3 error_log
echo 'hist:keys=common_pid:onmatch(syscalls.sys_enter_lseek).lat($f)' > events/syscalls/sys_exit_openat/trigger; echo $?; tail -n 3 error_log
echo 'hist:keys=common_pid:onmatch(syscalls.sys_enter_lseek).lat($f,common_pid,3)' > events/syscalls/sys_exit_openat/trigger; echo $?; tail -n 3 error_log
echo 'hist:keys=common_pid:onmatch(syscalls.sys_enter_lseek).lat($ts0,$f)' > events/syscalls/sys_exit_openat/trigger; echo $?; tail -n 3 error_log
echo > synthetic_events; echo $?
echo '!hist:keys=common_pid:d=common_timestamp.usecs-$ts0:onmatch(syscalls.sys_enter_lseek).trace(lat,$d,common_pid)' > events/syscalls/sys_exit_lseek/trigger; echo $?
echo '!hist:keys=common_pid:ts0=common_timestamp.usecs:f=fd' > events/syscalls/sys_enter_lseek/trigger; echo $?
echo 0 > events/synthetic/lat/enable
echo '!hist:keys=pid' > events/synthetic/lat/trigger; echo $?
echo > synthetic_events; echo $?
cat synthetic_events
