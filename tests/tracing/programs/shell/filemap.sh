# Pages that leave the page cache: by truncation, by a hole, by the end of the file; and those of tmpfs never come by filemap_add_folio().
mkdir -p /t; mount -t tmpfs t /t
cd /sys/kernel/tracing
cat events/filemap/mm_filemap_delete_from_page_cache/format events/filemap/mm_filemap_add_to_page_cache/format | grep -v ^ID
echo 'ino < 100' > events/filemap/filter
cat events/filemap/filter events/filemap/mm_filemap_add_to_page_cache/filter
dev=$(stat -c %d /t)
for e in add_to delete_from; do echo "s_dev == $dev" > events/filemap/mm_filemap_${e}_page_cache/filter; done
echo 'hist:keys=index,order:sort=index' > events/filemap/mm_filemap_delete_from_page_cache/trigger
echo 1 > events/filemap/enable
echo hello > /t/a
head -c 20000 /dev/zero > /t/b
echo 'b has five pages' > trace_marker
truncate -s 9000 /t/b
echo 'and three' > trace_marker
echo again > /t/b
echo 'and one, of another length' > trace_marker
rm /t/a
echo 'a is gone' > trace_marker
exec 3< /t/b; rm /t/b
echo 'b is still open' > trace_marker
exec 3<&-
echo 'b is gone' > trace_marker
mkdir /t/d; echo x > /t/d/c; mv /t/d/c /t/e; echo y > /t/f; mv /t/f /t/e
echo 'two files, one of them replaced' > trace_marker
umount /t
echo 0 > events/enable
grep -v '^#' trace | sed 's/pfn=0x[0-9a-f]*/pfn=N/; s/dev 0:[0-9]*/dev D/'
cat events/filemap/mm_filemap_delete_from_page_cache/hist
