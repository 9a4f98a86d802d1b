/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/process/call.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/path.h"
#include "lib/api/handles.h"

enum {
	KNOWN_FLAGS = CORRAL_CALL_INPUT | CORRAL_CALL_TTY | CORRAL_CALL_MERGE | CORRAL_CALL_RAW,
};

static int call_check(const struct corral_call *c, struct error *e)
{
	const int *fds = c->stdio;

	if (c->flags & ~(unsigned)KNOWN_FLAGS)
		return error_set(e, -EINVAL, NULL, "unknown flags in struct corral_call");
	if (c->input_len && !c->input)
		return error_set(e, -EINVAL, NULL, "the call has an input length but no input");
	if (c->cwd && !path_is_normal(c->cwd, strlen(c->cwd)))
		return error_set(e, -EINVAL, NULL,
			"the folder of a call must be an absolute path without . or .., and %s is "
			"not",
			c->cwd);
	for (size_t i = 0; c->env && c->env[i]; i++)
		if (c->env[i][0] == '=' || !strchr(c->env[i], '='))
			return error_set(e, -EINVAL, NULL,
				"the environment of a call is a list of NAME=value, and entry %zu "
				"is not one",
				i + 1);
	if (c->flags & CORRAL_CALL_TTY && (fds || c->flags & CORRAL_CALL_MERGE))
		return error_set(e, -EINVAL, NULL,
			"a command on a terminal cannot have a separate stdin, stdout or stderr");
	if (fds && fds[CORRAL_STDIN] >= 0 && (c->input_len || c->flags & CORRAL_CALL_INPUT))
		return error_set(e, -EINVAL, NULL,
			"stdin must be either a descriptor or input data, not both");
	if (fds && fds[CORRAL_STDERR] >= 0 && c->flags & CORRAL_CALL_MERGE)
		return error_set(e, -EINVAL, NULL,
			"stderr must go either to stdout or to a descriptor, not both");
	return 0;
}

int call_read(struct corral_call *ret, const struct corral_call *from, struct error *e)
{
	struct corral_call c = CORRAL_CALL;
	int r = from ? handles_read(&c, sizeof(c), from, from->size) : 0;

	if (r == -EINVAL)
		return error_set(
			e, r, NULL, "struct corral_call has no size; start it with CORRAL_CALL");
	if (r == -E2BIG)
		return error_set(e, r, NULL,
			"the call requests something that this version of libcorral does not "
			"support");
	if (r < 0)
		return r;
	c.size = sizeof(c);
	r = call_check(&c, e);
	if (r == 0)
		*ret = c;
	return r;
}
