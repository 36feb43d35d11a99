"""Triggers: what an event's `trigger` file makes happen when it fires.  kernel/trace/trace_events_trigger.c."""
