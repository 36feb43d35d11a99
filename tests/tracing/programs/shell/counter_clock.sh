cd /sys/kernel/tracing
m() { echo "$1" > trace_marker; }
show() { grep -v '^#' trace | sed 's/.*\] [^ ]* *//'; }
echo counter > trace_clock; m a; m b; show
echo local > trace_clock; echo counter > trace_clock; m c; show
grep 'now ts' per_cpu/cpu0/stats; grep 'now ts' per_cpu/cpu0/stats; m d; show
echo > trace; m e; show; echo > trace; echo > trace; m f; show; echo 0 > tracing_on; echo 1 > tracing_on; m g; show
echo 1 > snapshot; m h; echo 1 > snapshot; m i; show
echo 1 > events/syscalls/sys_enter_lseek/enable; /w 2; echo 0 > events/syscalls/sys_enter_lseek/enable; m k; show
echo 64 > buffer_size_kb; m l; show
