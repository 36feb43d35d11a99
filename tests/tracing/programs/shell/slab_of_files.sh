# Objects of names, files, areas, signals and forks: who takes and gives them back.
cd /sys/kernel/tracing
trace() { echo "== $*"; echo > trace; echo 1 > events/kmem/kmem_cache_alloc/enable; echo 1 > events/kmem/kmem_cache_free/enable; }
show() { echo 0 > events/kmem/enable
    sed -n 's/.*: kmem_cache/kmem_cache/; s/ptr=[^ ]* //; s/+0x[^ ]*//; /^kmem/p' trace | sort -u | grep -E "$1" | grep -v rcu_do_batch; }
trace names; mkdir /d1; rmdir /d1; show 'names_cache|getname|shmem_inode|shmem_alloc'
trace more; ln -s /a /d2; ls -l /d2 > /dev/null; mv /d2 /d3; rm /d3; show 'names_cache|getname'
trace files; (echo one > /d4); rm /d4; show 'lsm_file|security_file|security_inode|lsm_inode'
trace pipes; (echo one | cat > /dev/null); show 'name=dentry|__d_alloc| alloc_inode|inode_cache$'
trace forks; (exit 1); show 'anon_vma_clone|anon_vma_fork|__put_anon_vma|unlink_anon|vm_area_dup'
trap 'true' USR1; trace signals; kill -USR1 $$; show 'sigqueue'
