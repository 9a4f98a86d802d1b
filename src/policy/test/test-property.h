/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Random permissions and requests over a world so small that they meet all the time: a few names of
 * files, hosts, programs and variables, and every kind of pattern over them. A seed gives the same
 * sequence everywhere.
 */
#include "test/unit.h"

#include "base/buffer.h"
#include "policy/policy.h"
#include "policy/test/test-naive.h"

struct random {
	uint64_t state;
};

/* CORRAL_TEST_SEED in the environment, a number, gives other sequences. */
struct random random_start(uint64_t seed);
unsigned random_pick(struct random *r, unsigned n);
/* True once in n times. */
bool random_one_in(struct random *r, unsigned n);

enum random_what {
	RANDOM_ANY = 0,
	RANDOM_PLAIN = 1 << 0, /* lists only: no rules, modes, fallback, guest paths or all_of */
	RANDOM_NO_DENY = 1 << 1,
	RANDOM_NO_URL = 1 << 2,    /* no patterns or rules that narrow a URL */
	RANDOM_ONE_LAYER = 1 << 3, /* no all_of */
	RANDOM_RESOLVED = 1 << 4,  /* will be asked with a resolver: see random_exec() */
	RANDOM_WORDS = 1 << 5,     /* no wildcards in services */
	RANDOM_METHODS = 1 << 6,   /* network.methods; a merge takes the wider list of them */
};

/* The caller frees it. Never NULL. */
struct permissions *random_permissions(struct random *r, unsigned what);

struct random_request {
	struct request request;
	char target[128];
	const char *args[4];
};

void random_request(struct random *r, struct random_request *q);

extern const struct variables random_variables;
/* The world with programs that lead to files, and the same without. */
extern const struct naive_world random_world, random_bare_world;
extern const struct policy_options random_options, random_bare_options;

/* Compiles; fails the test with what was wrong if it cannot be. */
struct policy *random_compile(
	const struct permissions *const *layers, size_t n, const struct policy_options *o);
/* The verdict of all layers, without the baseline. */
enum verdict random_decide(const struct policy *p, const struct request *r);

/* Fails the test: what was said, the request, and the permissions as they are written. */
void random_fail(const char *what, const struct request *r, const struct permissions *const *all,
	size_t n) __attribute__((noreturn));
/* For the end of a test: how many cases there were. */
void random_report(const char *what, size_t cases);
