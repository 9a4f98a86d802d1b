/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/process/denial.h"

#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "policy/explain.h"

const char *denial_put(char **at, const char *text)
{
	char *start = *at;
	size_t size = strlen(text) + 1;

	memcpy(start, text, size);
	*at += size;
	return start;
}

struct corral_denial *denial_copy(const struct corral_denial *d)
{
	size_t size = strlen(d->target) + strlen(d->rule) + strlen(d->reason) + strlen(d->remedy);
	struct corral_denial *copy = malloc(sizeof(*copy) + size + 4);
	char *at;

	if (!copy)
		return NULL;
	at = (char *)(copy + 1);
	*copy = (struct corral_denial){ .op = d->op, .exact = d->exact, .count = d->count };
	copy->target = denial_put(&at, d->target);
	copy->rule = denial_put(&at, d->rule);
	copy->reason = denial_put(&at, d->reason);
	copy->remedy = denial_put(&at, d->remedy);
	return copy;
}

struct corral_denial *denial_new(const struct request *r, const struct decision *d, bool exact)
{
	auto_buffer rule = { 0 }, reason = { 0 }, remedy = { 0 };

	explain_rule(d, &rule);
	explain_reason(r, d, &reason);
	explain_remedy(r, d, &remedy);
	if (rule.failed || reason.failed || remedy.failed)
		return NULL;
	return denial_copy(&(struct corral_denial){
		.op = (enum corral_operation)r->op,
		.target = r->target ? r->target : "",
		.rule = buffer_text(&rule),
		.reason = buffer_text(&reason),
		.remedy = buffer_text(&remedy),
		.exact = exact,
		.count = 1,
	});
}

void denial_free(struct corral_denial *d)
{
	free(d);
}
