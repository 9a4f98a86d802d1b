/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The hard baseline: what no grant overrides. The entries are data (data/baseline.conf, turned into
 * the tables below when Corral is built; docs/baseline.md explains them).
 *
 *   never   network: refused whatever is granted (cloud metadata)
 *   guard   network: needs a grant that names an address, prefix or name *inside* the guarded
 * range:
 *           `*`, `0.0.0.0/0` and `*.com` do not reach it, `10.1.0.0/16` and `localhost` do
 *   private a guard, too; names that network.private lists may lead there
 *   secret  files: neither read nor written unless dangerously_allow names them
 *   system  files: not written unless dangerously_allow names them
 *
 * No two guards overlap (the generator sees to it), so a place has at most one.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/network/address.h"

struct host_request;

/* Texts are where they start in baseline_texts, so that the tables need no relocation. */
struct baseline_net {
	uint16_t text; /* as in the data file */
	uint16_t why;
	bool never;
	bool is_private;      /* a guard that network.private lifts for a name */
	bool is_name;         /* the text is a DNS name, guarded with all its subdomains */
	struct prefix prefix; /* else */
};

struct baseline_path {
	uint16_t pattern; /* a glob; "~/" means every home folder */
	uint16_t why;
	bool secret; /* else system */
	bool large;  /* programs fill it: links deeper in it are not looked for */
};

extern const char baseline_texts[];
static inline const char *baseline_net_text(const struct baseline_net *net)
{
	return baseline_texts + net->text;
}
static inline const char *baseline_net_why(const struct baseline_net *net)
{
	return baseline_texts + net->why;
}
static inline const char *baseline_path_pattern(const struct baseline_path *path)
{
	return baseline_texts + path->pattern;
}
static inline const char *baseline_path_why(const struct baseline_path *path)
{
	return baseline_texts + path->why;
}

extern const struct baseline_net baseline_nets[];
extern const size_t baseline_n_nets;
extern const struct baseline_path baseline_paths[];
extern const size_t baseline_n_paths;

/* The entry that makes r unreachable for good, or NULL. */
const struct baseline_net *baseline_never(const struct host_request *r);
/* The guard that r lies in, or NULL. */
const struct baseline_net *baseline_guard(const struct host_request *r);
/* The guard that holds all of p, or the name with all its subdomains; NULL if none does. */
const struct baseline_net *baseline_guard_of_prefix(const struct prefix *p);
const struct baseline_net *baseline_guard_of_name(const char *name);

/* The user's home folder, which counts beside /root, /home/… and /Users/…; {0}: none. */
struct baseline_home {
	const char *path;
	size_t len;
};

/* `home` may be NULL. What is no normal path, or is "/", counts as none. Points into `home`. */
struct baseline_home baseline_paths_home(const char *home);
/*
 * The first entry (in the order of the data file, where all secrets stand before what is the
 * system's) that forbids reading or writing a normal path, or NULL. Neither allocates nor locks.
 */
const struct baseline_path *baseline_paths_match(
	const struct baseline_home *home, bool write, const char *path, size_t len);

/*
 * Where something may be forbidden to be read that is not there yet: BASELINE_HERE: the path is;
 * BASELINE_BELOW: an entry lies below it. Both are possible, and neither.
 */
enum { BASELINE_HERE = 1, BASELINE_BELOW = 2 };
unsigned baseline_paths_reach(const struct baseline_home *home, const char *path, size_t len);
/* No entry forbids the folder or anything below it, to be read or written. False: one may. */
bool baseline_paths_spare(const struct baseline_home *home, const char *folder, size_t len);
/*
 * Calls each() for the names in a folder by which entries go on; one may come twice. 1: there are
 * entries with wildcards in it, so that any name may. A return of each() other than 0 ends it.
 */
typedef int baseline_child(void *data, const char *name, size_t len);
int baseline_paths_children(const struct baseline_home *home, const char *path, size_t len,
	baseline_child *each, void *data);
