/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/skill-call.h"

#include <errno.h>

_Static_assert(sizeof(struct skill_call) == 12 && sizeof(struct skill_answer) == 16,
	"no padding goes over the wire");

enum { STATUS_MAX = 255 };

bool skill_call_is_valid(const struct skill_call *c)
{
	return c->args_len <= SKILL_CALL_ARGS_MAX && c->input_len <= SKILL_CALL_INPUT_MAX;
}

bool skill_answer_is_valid(const struct skill_answer *a)
{
	return a->status >= 0 && a->status <= STATUS_MAX &&
	       !(a->flags & ~(uint32_t)SKILL_ANSWER_FLAGS) &&
	       a->answer_len <= SKILL_CALL_ANSWER_MAX && a->printed_len <= SKILL_CALL_PRINTED_MAX;
}

int skill_call_count_args(const char *args, size_t len)
{
	int n = 0;

	if (len > 0 && args[len - 1] != '\0')
		return -EPROTO;
	for (size_t i = 0; i < len; i++)
		n += args[i] == '\0';
	return n;
}
