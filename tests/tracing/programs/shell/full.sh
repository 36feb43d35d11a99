# A buffer that keeps its oldest lines: a marker that finds no room is EBADF, others are counted as dropped.
cd /sys/kernel/tracing
echo 8 > buffer_size_kb; cat buffer_size_kb; echo 0 > options/overwrite
i=0; lost=0
while [ $i -lt 300 ]; do echo "fill the buffer with line $i of them all" > trace_marker 2> /tmp/err || lost=$((lost+1)); i=$((i+1)); done
cat /tmp/err; [ $lost -gt 0 ] && echo some are lost; [ $lost = "$(awk '/dropped/ { print $3 }' per_cpu/cpu0/stats)" ] && echo all of them counted
[ $((lost + $(grep -vc '^#' trace))) = 300 ] && echo none missing
echo $lost; grep -v '^#' trace | head -n 1 | sed 's/.*: //'; grep '^# entries' trace; awk '/entries|overrun|commit/' per_cpu/cpu0/stats
printf '\1\0\0\0abcdefgh' > trace_marker_raw; echo "rc $?"
echo > trace; echo again > trace_marker; echo "rc $?"; grep -vc '^#' trace
echo 0 > tracing_on; echo off > trace_marker; echo "rc $?"; echo 1 > tracing_on
echo 1 > options/overwrite; i=0
while [ $i -lt 300 ]; do echo "fill the buffer with line $i of them all" > trace_marker; i=$((i+1)); done
grep -v '^#' trace | tail -n 1 | sed 's/.*: //'; grep '^# entries' trace; awk '/entries|overrun|dropped/' per_cpu/cpu0/stats
