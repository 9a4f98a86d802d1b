/* SPDX-License-Identifier: Apache-2.0 */
#include "launch/command.h"

#include <errno.h>
#include <unistd.h>

#include "base/array.h"
#include "host/account.h"

/* Limits */

/* Those that the session enforces, and their places in the frame. Output is bounded by who reads
 * it: of that, none at all makes sense. */
static const struct {
	enum limit which;
	size_t offset;
} held[] = {
	{ LIMIT_TIMEOUT_MS, offsetof(struct start, timeout_ms) },
	{ LIMIT_MEMORY, offsetof(struct start, memory) },
	{ LIMIT_PIDS, offsetof(struct start, pids) },
	{ LIMIT_FILE_SIZE, offsetof(struct start, file_size) },
	{ LIMIT_OPEN_FILES, offsetof(struct start, open_files) },
};

void launch_limits(const struct policy *p, const struct limits *more, struct limits *ret)
{
	policy_limits(p, ret);
	for (size_t i = 0; i < LIMIT_COUNT; i++) {
		if (more->values[i] < ret->values[i])
			ret->values[i] = more->values[i];
	}
}

int launch_limits_check(const struct limits *l, struct error *e)
{
	for (size_t i = 0; i < ROWS(held); i++) {
		if (l->values[held[i].which] == 0)
			return error_set(e, -EPERM, NULL,
				"the policy limits %s to 0, so no command can run",
				limit_name(held[i].which));
	}
	return 0;
}

void launch_limits_start(const struct limits *l, struct start *ret)
{
	for (size_t i = 0; i < ROWS(held); i++) {
		uint64_t value = l->values[held[i].which];

		*(uint64_t *)((char *)ret + held[i].offset) =
			value == LIMIT_NONE ? START_NONE : value;
	}
}

void launch_limits_broker(const struct limits *l, struct limits *ret)
{
	for (size_t i = 0; i < LIMIT_COUNT; i++)
		ret->values[i] = l->values[i] == LIMIT_NONE ? 0 : l->values[i];
}

/* The environment */

int launch_environment(struct environment_options o, const struct variables *v, struct arena *a,
	const char *const **ret, size_t *ret_n, struct error *e)
{
	const struct request temp = { .op = OPERATION_FS_WRITE,
		.target = v->values[VARIABLE_TEMP] };
	char user[ACCOUNT_NAME_BYTES];

	if (!o.user) {
		if (account_name("/etc/passwd", getuid(), user) < 0)
			return error_no_memory(e);
		o.user = user;
	}
	if (!o.home)
		o.home = v->values[VARIABLE_HOME];
	if (temp.target && policy_allows(o.policy, &temp))
		o.tmp = temp.target;
	return environment_build(a, &o, ret, ret_n, e);
}
