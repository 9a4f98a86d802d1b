/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * From a name to its node: a hash table with open addressing. The hash of a name is made label by
 * label from the right, so one pass over a name gives the hashes of all its parents too.
 */
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "policy/network/hostset-node.h"

/* Secret, so that nobody can choose names that collide. */
struct hostset_key {
	uint64_t words[2];
};

struct hostset_slot {
	uint64_t hash;
	const char *name; /* NULL: empty */
	const struct hostset_node *node;
};

struct hostset_names {
	struct hostset_slot *slots;
	size_t mask;
};

struct hostset_key hostset_key_make(void);
/* The hash of "LABEL.REST" from that of REST; 0 stands for no rest. */
uint64_t hostset_hash(const struct hostset_key *k, uint64_t rest, const char *label, size_t len);
/* The hash of a whole name. */
uint64_t hostset_hash_name(const struct hostset_key *k, const char *name);

/* Room for n names, which may be none. */
int hostset_names_init(struct hostset_names *t, struct arena *a, size_t n);
/* The name is new and lives as long as the table. */
void hostset_names_put(
	struct hostset_names *t, uint64_t hash, const char *name, const struct hostset_node *node);
/* NULL: not there. */
const struct hostset_node *hostset_names_get(
	const struct hostset_names *t, uint64_t hash, const char *name);
