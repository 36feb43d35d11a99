/*
 * Loads each program of each BPF object alone and prints "@ OBJECT PROGRAM ERROR", then the verifier's log at $LEVEL (1).
 * Linked statically with libbpf, it runs on any kernel.
 */

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#define MAX_PROGRAMS 256

static char log_text[1 << 20], names[MAX_PROGRAMS][128];

static int print(enum libbpf_print_level level, const char *format, va_list args)
{
	return 0;
}

static void load_alone(const char *path, const char *name, int level)
{
	struct bpf_object *opened = bpf_object__open(path);
	struct bpf_program *each, *wanted = NULL;
	const char *slash = strrchr(path, '/');

	if (!opened)
		return;
	bpf_object__for_each_program(each, opened) {
		int is_wanted = !strcmp(bpf_program__name(each), name);

		bpf_program__set_autoload(each, is_wanted);
		if (is_wanted)
			wanted = each;
	}
	log_text[0] = 0;
	bpf_program__set_log_buf(wanted, log_text, sizeof(log_text));
	bpf_program__set_log_level(wanted, level);
	printf("@ %s %s %d\n", slash ? slash + 1 : path, name, bpf_object__load(opened));
	printf("%s", log_text);
	fflush(stdout);
	bpf_object__close(opened);
}

int main(int count, char **paths)
{
	struct rlimit unlimited = { RLIM_INFINITY, RLIM_INFINITY };
	int level = getenv("LEVEL") ? atoi(getenv("LEVEL")) : 1;

	setrlimit(RLIMIT_MEMLOCK, &unlimited);
	libbpf_set_print(print);
	for (int i = 1; i < count; i++) {
		struct bpf_object *opened = bpf_object__open(paths[i]);
		struct bpf_program *each;
		int programs = 0;

		if (!opened)
			continue;
		bpf_object__for_each_program(each, opened)
			if (programs < MAX_PROGRAMS)
				snprintf(names[programs++], sizeof(names[0]), "%s", bpf_program__name(each));
		bpf_object__close(opened);
		for (int n = 0; n < programs; n++)
			load_alone(paths[i], names[n], level);
	}
	return 0;
}
