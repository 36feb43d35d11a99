/* Attaches every program of an object with libbpf itself, runs a command and prints the object's maps byte for byte.
 * gcc -static -O1 loader.c -lbpf -lelf -lz; the same binary runs on a real kernel and on the simulated one. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void print_map(struct bpf_map *map)
{
	unsigned int key_size = bpf_map__key_size(map), value_size = bpf_map__value_size(map);
	unsigned char *key = calloc(1, key_size), *value = malloc(value_size), *previous = NULL;
	int fd = bpf_map__fd(map);

	while (!bpf_map_get_next_key(fd, previous, key)) {
		int used = 0;

		previous = key;
		if (bpf_map_lookup_elem(fd, key, value))
			continue;
		for (unsigned int i = 0; i < value_size; i++)
			used |= value[i];
		if (!used)
			continue;
		printf("%s ", bpf_map__name(map));
		for (unsigned int i = 0; i < key_size; i++)
			printf("%02x", key[i]);
		printf(":");
		for (unsigned int i = 0; i < value_size; i++)
			printf("%s%02x", i % 8 ? "" : " ", value[i]);
		printf("\n");
	}
}

int main(int argc, char **argv)
{
	struct bpf_object *object;
	struct bpf_program *program;
	struct bpf_map *map;
	int error, status = 0;

	object = bpf_object__open_file(argv[1], NULL);
	if (!object || (error = bpf_object__load(object)))
		return 2;
	bpf_object__for_each_program(program, object) {
		struct bpf_link *link = bpf_program__attach(program);

		printf("%s %s %s\n", bpf_program__name(program), bpf_program__section_name(program), link ? "attached" : "failed");
	}
	fflush(stdout);
	if (!fork()) {
		execv(argv[2], argv + 2);
		_exit(9);
	}
	wait(&status);
	printf("status %d\n", status);
	bpf_object__for_each_map(map, object)
		print_map(map);
	return 0;
}
