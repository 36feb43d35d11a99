/* The harness of programs about landlock: its calls, a ruleset of some rights, a rule for what lies below a path. */
#include "tiny.h"
#include <linux/landlock.h>

#ifndef __NR_landlock_create_ruleset
#define __NR_landlock_create_ruleset 444
#define __NR_landlock_add_rule 445
#define __NR_landlock_restrict_self 446
#endif

static long ruleset(unsigned long long handled)
{
	struct landlock_ruleset_attr attr;
	memset(&attr, 0, sizeof(attr));
	attr.handled_access_fs = handled;
	return sys(__NR_landlock_create_ruleset, &attr, 8, 0);
}

static long rule(long set, const char *path, unsigned long long access)
{
	struct landlock_path_beneath_attr beneath = { access, (int)sys(__NR_openat, AT_FDCWD, path, O_PATH, 0) };
	long ret = sys(__NR_landlock_add_rule, set, 1, &beneath, 0);
	sys(__NR_close, beneath.parent_fd);
	return ret;
}
