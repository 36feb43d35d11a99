"""Which functions a truncated file and an ending process go through, as on Linux 6.1 (function tracer, tmpfs)."""

import simkernel

SCRIPT = """
"$0" mkdir -p /mnt
"$0" mount -t tmpfs x /mnt; cd /sys/kernel/tracing
for f in exit_sem exit_shm exit_files exit_fs unmap_mapping_range; do echo $f >> set_ftrace_filter || exit 1; done
printf '%8000s' x > /mnt/a
echo function > current_tracer
: > /mnt/a
printf '%8000s' x > /mnt/a
"$0" truncate -s 4096 /mnt/a
"$0" truncate -s 4000 /mnt/a
echo 0 > tracing_on
"$0" cat trace | "$0" sed '/^#/d; s/^[^:]*: //; s/ .*//'
"""
EXIT = ["exit_sem", "exit_shm", "exit_files", "exit_fs"]


def test_truncating_and_exiting_calls_what_linux_calls(busybox):
    with simkernel.boot() as m:
        program = m.install(busybox)
        result = m.run([program, "sh", "-c", SCRIPT, program], timeout_host_s=60)
    assert result.text.split() == ["unmap_mapping_range"] * 4 + EXIT * 2
