"""What an event record is: fields, declaration, filling, filters.  kernel/trace/trace_events*.c."""
