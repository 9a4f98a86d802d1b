/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* What the parts of subset_compare() share. Each part returns 0 to go on, 1 when `result` is
 * filled, negative on error. */
#include "policy/match/automaton.h"
#include "policy/algebra/relation.h"
#include "policy/algebra/subset.h"

enum { SUBSET_LAYERS_MAX = 16, SUBSET_STATES_MAX = 1 << 17 };
/* Steps that all automata of one comparison may take together: about a second. */
enum { SUBSET_BUDGET = 16 << 20 };

/* One side: its layers as written and as compiled, in the same order. */
struct subset_side {
	const struct permissions *layers[SUBSET_LAYERS_MAX];
	size_t n;
	struct policy *policy;
};

struct subset_compare {
	struct subset_side a, b;
	const struct variables *vars;
	struct subset *result;
	struct error *error;
	size_t budget;  /* what is left of it */
	char fresh[32]; /* a word that neither side mentions, for "any other" name, argument or
			   value */
};

/* Fills the result; both return 1. */
int subset_found(struct subset_compare *c, const char *what, const char *witness);
int subset_too_complex(struct subset_compare *c, const char *what);

/*
 * Is there more that a allows of this target than b, the baseline left out? Fills the result if so,
 * and if the target is malformed: a representative that cannot be judged stands for targets that
 * may be granted.
 */
int subset_try(struct subset_compare *c, const struct request *r);
/* Calls visit for every source of an operation, of A and of B, until one does not return 0. */
int subset_each_source(const struct subset_compare *c, enum operation op,
	int (*visit)(void *data, const struct source *s), void *data);

/* Words, each once. */
struct subset_words {
	const char **items;
	size_t n, cap;
};

/* -ENOMEM, also for a word that is NULL. */
int subset_words_add(struct subset_words *set, struct arena *a, const char *word);

/* One layer as an automaton whose ranks have verdicts. */
struct subset_machine {
	struct automaton *automaton;
	enum verdict *verdicts; /* by rank */
	enum verdict none;      /* where nothing matches */
};

struct subset_machines {
	struct arena arena;
	struct subset_machine items[2 * SUBSET_LAYERS_MAX];
	struct automaton *automata[2 * SUBSET_LAYERS_MAX];
	size_t n_a, n;
};

void subset_machines_deinit(struct subset_machines *m);
#define auto_subset_machines __attribute__((cleanup(subset_machines_deinit))) struct subset_machines

/* Adds a machine that is being filled; NULL when out of memory. max: the number of ranks it will
 * have. */
struct subset_machine *subset_machine_new(struct subset_machines *m, size_t max, enum verdict none);
/* Gives `rank` a verdict and the paths that a grant's patterns match. */
int subset_machine_add(struct subset_machines *m, struct subset_machine *to,
	const struct variables *vars, const struct grant *g, uint32_t rank, enum verdict verdict);
/* Builds all and searches for a text where the first n_a allow more than the others. */
int subset_machines_search(struct subset_compare *c, struct subset_machines *m,
	enum product_domain domain, struct buffer *witness);

/* Adds the machine of one layer of a side. */
typedef int subset_fill(struct subset_machines *m, const struct subset_compare *c,
	const struct subset_side *side, size_t layer, const void *how);
/* The same search with one machine for each layer of both sides. */
int subset_search(struct subset_compare *c, subset_fill *fill, const void *how,
	enum product_domain domain, struct buffer *witness);
/* What a layer says where nothing matches. Monitoring lets all pass, so no pattern matters then. */
enum verdict subset_fallback(const struct layer *l);
