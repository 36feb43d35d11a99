# the snapshot files: allocate, swap, clear, by CPU, in an instance, raw; stats.
cd /sys/kernel/tracing
cat snapshot
for v in 0 1 2 3 x '' -1; do echo $v > snapshot 2>/dev/null; echo "[$v] $?"; sed -n 1,3p snapshot; done
echo 0 > snapshot
echo first > trace_marker; echo 1 > snapshot; grep -c first snapshot; grep -c first trace
echo second > trace_marker; grep -c second snapshot trace; echo 1 > snapshot; grep -c . snapshot; grep -c second snapshot trace; grep first snapshot trace | sed 's/.*first/first/'
echo 2 > snapshot; echo $?; grep -c second snapshot
echo 1 > per_cpu/cpu0/snapshot; echo $?; echo 2 > per_cpu/cpu0/snapshot; echo $?; echo 0 > per_cpu/cpu0/snapshot 2>/dev/null; echo $?; sed -n 1,30p per_cpu/cpu0/snapshot
echo 0 > snapshot; sed -n 1,8p per_cpu/cpu0/snapshot
echo third > trace_marker; echo 1 > snapshot; (timeout 2 dd if=per_cpu/cpu0/snapshot_raw bs=4096 count=1) 2>/dev/null | wc -c 2>/dev/null; (timeout 2 dd if=per_cpu/cpu0/snapshot_raw bs=4096 count=1) 2>/dev/null | tr -cd 'a-z' | head -c 20; echo
(timeout 2 dd if=per_cpu/cpu0/snapshot_raw bs=100 count=1) 2>/dev/null | wc -c 2>/dev/null
echo > trace; cat per_cpu/cpu0/stats | grep -v ' ts:'; for i in 1 2 3; do echo m$i > trace_marker; done; cat per_cpu/cpu0/stats | grep -v ' ts:'
echo 1 > buffer_size_kb; i=0; while [ $i -lt 500 ]; do echo marker-number-$i; i=$((i+1)); done > /tmp/m; while read l; do echo $l > trace_marker; done < /tmp/m; cat per_cpu/cpu0/stats | grep -v ' ts:'; cat buffer_size_kb; sed -n 3p trace; grep -v '^#' trace | head -2 | sed 's/.*tracing_mark_write/tmw/'
echo nooverwrite > trace_options; echo 0 > tracing_on; echo > trace; echo 1 > tracing_on; while read l; do echo $l > trace_marker 2>/dev/null; done < /tmp/m; cat per_cpu/cpu0/stats | grep -v ' ts:'; sed -n 3p trace; grep -v '^#' trace | head -1 | sed 's/.*tracing_mark_write/tmw/'; echo overwrite > trace_options
(timeout 2 dd if=per_cpu/cpu0/trace_pipe_raw bs=4096 count=1) 2>/dev/null | wc -c 2>/dev/null; cat per_cpu/cpu0/stats | grep -v ' ts:'
(timeout 2 dd if=per_cpu/cpu0/trace_pipe_raw bs=1000 count=3) 2>/dev/null | wc -c 2>/dev/null; cat per_cpu/cpu0/stats | grep -v ' ts:'

mkdir instances/s; echo 1 > instances/s/snapshot; sed -n 1,30p instances/s/snapshot; cat instances/s/per_cpu/cpu0/stats | grep -v ' ts:'; echo 0 > instances/s/snapshot; rmdir instances/s
echo 1408 > buffer_size_kb
