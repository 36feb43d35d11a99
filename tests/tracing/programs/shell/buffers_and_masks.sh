# Snapshots, markers, masks, sets of tasks and sizes as a shell writes them.
# buffers: sizes, snapshot, per_cpu, markers, clocks, cmdlines
cd /sys/kernel/tracing
cat saved_cmdlines_size; for v in 0 1 16 1000 99999999 x -1 ''; do echo $v > saved_cmdlines_size; echo "rc $?"; cat saved_cmdlines_size; done
echo 128 > saved_cmdlines_size
echo 0 > events/enable; echo > trace
cat trace | head -12
for b in buffer_size_kb per_cpu/cpu0/buffer_size_kb; do for v in 0 1 2 7 8 100 4096 x -3 '' 1k 0x10; do echo "$b $v"; echo $v > $b; echo rc $?; cat buffer_size_kb buffer_total_size_kb per_cpu/cpu0/buffer_size_kb; done; done
echo 8 > buffer_total_size_kb; echo rc $?
echo 64 > buffer_size_kb; 
for v in 0 1 50 100 101 x -1; do echo $v > buffer_percent; echo rc $?; cat buffer_percent; done
for c in $(cat trace_clock | tr -d '[]'); do echo $c > trace_clock; echo $c rc $?; cat trace_clock; echo m-$c > trace_marker; grep -c m-$c trace; case $c in x86-tsc|counter) grep m-$c trace | grep -c '[0-9]: tracing_mark';; esac; done
echo nope > trace_clock; echo rc $?; echo '' > trace_clock; echo rc $?; echo 'local mono' > trace_clock; echo rc $?; echo local > trace_clock; cat timestamp_mode; echo absolute > timestamp_mode; echo rc $?
cat trace | wc -l; echo > trace
echo 0 > tracing_on; echo quiet > trace_marker; echo rc $?; cat trace | grep -c quiet; echo 1 > tracing_on; for v in 2 -1 x '' 00; do echo "$v" > tracing_on; echo rc $?; cat tracing_on; done; echo 1 > tracing_on
echo -n 'no newline' > trace_marker; printf 'two\nlines\n' > trace_marker; printf '' > trace_marker; printf '\n' > trace_marker; printf 'tab\there \001\377 pct %%d %%s\n' > trace_marker; head -c 1500 /dev/zero | tr '\0' y > trace_marker; echo rc $?; head -c 5000 /dev/zero | tr '\0' z > trace_marker; echo rc $?
grep -v '^#' trace | sed 's/.*: tracing_mark/tracing_mark/' | cut -c1-60; grep -v '^#' trace | awk '{print length($0) > 1000}' | sort | uniq -c
echo > trace
head -c 4000 /dev/zero > trace_marker_raw; echo rc $?; head -c 3000 /dev/zero > trace_marker_raw; echo rc $?; cat trace_marker; echo rc $?; echo x >> trace_marker; echo rc $?
echo > trace; cat snapshot | head -3; echo s0 > trace_marker; for v in 1 0 2 1 3 x -1 '' 1; do echo "$v" > snapshot; echo "$v rc $?"; grep -v '^#' snapshot | sed 's/.*: //'; grep -c . snapshot; grep -v '^#' trace | sed 's/.*: //'; echo s$v > trace_marker; done
cat per_cpu/cpu0/snapshot | sed 's/.*: //'; echo 1 > per_cpu/cpu0/snapshot; echo rc $?; echo 0 > per_cpu/cpu0/snapshot; echo rc $?; echo 2 > per_cpu/cpu0/snapshot; echo rc $?; echo 0 > snapshot
echo irqsoff > current_tracer; echo rc $?; echo blk > current_tracer; echo 1 > snapshot; echo rc $?; echo nop > current_tracer
echo 1 > free_buffer; echo rc $?; cat free_buffer; echo rc $?
echo 4 > buffer_size_kb; i=0; while [ $i -lt 300 ]; do echo "filler line number $i" > trace_marker; i=$((i+1)); done; grep entries-in trace; grep -v '^#' trace | head -2 | sed 's/.*: //'; sed -n 1,3p per_cpu/cpu0/stats; echo 0 > options/overwrite; echo > trace; i=0; while [ $i -lt 300 ]; do echo "filler line number $i" > trace_marker; i=$((i+1)); done; grep -v '^#' trace | tail -1 | sed 's/.*: //'; sed -n 1,3p per_cpu/cpu0/stats; grep dropped per_cpu/cpu0/stats; echo 1 > options/overwrite
for v in 1 3 0 x '' 1,0 0-1 ff 00000001; do echo $v > tracing_cpumask; echo rc $?; cat tracing_cpumask; done
for v in 5 0 x -1; do echo $v > tracing_max_latency; echo rc $?; cat tracing_max_latency;  echo $v > tracing_thresh; echo rc $?; cat tracing_thresh; done
for f in set_event_pid set_event_notrace_pid set_ftrace_pid set_ftrace_notrace_pid; do cat $f; echo 1 > $f; cat $f; echo "2 3" >> $f; cat $f; echo x >> $f; echo rc $?; echo -1 >> $f; echo rc $?; echo 99999999 >> $f; echo rc $?; cat $f; echo > $f; cat $f; done
