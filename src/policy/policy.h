/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The engine: layers of permissions, compiled once, asked many times. Immutable after policy_new(),
 * so any number of threads may ask at once; policy-box.h swaps one for another under their feet.
 *
 * Order of judgement: the baseline (baseline.h), then every layer (layer.h); the strictest verdict
 * counts. Deciding does not allocate, lock, or do I/O. A negative return means that it could not
 * decide: the caller denies.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "policy/layer.h"
#include "policy/permissions.h"
#include "policy/variable.h"

struct policy;

struct policy_options {
	const struct variables *variables; /* NULL: none has a value */
	const struct resolver *resolver;   /* NULL: names of programs stand for themselves */
	/* Where $HOME leads if links are in it, or NULL: what is secret in the one is so in both.
	 */
	const char *real_home;
	/* The layers outlive the policy and do not change: they are not copied. */
	bool borrows;
	/*
	 * HOST:PORT (network/one-host.h) where the caller sees requests inside TLS, and asks about
	 * each of them by its URL and method, as policy_inspected() lists them. A connection there
	 * is allowed if some requests are; what forbids some does not forbid it.
	 */
	const char *const *opened;
	size_t n_opened;
};

/*
 * Compiles the layers; all of them must allow. No layer at all denies everything. What the
 * permissions hold is copied (but see `borrows`). -EINVAL, -ENOENT (a variable has no value),
 * -E2BIG with a sentence in e.
 */
int policy_new(struct policy **ret, const struct permissions *const *layers, size_t n,
	const struct policy_options *options, struct error *e);
void policy_free(struct policy *p);
/* The hosts of `network.inspect` of any of the layers, each once, in the arena. */
int policy_inspected(const struct permissions *const *layers, size_t n, struct arena *a,
	const char *const **ret, size_t *ret_n);
/* As policy_new() had it. */
const char *const *policy_opened(const struct policy *p, size_t *ret_n);
static inline void policy_freep(struct policy **p)
{
	policy_free(*p);
}
#define auto_policy __attribute__((cleanup(policy_freep))) struct policy

struct request {
	enum operation op;
	/*
	 * fs.*         an absolute path (made normal lexically; links are the caller's matter)
	 * net.connect  a host:port or URL as in host.h
	 * exec         a program: absolute path, or a name
	 * env          NAME: may the host's value come in?  NAME=value: may it be set to this?
	 * service      NAME.ACCESS[:VALUE] as in service.h
	 */
	const char *target;
	/* exec: the arguments after argv[0]; NULL if they are not known. */
	const char *const *args;
	size_t n_args;
	/* net.connect to a URL: the method, or NULL. */
	const char *method;
	/* net.connect to a name: may it lead to a private address (network.private)? */
	bool to_private;
	/* net.connect to a URL: the caller sees requests inside TLS there, so that a line about
	 * this path would allow it. For explaining alone. */
	bool is_opened;
};

enum decision_why {
	DECISION_NO_GRANT, /* nothing in the layer matches, and its fallback counts */
	DECISION_RULE,     /* `source` decided */
	DECISION_SERVICE,  /* a granted service decided */
	DECISION_READABLE, /* no exec list: the file may be read (by `source`, if any), so it may
			      run */
	DECISION_UNREADABLE,
	DECISION_BASELINE,
	DECISION_METHOD,  /* network.methods does not have the request's method */
	DECISION_GUARDED, /* a default does not reach there: `baseline` needs a grant of its own */
	DECISION_PRIVATE, /* the name is not in network.private */
	DECISION_BAD_TARGET, /* the target is no path, host, … */
	DECISION_NO_LAYER,
};

struct decision {
	enum verdict verdict;
	enum decision_why why;
	/* A layer in mode monitor or audit let it pass: what it would have been. */
	bool monitored;
	enum verdict would;
	const struct source *source; /* lives as long as the policy; NULL if none */
	const struct layer *layer;   /* the layer that decided; NULL for the baseline */
	const char *baseline; /* DECISION_BASELINE, _GUARDED: the entry, and why it is there */
	const char *baseline_why;
	bool baseline_never; /* not even dangerously_allow lifts it */
	unsigned n_deny;     /* how many layers did not allow it */
};

/* Zeroed by itself first; denies when it returns negative (-EINVAL: the target is malformed). */
int policy_decide(const struct policy *p, const struct request *r, struct decision *ret);
/* Whether it may happen, where the reason does not matter. */
static inline bool policy_allows(const struct policy *p, const struct request *r)
{
	struct decision d;

	return policy_decide(p, r, &d) == 0 && d.verdict == VERDICT_ALLOW;
}

/* The same for one layer by itself, and how many there are; for explaining. */
size_t policy_layers(const struct policy *p);
const struct layer *policy_layer(const struct policy *p, size_t i);
int policy_decide_layer(
	const struct policy *p, size_t i, const struct request *r, struct decision *ret);
/*
 * The folders of one of the compiled permissions' lists of paths, by the list's address; NULL: it
 * was not compiled, or has changed. A list that was copied has another address.
 */
const struct folders *policy_folders(const struct policy *p, const struct grant_list *list);
/* The limits of all layers together: the least of each. */
void policy_limits(const struct policy *p, struct limits *ret);
