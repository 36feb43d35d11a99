# What tracing has, and how it reads memory, on one CPU or another: tracers, clocks, strings of a program behind a kernel address, stacks of uprobes.
cd /sys/kernel/tracing
cat available_tracers trace_clock; for c in x86-tsc tai mono; do echo $c > trace_clock; done; cat trace_clock; echo local > trace_clock; echo mmiotrace > current_tracer
case $(uname -m) in
aarch64) NAME=%x1 ;;
s390x) NAME=%r3 ;;
esac
for type in string ustring; do
    echo "p:a do_sys_openat2 name=+0($NAME):$type byte=+u0($NAME):u8 raw=+0($NAME):u8" > kprobe_events
    echo 'comm == "cat"' > events/kprobes/filter; echo > trace; echo 1 > events/kprobes/enable; cat /dev/null; echo 0 > events/kprobes/enable
    grep -v '^#' trace | sed 's/.*) name/name/'; echo > kprobe_events
done
OFFSET=0x$(od -A n -t x1 -j 24 -N 8 /calls | tr -d ' \n' | sed 's/\(..\)\(..\)\(..\)\(..\)\(..\)\(..\)\(..\)\(..\)/\1\2\3\4\5\6\7\8 \8\7\6\5\4\3\2\1/' | { read big little; case $(uname -m) in s390x) echo $big ;; *) echo $little ;; esac; } | tail -c 4)
for trigger in stacktrace stacktrace:1; do
    echo "p:a /calls:$OFFSET" > uprobe_events; echo > trace; echo $trigger > events/uprobes/a/trigger; echo 1 > events/uprobes/a/enable
    /calls; echo 0 > events/uprobes/a/enable; grep -v '^#' trace | sed 's/.*: //; s/(0x.*/AT/'; echo "!stacktrace" > events/uprobes/a/trigger; echo > uprobe_events
done
