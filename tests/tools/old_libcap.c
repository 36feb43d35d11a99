/*
 * libcap as it was when a test looked into its structure: a header and two words of capabilities.  Instead of -lcap.
 */

#include <linux/capability.h>
#include <stdlib.h>
#include <sys/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

struct _cap_struct {
	struct __user_cap_header_struct header;
	struct __user_cap_data_struct data[2];
};

cap_t cap_get_proc(void)
{
	cap_t caps = calloc(1, sizeof(*caps));

	caps->header.version = _LINUX_CAPABILITY_VERSION_3;
	if (syscall(SYS_capget, &caps->header, caps->data)) {
		free(caps);
		return NULL;
	}
	return caps;
}

int cap_set_proc(cap_t caps)
{
	return syscall(SYS_capset, &caps->header, caps->data);
}

int cap_free(void *caps)
{
	free(caps);
	return 0;
}

static __u32 *word(cap_t caps, cap_value_t capability, cap_flag_t flag)
{
	struct __user_cap_data_struct *data = &caps->data[capability / 32];

	return flag == CAP_EFFECTIVE ? &data->effective : flag == CAP_PERMITTED ? &data->permitted : &data->inheritable;
}

int cap_get_flag(cap_t caps, cap_value_t capability, cap_flag_t flag, cap_flag_value_t *value)
{
	*value = *word(caps, capability, flag) >> capability % 32 & 1;
	return 0;
}

int cap_set_flag(cap_t caps, cap_flag_t flag, int count, const cap_value_t *capabilities, cap_flag_value_t value)
{
	for (int i = 0; i < count; i++) {
		__u32 bit = 1u << capabilities[i] % 32, *at = word(caps, capabilities[i], flag);

		*at = value ? *at | bit : *at & ~bit;
	}
	return 0;
}

int cap_get_bound(cap_value_t capability)
{
	return 1;
}
