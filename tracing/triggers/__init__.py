"""What an event does beside being recorded.  kernel/trace/trace_events_trigger.c."""
