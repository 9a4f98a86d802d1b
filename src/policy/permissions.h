/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Permissions: grants as they were written, before any variable, name or link was resolved. This is
 * what is parsed, printed, merged and intersected; policy.h compiles it into something that
 * decides.
 *
 * One struct permissions is one *layer*. In a layer a request is judged in this order, and the
 * first that matches decides:
 *
 *     1. the deny lists (fs.deny, network.deny)
 *     2. `rules`, highest priority first; at equal priority deny before ask before allow
 *     3. the allow lists (fs.read, fs.write, network.allow, network.private, exec, env, services,
 *        secrets)
 *     4. `fallback` (deny unless a rules file says otherwise; for secrets always deny)
 *
 * fs.write grants reading as well. Without an exec list (and without rules about exec) a program
 * may run if its file may be read. `all_of` holds further layers: where it is not empty everything
 * else in this struct is empty, and the strictest verdict of all the layers counts. That is how an
 * intersection is kept that no single list can express.
 *
 * Zeroed permissions grant nothing. Everything lives in the arena; strings are copied on the way
 * in.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "codec/unit.h"
#include "policy/operation.h"

/* Of one layer's `network.inspect`. */
enum { PERMISSIONS_INSPECT_MAX = 256 };

/*
 * One entry of a list. Nearly always a single pattern; more than one means that a request must
 * match them all (printed as `{all: [a, b]}`), the exact meet of patterns that have no common form.
 */
struct grant {
	const char **all;
	size_t n;
	struct location where;
};

struct grant_list {
	struct grant *items;
	size_t n, cap;
};

/* A rule with a priority, as AgenShield writes them; `operations` is a set of 1 << operation. */
struct rule {
	const char *id;
	const char *name; /* NULL: none */
	enum verdict action;
	int32_t priority;
	unsigned operations;
	struct grant_list patterns;
	struct grant_list methods; /* HTTP methods; empty: all */
	bool disabled;
	bool is_granted; /* while the sandbox runs (algebra/ceiling.h); no file can set it */
	struct location where;
};

/* How a layer's verdicts bind: monitor never blocks, audit blocks only what a rule denies. */
enum mode { MODE_ENFORCE, MODE_AUDIT, MODE_MONITOR };
enum { MODE_COUNT = 3 };

enum service_access {
	SERVICE_NONE = 0,
	SERVICE_READ = 1 << 0,
	SERVICE_WRITE = 1 << 1,
	SERVICE_SEND = 1 << 2,
	SERVICE_OPEN = 1 << 3,       /* a page, for the user to see */
	SERVICE_NAVIGATE = 1 << 4,   /* a browser of its own goes there */
	SERVICE_SCREENSHOT = 1 << 5, /* what that browser shows */
	SERVICE_EVAL = 1 << 6,       /* scripts in it */
	SERVICE_LOGIN = 1 << 7,      /* the page of a known login, for the user to see */
	SERVICE_ALL = (1 << 8) - 1,
};

/*
 * A granted service: what may be done (a set of service_access), and the scope it may be done in:
 * `lists`, `calendars`, `domains`, `recipients` … each a list of names; a key that is absent does
 * not narrow.
 */
struct service_scope {
	const char *key;
	struct grant_list values;
};

struct service {
	const char *name;
	unsigned access;
	struct service_scope *scopes;
	size_t n_scopes, cap_scopes;
	struct service_bounds {
		uint64_t range_seconds; /* calendar's `range: 7d`; 0: no bound */
		uint64_t max_size;      /* bytes of one request or answer; 0: no bound */
		struct rate rate;       /* rate_limit: requests per window */
	} bounds;
	struct location where;
};

/* A limit of LIMIT_NONE is no limit; 0 is a limit of nothing. */
#define LIMIT_NONE UINT64_MAX

enum limit {
	LIMIT_TIMEOUT_MS,
	LIMIT_MEMORY,
	LIMIT_PIDS,
	LIMIT_OUTPUT,
	LIMIT_FILE_SIZE,
	LIMIT_OPEN_FILES,
	LIMIT_FUEL,
	LIMIT_WASM_MEMORY, /* of a module; LIMIT_MEMORY is of processes */
	LIMIT_COUNT,
};

struct limits {
	uint64_t values[LIMIT_COUNT];
};

struct network_limits {
	struct rate rate;          /* rate_limit: new connections (or requests) per window */
	uint64_t max_bytes;        /* per destination */
	uint64_t max_request_size; /* where Corral speaks HTTP itself */
	struct grant_list methods; /* empty: all */
};

/* A folder of the host under another name for a WASM skill; grants the host path as
 * fs.read/fs.write do. */
struct guest_path {
	const char *guest, *host;
	bool writable;
	struct location where;
};

/* Where a line such as "fs: {read: [/srv/**]}" can be added to what a layer was read from. */
enum line_place {
	LINE_AT_TOP,
	LINE_BELOW_PERMISSIONS, /* of a skill's manifest, below its `permissions:` */
	LINE_IN_OTHER_WORDS,    /* a file of another format */
	LINE_NOWHERE,           /* it is built in */
};

struct permissions {
	struct arena *arena;
	const char
		*origin; /* what this layer is called in messages: a file name, "command line" … */
	enum line_place line_place;

	/*
	 * A profile that this adds to, by its name; NULL: none. Only the caller who read the file
	 * can know what the name stands for (algebra/extend.h); until then nothing compiles,
	 * merges or compares it.
	 */
	const char *extends;
	struct location extends_where;

	struct grant_list fs_read, fs_write, fs_deny;
	struct grant_list network_allow, network_deny;
	struct grant_list network_private; /* names, granted with the private addresses they have */
	struct grant_list listen;          /* ports, as text */
	struct grant_list inspect;         /* HOST:PORT, as text (network/one-host.h) */
	struct network_limits network;
	bool exec_listed; /* an exec list was given; it may be empty */
	/*
	 * Read from AgenShield's rules. Of these a jail reports what it cannot enforce, where it
	 * refuses rules of other formats: those about arguments hold for the programs that Corral
	 * starts itself (launch/inside.h), and denials by pattern for what matches them
	 * (jail/plan/found.c). Not printed.
	 */
	bool is_shield;
	struct grant_list exec;
	struct grant_list env;     /* NAME, glob of names, or NAME=value */
	struct grant_list secrets; /* NAME=HOST:PORT,PLACE (match/secret.h) */
	struct service *services;
	size_t n_services, cap_services;
	struct limits limits;
	struct guest_path *guest_paths;
	size_t n_guest_paths, cap_guest_paths;
	struct grant_list dangerously_allow;

	struct rule *rules;
	size_t n_rules, cap_rules;
	enum verdict fallback;
	enum mode mode;

	struct permissions **all_of;
	size_t n_all_of, cap_all_of;
};

/* One of p's lists; NULL for LIST_NONE. Constant if p is. */
static inline struct grant_list *permissions_list(
	const struct permissions *p, enum permission_list which)
{
	return which == LIST_NONE ? NULL : (void *)((char *)p + list_rows[which].offset);
}

/* Deny all, no limits, in an arena of its own; NULL when out of memory. */
struct permissions *permissions_new(void);
void permissions_free(struct permissions *p);
static inline void permissions_freep(struct permissions **p)
{
	permissions_free(*p);
}
#define auto_permissions __attribute__((cleanup(permissions_freep))) struct permissions

/* A layer that shares the arena of `owner` (for all_of); freed with it. */
struct permissions *permissions_new_layer(struct permissions *owner);
/* A deep copy with an arena of its own. */
struct permissions *permissions_copy(const struct permissions *p);

/* Appends a pattern to one of p's lists. where may be NULL (made by code). */
int permissions_add(struct permissions *p, struct grant_list *list, const char *pattern,
	const struct location *where);
/* Appends an entry that must match all n patterns. */
int permissions_add_all(struct permissions *p, struct grant_list *list, const char *const *patterns,
	size_t n, const struct location *where);
/* Finds a service, or adds one without access. NULL when out of memory. */
struct service *permissions_service(struct permissions *p, const char *name);
/* Finds a scope of a service, or adds an empty one. */
struct service_scope *permissions_scope(struct permissions *p, struct service *s, const char *key);
/* Each copies what it is given. */
int permissions_add_list(
	struct permissions *p, struct grant_list *to, const struct grant_list *from);
int permissions_add_rule(struct permissions *p, const struct rule *rule);
int permissions_add_guest_path(struct permissions *p, const struct guest_path *g);
/* One more entry, even if the service has one: access and scope of an entry belong together. */
int permissions_add_service(struct permissions *p, const struct service *from);
/* Adds a copy of layer to p's all_of. */
int permissions_add_layer(struct permissions *p, const struct permissions *layer);

/* Removes the rules of a layer that have no pattern any more: no reader accepts those. */
void permissions_tidy_rules(struct permissions *p);
/* Which of two rules of one layer is judged first: negative, a; positive, b. For sorting. */
int rule_compare(const struct rule *a, const struct rule *b);

/*
 * The layers that p stands for, however they are nested: itself, or what all_of holds. Returns how
 * many, or -E2BIG if there are more than max.
 */
int permissions_layers(const struct permissions *p, const struct permissions **ret, size_t max);
/* Makes a layer, p, of one of others. */
typedef int permissions_fill(struct permissions *p, const struct permissions *from,
	const void *context, struct error *e);
/*
 * New permissions with a layer for each of those that `from` stands for, as fill() makes it. The
 * caller owns *ret, which is untouched on error. -E2BIG: more than 64 layers.
 */
int permissions_derive(struct permissions **ret, const struct permissions *from,
	permissions_fill *fill, const void *context, struct error *e);

/* True if nothing is granted: every request is denied in some layer. Limits do not count. */
bool permissions_is_empty(const struct permissions *p);

/* True if a rule that is not disabled is about the operation. */
bool permissions_has_rules(const struct permissions *p, enum operation op);

/* "enforce", "audit", "monitor". */
extern const char *const mode_names[MODE_COUNT];
/* "timeout", "memory", … as written in `limits`. */
const char *limit_name(enum limit l);
