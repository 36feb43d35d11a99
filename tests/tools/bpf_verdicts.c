/*
 * Loads each program of each BPF object alone and prints a line for it: OBJECT PROGRAM ERROR LENGTH, where LENGTH is that
 * of the program as the verifier rewrote it, in bytes.  With $LEVEL the verifier's log of that level follows it, and each
 * such line begins with "@ ".  Linked statically with libbpf, it runs on any kernel.
 */

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#define MAX_PROGRAMS 256

static int verbose, log_level;
static char log_text[(1 << 24) - 1];

static int print(enum libbpf_print_level level, const char *format, va_list args)
{
	return verbose ? vprintf(format, args) : 0;
}

static void load_alone(const char *path, const char *object, const char *name)
{
	struct bpf_object *opened = bpf_object__open(path);
	struct bpf_program *each, *wanted = NULL;
	struct bpf_prog_info info = {};
	__u32 size = sizeof(info);
	int error, length = 0;

	if (!opened)
		return;
	bpf_object__for_each_program(each, opened) {
		int is_wanted = !strcmp(bpf_program__name(each), name);

		bpf_program__set_autoload(each, is_wanted);
		if (is_wanted)
			wanted = each;
	}
	if (log_level) {
		log_text[0] = 0;
		bpf_program__set_log_buf(wanted, log_text, sizeof(log_text));
		bpf_program__set_log_level(wanted, log_level);
	}
	error = bpf_object__load(opened);
	if (!error && bpf_program__fd(wanted) >= 0 && !bpf_obj_get_info_by_fd(bpf_program__fd(wanted), &info, &size))
		length = info.xlated_prog_len;
	printf("%s%s %s %d %d\n%s", log_level ? "@ " : "", object, name, error, length, log_text);
	bpf_object__close(opened);
}

int main(int count, char **paths)
{
	struct rlimit unlimited = { RLIM_INFINITY, RLIM_INFINITY };
	static char names[MAX_PROGRAMS][128];

	setvbuf(stdout, NULL, _IOLBF, 0);
	setrlimit(RLIMIT_MEMLOCK, &unlimited);
	verbose = getenv("VERBOSE") != NULL;
	log_level = getenv("LEVEL") ? atoi(getenv("LEVEL")) : 0;
	libbpf_set_print(print);
	for (int i = 1; i < count; i++) {
		const char *slash = strrchr(paths[i], '/');
		const char *file = slash ? slash + 1 : paths[i];
		struct bpf_object *opened = bpf_object__open(paths[i]);
		struct bpf_program *each;
		char object[128];
		int programs = 0;

		if (!opened)
			continue;
		snprintf(object, sizeof(object), "%.*s", (int)strcspn(file, "."), file);
		bpf_object__for_each_program(each, opened)
			if (programs < MAX_PROGRAMS)
				snprintf(names[programs++], sizeof(names[0]), "%s", bpf_program__name(each));
		bpf_object__close(opened);
		for (int n = 0; n < programs; n++)
			load_alone(paths[i], object, names[n]);
	}
	return 0;
}
