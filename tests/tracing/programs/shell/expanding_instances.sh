# What an instance is told to have while nobody has used a buffer, and after one was removed.
cd /sys/kernel/tracing/instances
s() { echo "$1: $(cat a/buffer_size_kb)"; }
mkdir a b c; s 1
mkdir .hidden x.y; s 2; rmdir x.y; s 3; touch file; s 4; ln -s a e; s 5
for f in $(ls a); do [ -d a/$f ] || { stat -c %A a/$f; }; done | sort | uniq -c; s 6
for f in buffer_percent buffer_size_kb buffer_total_size_kb current_tracer error_log free_buffer; do cat a/$f >/dev/null; s $f; done
cat a/free_buffer; s free
