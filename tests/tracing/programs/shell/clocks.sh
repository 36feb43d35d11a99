# every clock: how its times print, what is cleared, what histograms want of it
cd /sys/kernel/tracing
kind() { grep -v '^#' trace | sed -n 1p | sed 's/.*\(\[[0-9]*\]\) [^ ]* *//; s/[0-9]\{1,\}\.[0-9]\{6\}:/SECONDS:/; s/^[0-9]\{1,\}:/COUNT:/'; }
for c in local global counter uptime perf mono mono_raw boot tai x86-tsc nosuch '' 'mono '; do
echo "$c" > trace_clock; echo "[$c] $?"; cat trace_clock; grep -vc '^#' trace; echo "in $c" > trace_marker; kind
grep -v '^now\|^oldest' per_cpu/cpu0/stats | head -2; sed -n 's/^now ts: *[0-9]*\.[0-9]\{6\}$/now SECONDS/p; s/^now ts: *[0-9]*$/now COUNT/p' per_cpu/cpu0/stats; done
echo counter > trace_clock; echo > trace; for i in 1 2 3; do echo "c $i" > trace_marker; done; grep -v '^#' trace | sed 's/.*\] [^ ]* *//'
cat timestamp_mode
t() { echo "$1" > events/syscalls/sys_enter_lseek/trigger; echo "[$1] $?"; sed 's/^\[.*\] //' error_log; echo > error_log; cat timestamp_mode trace_clock; }
t 'hist:keys=common_pid:ts=common_timestamp'
t '!hist:keys=common_pid:ts=common_timestamp'
t 'hist:keys=common_pid:ts=common_timestamp.usecs:clock=mono'
cat events/syscalls/sys_enter_lseek/trigger
echo global > trace_clock; echo $?; cat trace_clock
t '!hist:keys=common_pid:ts=common_timestamp.usecs:clock=mono'
t 'hist:keys=common_pid:clock=nosuch'
t 'hist:keys=common_pid:clock=tai'
cat events/syscalls/sys_enter_lseek/trigger; t '!hist:keys=common_pid'
t 'hist:keys=common_timestamp'
t 'hist:keys=common_timestamp.log2'
t 'hist:keys=common_timestamp.usecs'
t 'hist:vals=common_timestamp:keys=fd'
cat events/syscalls/sys_enter_lseek/trigger
mkdir instances/c; echo tai > instances/c/trace_clock; echo "x" > instances/c/trace_marker; grep -c . instances/c/trace; cat trace_clock instances/c/trace_clock; rmdir instances/c
echo x86-tsc > trace_clock; for i in 1 2; do echo "t $i" > trace_marker; done; grep -v '^#' trace | sed 's/.*\] [^ ]* *//; s/^[0-9]*:/COUNT:/'; echo local > trace_clock
