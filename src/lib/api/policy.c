/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "host/resolver.h"
#include "lib/api/handles.h"
#include "policy/explain.h"

enum { LAYERS_MAX = 64 };

static int compile_layers(struct policy **ret, const struct corral_permissions *const *layers,
	size_t n, const struct corral_variable *variables, size_t n_variables, struct error *e)
{
	const struct permissions *plain[LAYERS_MAX];
	struct variables vars;
	struct policy_options options = { .variables = &vars, .resolver = &resolver_system };
	int r = handles_variables(&vars, variables, n_variables, e);

	if (r < 0)
		return r;
	if (n > LAYERS_MAX)
		return error_set(e, -E2BIG, NULL, "more than %d layers", LAYERS_MAX);
	for (size_t i = 0; i < n; i++) {
		if (!layers[i])
			return error_set(e, -EINVAL, NULL, "layer %zu is missing", i);
		plain[i] = layers[i]->p;
	}
	return policy_new(ret, plain, n, &options, e);
}

int corral_policy_new(struct corral_policy **ret, const struct corral_permissions *const *layers,
	size_t n, const struct corral_variable *variables, size_t n_variables,
	struct corral_error **e)
{
	struct corral_policy *handle = calloc(1, sizeof(*handle));
	struct policy *p = NULL;
	struct error error = { 0 };
	int r = handle ? compile_layers(&p, layers, n, variables, n_variables, &error) : -ENOMEM;

	if (r == 0) {
		handle->box = policy_box_new(p);
		if (!handle->box) {
			policy_free(p);
			r = -ENOMEM;
		}
	}
	if (r < 0) {
		free(handle);
		return handles_error(e, &error, r);
	}
	*ret = handle;
	return 0;
}

void corral_policy_free(struct corral_policy *policy)
{
	if (!policy)
		return;
	policy_box_free(policy->box);
	free(policy);
}

static void copy_text(char *to, size_t size, const char *from)
{
	size_t n = from ? strnlen(from, size - 1) : 0;

	if (n)
		memcpy(to, from, n);
	to[n] = '\0';
}

static int check_request(
	struct corral_policy *policy, const struct request *r, struct corral_decision *ret)
{
	struct policy_pin pin;
	struct decision d;
	int err;

	policy_box_pin(policy->box, &pin);
	err = policy_decide(pin.policy, r, &d);
	if (ret) {
		const struct source *s = d.source;

		ret->verdict = (enum corral_verdict)d.verdict;
		ret->generation = pin.generation;
		ret->line = s ? s->grant->where.line : 0;
		copy_text(ret->file, sizeof(ret->file), s ? s->grant->where.file : NULL);
		copy_text(ret->pattern, sizeof(ret->pattern), s ? s->grant->all[0] : d.baseline);
	}
	policy_box_unpin(policy->box, &pin);
	return err < 0 ? err : (int)d.verdict;
}

int corral_policy_check(struct corral_policy *policy, enum corral_operation op, const char *target,
	struct corral_decision *decision)
{
	const struct request r = { .op = (enum operation)op, .target = target };

	return check_request(policy, &r, decision);
}

int corral_policy_check_exec(
	struct corral_policy *policy, const char *const *argv, struct corral_decision *decision)
{
	struct request r = { .op = OPERATION_EXEC, .target = argv ? argv[0] : NULL };

	if (r.target) {
		r.args = argv + 1;
		while (r.args[r.n_args])
			r.n_args++;
	}
	return check_request(policy, &r, decision);
}

int corral_policy_check_request(struct corral_policy *policy, const char *method, const char *url,
	struct corral_decision *decision)
{
	const struct request r = { .op = OPERATION_NET_CONNECT, .target = url, .method = method };

	return check_request(policy, &r, decision);
}

int corral_policy_explain(struct corral_policy *policy, enum corral_operation op,
	const char *target, char **ret_reason, char **ret_remedy)
{
	const struct request r = { .op = (enum operation)op, .target = target };
	auto_buffer reason = { 0 }, remedy = { 0 };
	struct policy_pin pin;
	struct decision d;
	char *first, *second;
	int err;

	if ((unsigned)op >= OPERATION_COUNT || !target)
		return -EINVAL;
	policy_box_pin(policy->box, &pin);
	err = policy_decide(pin.policy, &r, &d);
	explain_reason(&r, &d, &reason);
	explain_remedy(&r, &d, &remedy);
	policy_box_unpin(policy->box, &pin);
	if (err < 0)
		return err;
	first = buffer_take(&reason);
	second = buffer_take(&remedy);
	if (!first || !second) {
		free(first);
		free(second);
		return -ENOMEM;
	}
	*ret_reason = first;
	*ret_remedy = second;
	return (int)d.verdict;
}

int corral_policy_swap(struct corral_policy *policy, const struct corral_permissions *const *layers,
	size_t n, const struct corral_variable *variables, size_t n_variables,
	uint64_t *ret_generation, struct corral_error **e)
{
	struct policy *p = NULL;
	struct error error = { 0 };
	uint64_t generation = 0;
	int r = compile_layers(&p, layers, n, variables, n_variables, &error);

	if (r == 0) {
		generation = policy_box_swap(policy->box, p);
		if (generation == 0) {
			policy_free(p);
			r = -ENOMEM;
		}
	}
	if (r < 0)
		return handles_error(e, &error, r);
	if (ret_generation)
		*ret_generation = generation;
	return 0;
}

uint64_t corral_policy_generation(struct corral_policy *policy)
{
	struct policy_pin pin;

	policy_box_pin(policy->box, &pin);
	policy_box_unpin(policy->box, &pin);
	return pin.generation;
}
