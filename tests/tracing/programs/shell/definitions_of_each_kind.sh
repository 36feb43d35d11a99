# Definitions of dynamic events of each kind, right and wrong, and what error_log says of them.
[ -e /sys/kernel/tracing/trace ] || mount -t tracefs none /sys/kernel/tracing
cd /sys/kernel/tracing
t() { # file text
  : > error_log
  echo "$2" >> $1 2>/dev/null; r=$?
  echo "== $1: $2 -> $r"
  sed 's/^\[[^]]*\] //' error_log
}
while read -r line; do [ -n "$line" ] && t kprobe_events "$line"; done <<'X'
p:foo/bar vfs_read
p:1foo vfs_read
p:foo- vfs_read
p:a/b/c vfs_read
p:/b vfs_read
p:a/ vfs_read
p vfs_read-4
p vfs_read+
p nosuchfn
p nosuchmod:vfs_read
r5 vfs_read
r99999 vfs_read
p5:five vfs_read
r0 vfs_read
r-1 vfs_read
r1x vfs_read
rx vfs_read
p:x vfs_read arg1=$arg1
p:x vfs_read $arg99
p:x vfs_read $argx
p:x vfs_read $retval
r:x vfs_read $retval:foo
r:x vfs_read $retval:u8 $retval:u8
r:x vfs_read a=$retval a=$retval
p:x vfs_read %nosuchreg
p:x vfs_read +8
p:x vfs_read +8(
p:x vfs_read +8(%di
p:x vfs_read 8(%di)
p:x vfs_read +x8(%di)
p:x vfs_read @
p:x vfs_read @jiffies
p:x vfs_read @nosuchsym
p:x vfs_read @jiffies+zz
p:x vfs_read \1
p:x vfs_read \"abc
p:x vfs_read \"abc"
p:x vfs_read \zz
p:x vfs_read $stack $stack0 $stackx
p:x vfs_read $stack99999999
p:x vfs_read $comm:string $comm:u8
p:x vfs_read $comm:ustring
p:x vfs_read a=+0(+8(+16(+24(+32(+40(+48(+56(+64(+72(+80(+88(+96(+104(+112(+120(+128(%di)))))))))))))))))
p:x vfs_read a=%di:b8@4/64
p:x vfs_read a=%di:b65@4/64
p:x vfs_read a=%di:b8@60/64
p:x vfs_read a=%di:b0@0/8
p:x vfs_read a=%di:u8[4]
p:x vfs_read a=+0(%di):u8[4]
p:x vfs_read a=+0(%di):u8[65]
p:x vfs_read a=+0(%di):u8[0]
p:x vfs_read a=+0(%di):u8[4
p:x vfs_read a=+0(%di):u8[4]x
p:x vfs_read a=+0(%di):string[4]
p:x vfs_read a=+0(%di):symbol
p:x vfs_read a=%di:symbol b=%si:symstr c=%di:char d=%si:x64
p:x vfs_read a=%di:string
p:x vfs_read 1a=%di
p:x vfs_read a-b=%di
p:x vfs_read =%di
p:x vfs_read a=
p:x vfs_read common_pid=%di
p:x vfs_read __probe_ip=%di
p:x vfs_read %di %si %dx %cx
-:nosuch
-:foo/nosuch
-:
-:foo/bar
e:ep/x sched/sched_switch p=$prev_pid
t:tp sched_switch
f:fp vfs_read
f:fp vfs_read%return r=$retval
p:y vfs_read%return $retval
p:y vfs_read%entry
p:y 0xffffffff
p:y vfs_read file=file count
p:y vfs_read $arg*
z vfs_read
pp vfs_read
:foo vfs_read
p:
p
X
echo "== list"; cat kprobe_events dynamic_events | sort
echo > kprobe_events; echo "== cleared $?"
while read -r line; do [ -n "$line" ] && t dynamic_events "$line"; done <<'X'
p:foo/bar vfs_read
-:foo/bar
-:bar
e:ep/x sched/sched_switch p=$prev_pid
e:ep/y nosuch/none p=$a
e:ep/y sched/sched_switch p=$nosuch
e:ep/y sched.sched_switch p=$prev_comm:string
e sched.sched_switch
e:ep/z sched/sched_switch a=+0($prev_pid):u8 if prev_pid > 0
e:ep/z sched/sched_switch a=$prev_pid if nosuch > 0
e:ep/z sched/sched_switch a=$prev_pid if
e:ep/w sched a=$x
e:ep/w
-:ep/x
-:ep/y
f:fpe vfs_read a=$arg1
f:fpr vfs_read%return a=$retval
f:fpx vfs_read%foo
f:fpn nosuchfn
f:fpo vfs_read+4
f4:fpo vfs_read%return
f4:fpo vfs_read
f:fpb vfs_read file count=count:x32 pos=*pos
f:fpc vfs_read f=file->f_flags
f:fpd vfs_read f=file->nosuch
f:fpe2 vfs_read f=nosuch
f:fpe3 vfs_read f=file.f_flags
f:fpe4 vfs_read f=count->x
f:fpg vfs_read%return r=$retval:s64 f=file->f_mode
f:fph vfs_read $arg*
f:fpi vfs_read%return $arg*
t:tpa sched_switch prev=prev->pid next=next->pid:u32
t:tpb sched_switch $arg*
t:tpc nosuchtp
t:tpd sched_switch a=$retval
t:tpe sched_switch%return
s:foo u64 x; pid_t y
s:foo u64 x
s:bar u64 x; nosuch_t y
s:baz u64 x; char c[16]; char d[]
s:1baz u64 x
s:nof
s:dup u64 x; u64 x
s:arr u64 x[
s:un unsigned x
s:un2 unsigned long x; signed char y
-:foo
-:synthetic/baz
q:x
X
echo "== list"; cat dynamic_events | sort
cat synthetic_events
for e in events/kprobes/*/format events/fprobes/*/format events/tracepoints/*/format events/eprobes/*/format events/ep/*/format events/synthetic/*/format; do [ -e "$e" ] && { echo "-- $e"; sed '/^ID/d' $e; }; done
echo > dynamic_events; echo "cleared $?"; cat dynamic_events
