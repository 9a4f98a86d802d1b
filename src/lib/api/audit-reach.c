/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The log of a sandbox or an enclave lies where those whom it records can't get at it, or they get
 * nothing. Links in what is granted are followed first, all of them: what a name grants, it may
 * grant where it leads.
 */
#include <errno.h>
#include <stdlib.h>

#include "audit/place.h"
#include "base/path.h"
#include "host/resolver.h"
#include "lib/api/audit-handle.h"
#include "lib/enclave/beneath.h"

enum { LAYERS_MAX = 64 };

static int api_audit_reach_refuse(const char *path, enum audit_reach reach, struct error *e)
{
	if (reach == AUDIT_REACH_NONE)
		return 0;
	(void)error_set(e, -EPERM, NULL, "%.300s: the permissions let this log be %s", path,
		reach == AUDIT_REACH_WRITE ? "changed by those whom it is about"
					   : "locked, or signed for, by those whom it is about");
	error_hint(e, "keep the log and its key outside of what is granted, or deny that folder");
	return -EPERM;
}

int lib_audit_check(const struct corral_audit *a, const struct policy *p, struct error *e)
{
	int r = a->log ? api_audit_reach_refuse(a->log, audit_reach(p, a->log), e) : 0;

	if (r == 0 && a->signing_key)
		r = api_audit_reach_refuse(
			a->signing_key, audit_reach_one(p, a->signing_key, true), e);
	if (r == 0 && a->head)
		r = api_audit_reach_refuse(a->head, audit_reach_one(p, a->head, false), e);
	return r;
}

static int api_audit_reach_resolve(
	struct permissions *p, const struct variables *variables, struct error *e)
{
	struct policy *nowhere = NULL;
	int r = policy_new(&nowhere, NULL, 0, NULL, e);

	if (r == 0)
		r = beneath_resolve_grants(p, variables, nowhere, e);
	policy_free(nowhere);
	return r;
}

int lib_audit_check_sink(corral_audit_sink *sink, const void *context, const struct permissions *p,
	const struct variables *variables, struct error *e)
{
	const struct corral_audit *a = context;
	const struct policy_options o = { .variables = variables, .resolver = &resolver_system };
	const struct permissions *layers[LAYERS_MAX];
	auto_permissions *copy = NULL;
	auto_policy *policy = NULL;
	int r, n;

	if (sink != corral_audit_sandbox || !a->log)
		return 0;
	copy = permissions_copy(p);
	if (!copy)
		return error_no_memory(e);
	r = api_audit_reach_resolve(copy, variables, e);
	if (r < 0)
		return r;
	n = permissions_layers(copy, layers, LAYERS_MAX);
	if (n < 0)
		return error_set(e, n, NULL, "the permissions have too many layers");
	r = policy_new(&policy, layers, (size_t)n, &o, e);
	return r < 0 ? r : lib_audit_check(a, policy, e);
}
