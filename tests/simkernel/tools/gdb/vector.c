/* What the kernel tells a program at its start: kinds, and the size of a signal's frame. */
#include <elf.h>
#include <stdio.h>

int main(int argc, char **argv, char **env)
{
	Elf64_auxv_t *entry;

	while (*env++)
		;
	for (entry = (void *)env; entry->a_type; entry++)
		if (entry->a_type == 51)
			printf("51 is %lu\n", entry->a_un.a_val);
		else if (entry->a_type != 26) /* AT_HWCAP2: what user code may do with segment bases */
			printf("%lu\n", entry->a_type);
	return 0;
}
