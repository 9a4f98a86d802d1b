/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/call.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/path.h"

enum {
	KNOWN_FLAGS = CORRAL_CALL_INPUT | CORRAL_CALL_TTY | CORRAL_CALL_MERGE | CORRAL_CALL_RAW,
	SIZE_MAX_SANE = 1 << 16,
};

static bool is_zero(const unsigned char *p, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (p[i])
			return false;
	}
	return true;
}

static int check_size(const struct corral_call *from, struct error *e)
{
	const size_t known = sizeof(*from);

	if (from->size < sizeof(from->size) || from->size > SIZE_MAX_SANE)
		return error_set(e, -EINVAL, NULL,
			"struct corral_call has no size; start it with CORRAL_CALL");
	if (from->size > known && !is_zero((const unsigned char *)from + known, from->size - known))
		return error_set(e, -E2BIG, NULL,
			"the call asks for something that this version of libcorral does not have");
	return 0;
}

static int check_env(const char *const *env, struct error *e)
{
	for (size_t i = 0; env && env[i]; i++) {
		if (env[i][0] == '=' || !strchr(env[i], '='))
			return error_set(e, -EINVAL, NULL,
				"the environment of a call is a list of NAME=value, and entry %zu "
				"is not one",
				i + 1);
	}
	return 0;
}

static int check_stdio(const struct corral_call *c, struct error *e)
{
	const int *fds = c->stdio;

	if (c->flags & CORRAL_CALL_TTY && (fds || c->flags & CORRAL_CALL_MERGE))
		return error_set(e, -EINVAL, NULL,
			"a command on a terminal has no other stdin, stdout and stderr");
	if (fds && fds[CORRAL_STDIN] >= 0 && (c->input_len || c->flags & CORRAL_CALL_INPUT))
		return error_set(e, -EINVAL, NULL,
			"stdin is either a descriptor or what the call gives, not both");
	if (fds && fds[CORRAL_STDERR] >= 0 && c->flags & CORRAL_CALL_MERGE)
		return error_set(e, -EINVAL, NULL,
			"stderr either goes where stdout goes or to a descriptor, not both");
	return 0;
}

static int check(const struct corral_call *c, struct error *e)
{
	int r;

	if (c->flags & ~(unsigned)KNOWN_FLAGS)
		return error_set(e, -EINVAL, NULL, "unknown flags in struct corral_call");
	if (c->input_len && !c->input)
		return error_set(e, -EINVAL, NULL, "the call has a length of input, but no input");
	if (c->cwd && !path_is_normal(c->cwd, strlen(c->cwd)))
		return error_set(e, -EINVAL, NULL,
			"the folder of a call must be an absolute path without . or .., and %s is "
			"not",
			c->cwd);
	r = check_env(c->env, e);
	return r < 0 ? r : check_stdio(c, e);
}

int call_read(struct corral_call *ret, const struct corral_call *from, struct error *e)
{
	struct corral_call c = CORRAL_CALL;
	int r = from ? check_size(from, e) : 0;

	if (r < 0)
		return r;
	if (from)
		memcpy(&c, from, from->size < sizeof(c) ? from->size : sizeof(c));
	c.size = sizeof(c);
	r = check(&c, e);
	if (r == 0)
		*ret = c;
	return r;
}
