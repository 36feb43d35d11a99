# Objects of named caches: what a fork, an open file and an end take and give back, and where.
cd /sys/kernel/tracing
echo 1 > events/kmem/kmem_cache_alloc/enable; echo 1 > events/kmem/kmem_cache_free/enable
(exit 1); (echo one > /tmp/x); rm /tmp/x; true
echo 0 > events/kmem/enable
sed -n 's/.*: kmem_cache/kmem_cache/; s/ptr=[^ ]* //; s/+0x[^ ]*//; /^kmem/p' trace | sort -u |
    grep -E 'call_site=(copy_process|dup_fd|copy_fs_struct|alloc_pid|prepare_creds|__alloc_file|vm_area_dup|release_task|do_exit|exit_mmap|__put_task_struct|finish_task_switch) ?|name=(filp|task_struct)$'
echo 'hist:keys=call_site.sym:vals=bytes_req:sort=call_site if bytes_req == 2080' > events/kmem/kmem_cache_alloc/trigger
(exit 1); (exit 2)
grep -v '^#' events/kmem/kmem_cache_alloc/hist | sed 's/\[[0-9a-f]*\]//'
