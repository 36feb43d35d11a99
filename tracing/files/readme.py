"""The tracefs README: a short one of our own; the real file is a manual of all of ftrace."""

README = """tracing mini-HOWTO:

# echo 0 > tracing_on : quick way to disable tracing
# echo 1 > tracing_on : quick way to re-enable tracing

 Important files:
  trace\t\t\t- The static contents of the buffer
\t\t\t  To clear the buffer write into this file: echo > trace
  trace_pipe\t\t- A consuming read to see the contents of the buffer
  kprobe_events\t\t- Create/append/remove/show the kernel dynamic events
  uprobe_events\t\t- Create/append/remove/show the userspace dynamic events
\t  accepts: event-definitions (one definition per line)
\t   Format: p[:[<group>/][<event>]] <place> [<args>]
\t           r[maxactive][:[<group>/][<event>]] <place> [<args>]
\t           -:[<group>/][<event>]
\t    place: [<module>:]<symbol>[+<offset>]|<memaddr>
place (kretprobe): [<module>:]<symbol>[+<offset>]%return|<memaddr>
   place (uprobe): <path>:<offset>[%return][(ref_ctr_offset)]
\t     args: <name>=fetcharg[:type]
\t fetcharg: %<register>, @<address>, @<symbol>[+|-<offset>],
\t           $stack<index>, $stack, $retval, $comm, $arg<N>,
\t           +|-[u]<offset>(<fetcharg>), \\imm-value, \\"imm-string"
\t     type: s8/16/32/64, u8/16/32/64, x8/16/32/64, string, symbol,
\t           b<bit-width>@<bit-offset>/<container-size>, ustring,
\t           symstr, <type>\\[<array-size>\\]
  events/\t\t- Directory containing all trace event subsystems:
      enable\t\t- Write 0/1 to enable/disable tracing of all events
  events/<system>/<event>/
      enable\t\t- Write 0/1 to enable/disable tracing of <event>
      filter\t\t- If set, only events passing filter are traced
      trigger\t\t- If set, a command to perform when event is hit
\t   trigger: traceon, traceoff, stacktrace,
\t            enable_event:<system>:<event>, disable_event:<system>:<event>
"""
