"""The tracefs README of versions whose own is not recorded: a short one; the real file is a manual of all of ftrace.

Tools look for some phrases in it to find out what a kernel can do: those stand here as they stand there.
"""

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
  dynamic_events\t\t- Create/append/remove/show the generic dynamic events
\t   Format: e[:[<group>/][<event>]] <attached-group>.<attached-event> [<args>] [if <filter>]
\t           s:[synthetic/]<event> <field> [<field>]
\t    field: <stype> <name>;
  synthetic_events\t- Create/append/remove/show synthetic events
\t   e.g. echo 'myevent u64 lat; char name[]' >> synthetic_events
  instances/\t\t- mkdir makes a trace array with a buffer and events of its own, rmdir removes it
  snapshot\t\t- 1 takes a snapshot of the buffer, 0 frees it, 2 clears it
  set_ftrace_filter\t- the functions that are traced, and commands on functions
\t     accepts: func_full_name or glob-matching-pattern
\t   command: <function>:<command>[:<count>]
\t            mod:<module>, traceon, traceoff, stacktrace, snapshot, dump, cpudump,
\t            enable_event:<system>:<event>, disable_event:<system>:<event>
  set_ftrace_pid, set_event_pid\t- only these tasks; set_ftrace_notrace_pid, set_event_notrace_pid: all but these
  set_graph_function, set_graph_notrace, max_graph_depth\t- what function_graph draws
  stack_trace, stack_max_size, stack_trace_filter\t- the deepest stack that was seen
  events/\t\t- Directory containing all trace event subsystems:
      enable\t\t- Write 0/1 to enable/disable tracing of all events
  events/<system>/<event>/
      enable\t\t- Write 0/1 to enable/disable tracing of <event>
      filter\t\t- If set, only events passing filter are traced
      trigger\t\t- If set, a command to perform when event is hit
\t   trigger: traceon, traceoff, stacktrace,
\t            enable_event:<system>:<event>, disable_event:<system>:<event>,
\t            enable_hist:<system>:<event>, disable_hist:<system>:<event>, snapshot, hist
      hist\t\t- What the hist triggers of <event> have counted
\t   hist:keys=<field1[,field2,...]>
\t       [:values=<field1[,field2,...]>]
\t       [:<var1>=<field|var_ref|numeric_literal>[,<var2>=...]]
\t       [:sort=<field1[,field2,...]>][:size=#entries]
\t       [:pause][:continue][:clear][:name=histname]
\t       [:<handler>.<action>] [if <filter>]
\t   modifiers: .hex .sym .sym-offset .execname .syscall .log2 .buckets=size .usecs .percent .graph
\t   handlers:  onmatch(matching.event), onmax(var), onchange(var)
\t   actions:   trace(<synthetic_event>,param list), <synthetic_event>(param list),
\t              save(field,...), snapshot()
"""
