/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The same call with the same name comes again and again; it is judged once. What was judged is
 * remembered as a number in a table of fixed size, so a command that makes up names costs time, its
 * own first of all, and no memory. Whoever finds two names with one number hides what it is denied
 * from a table that is there to help it.
 */
#include "cli/explain/explain.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/fd.h"
#include "base/file.h"
#include "base/hash.h"
#include "cli/explain/internal.h"

enum {
	KNOWN = 1 << 14,
	BYTES_MAX = 4 << 20,         /* of what is kept */
	MOUNTS_BYTES_MAX = 64 << 20, /* the machine's, not the command's */
	NAME_BYTES = 32,
	FOUND_MAX = 256,
	CACHES_MAX = 16,
};

/* Of calls that were judged: what came of it. */
struct explain_known {
	uint64_t hash;
	uint32_t denial; /* its place and 1; 0: it was not denied */
};

struct run_explain {
	const struct run *run;
	struct call_listener *listener; /* NULL: nothing is watched */
	struct witness *witness;
	struct arena arena;
	struct arena mounts_arena; /* of its own: it must not leave less for the rest */
	struct explain_mounts mounts;
	struct denials denials;
	uint64_t missed, clock;
	const char *found[FOUND_MAX]; /* names of programs that were run */
	size_t n_found;
	const char *caches[CACHES_MAX]; /* folders in ~/.cache that were made in the private home */
	size_t n_caches;
	struct explain_known known[KNOWN];
};

int run_explain_new(struct run_explain **ret, const struct run *r)
{
	struct run_explain *e = calloc(1, sizeof(*e));
	auto_buffer mounts = { 0 };
	int err = 0;

	if (!e)
		return -ENOMEM;
	e->run = r;
	arena_init(&e->arena, BYTES_MAX);
	/* Without it nothing can be looked at. */
	if (r->options.explain)
		err = file_read("/proc/self/mountinfo", MOUNTS_BYTES_MAX, &mounts);
	if (err >= 0)
		err = run_explain_mounts_read(&e->mounts, &e->mounts_arena, buffer_text(&mounts));
	if (err < 0)
		run_explain_free(e);
	else
		*ret = e;
	return err;
}

static void seen(void *context, const struct sight *s);

/* Calls that wait fail. */
static void explain_unwatch(struct run_explain *e)
{
	listener_free(e->listener);
	witness_free(e->witness);
	e->listener = NULL;
	e->witness = NULL;
}

void run_explain_free(struct run_explain *e)
{
	if (!e)
		return;
	explain_unwatch(e);
	arena_deinit(&e->arena);
	arena_deinit(&e->mounts_arena);
	free(e);
}

int run_explain_watch(struct run_explain *e, int listener)
{
	int r;

	explain_unwatch(e);
	r = listener_new(&e->listener, listener);
	if (r == 0)
		r = witness_new(&e->witness, e->listener, seen, e);
	if (r < 0)
		explain_unwatch(e);
	return r;
}

int run_explain_fd(const struct run_explain *e)
{
	return e && e->listener ? listener_fd(e->listener) : -1;
}

const struct denials *run_explain_denials(const struct run *r)
{
	return &r->explain->denials;
}

uint64_t run_explain_missed(const struct run *r)
{
	return r->explain->missed;
}

uint64_t run_explain_now(const struct run *r)
{
	return r->explain ? r->explain->clock : 0;
}

bool run_explain_acts(const struct run *r, const char *path)
{
	return run_explain_mounts_act(&r->explain->mounts, path);
}

size_t explain_read(const char *file, char *out, size_t size)
{
	auto_fd fd = open(file, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, out, size - 1);

	out[n > 0 ? n : 0] = '\0';
	return n > 0 ? (size_t)n : 0;
}

/* Keeping */

/* Not known yet: names are copied. */
static struct denial *explain_append(struct run_explain *e, const struct denial *d)
{
	struct denial copy = *d;
	const char **texts[] = { &copy.path, &copy.program, &copy.said, &copy.remedy };

	if (e->denials.n == DENIALS_MAX)
		return NULL;
	for (size_t i = 0; i < ROWS(texts); i++) {
		*texts[i] = arena_strdup(&e->arena, *texts[i] ? *texts[i] : "");
		if (!*texts[i])
			return NULL;
	}
	copy.count = 0;
	if (ARENA_PUSH(&e->arena, e->denials.items, e->denials.n, e->denials.cap, copy) < 0)
		return NULL;
	return &e->denials.items[e->denials.n - 1];
}

static void explain_count(struct run_explain *e, struct denial *d)
{
	d->count++;
	d->last = ++e->clock;
}

/* Its place and 1, or 0 if there is no room for it. */
static uint32_t explain_keep(struct run_explain *e, const struct denial *d)
{
	struct denial *item = NULL;

	for (size_t i = 0; !item && i < e->denials.n; i++) {
		const struct denial *known = &e->denials.items[i];

		if (known->kind == d->kind && strcmp(known->path, d->path) == 0)
			item = &e->denials.items[i];
	}
	if (!item)
		item = explain_append(e, d);
	if (!item) {
		e->missed++;
		return 0;
	}
	item->is_look = item->is_look && d->is_look;
	item->is_quiet = item->is_quiet && d->is_quiet;
	item->is_moot = item->is_moot && (d->is_look || d->is_moot);
	item->is_folder = item->is_folder || d->is_folder;
	item->is_replaced = item->is_replaced && d->is_replaced;
	item->is_linked = item->is_linked && d->is_linked;
	item->is_exact = item->is_exact || d->is_exact;
	explain_count(e, item);
	return (uint32_t)(item - e->denials.items) + 1;
}

bool run_explain_found(const struct run *r, const char *name)
{
	const struct run_explain *e = r->explain;

	const char *slash = r->n_argv ? strrchr(r->argv[0], '/') : NULL;

	/* What was not started is not explained here. */
	if (r->n_argv && strcmp(slash ? slash + 1 : r->argv[0], name) == 0)
		return true;
	for (size_t i = 0; i < e->n_found; i++)
		if (strcmp(e->found[i], name) == 0)
			return true;
	return false;
}

/* Seeing */

/* An address is as good as a name; 0 stands for "nothing". */
static uint64_t explain_hash_of(const struct sight *s)
{
	uint64_t hash = HASH_START;

	hash = hash_bytes(hash, &s->kind, sizeof(s->kind));
	hash = hash_bytes(hash, &s->extra, sizeof(s->extra));
	hash = hash_bytes(hash, &s->itself, sizeof(s->itself));
	if (s->path)
		hash = hash_bytes(hash, s->path, strlen(s->path));
	if (s->address)
		hash = hash_bytes(hash, s->address, sizeof(*s->address));
	return hash ? hash : 1;
}

/*
 * A program that finds no cache of its own makes one, in the sandbox's private home: it looked for
 * that folder and those around it, and does without what the host has there. What it looks for in a
 * cache that it has made is in that of the host, perhaps, and no reason to fail.
 */
static bool explain_is_in_own_cache(const struct run_explain *e, const char *path)
{
	for (size_t i = 0; i < e->n_caches; i++)
		if (path_is_below(path, e->caches[i]))
			return true;
	return false;
}

static void explain_made(struct run_explain *e, const char *path)
{
	const char *home = e->run->load.variables.values[VARIABLE_HOME];
	const size_t len = home ? strlen(home) : 0;

	if (len > 0 && path_is_below(path, home) && strncmp(path + len, "/.cache/", 8) == 0 &&
		!explain_is_in_own_cache(e, path) && e->n_caches < CACHES_MAX) {
		e->caches[e->n_caches] = arena_strdup(&e->arena, path);
		e->n_caches += e->caches[e->n_caches] != NULL;
	}
	for (size_t i = 0; i < e->denials.n; i++) {
		struct denial *d = &e->denials.items[i];

		if (d->kind == DENIAL_READ && d->is_look && d->is_folder &&
			path_is_below(path, d->path))
			d->is_quiet = d->is_moot = true;
	}
}

static void seen(void *context, const struct sight *s)
{
	struct run_explain *e = context;
	uint64_t hash = explain_hash_of(s);
	struct explain_known *known = &e->known[hash % KNOWN];
	char path[PATH_BYTES], comm[64], name[NAME_BYTES];
	struct denial d;
	int r;

	/* By its flags, who asks is not known. */
	if (known->hash == hash && s->kind != NOTIFY_NAMESPACE) {
		if (known->denial)
			explain_count(e, &e->denials.items[known->denial - 1]);
		return;
	}
	/* Nothing can be compared with the inside yet. */
	if (s->root < 0)
		return;
	*known = (struct explain_known){ .hash = hash };
	r = run_explain_judge(e->run, s, &d, path);
	if (r == EXPLAIN_DENIED) {
		/* The last name that a process gave itself, which is the program's for most. */
		(void)snprintf(comm, sizeof(comm), "/proc/%d/comm", (int)s->pid);
		explain_read(comm, name, sizeof(name));
		name[strcspn(name, "\n")] = '\0';
		d.program = name;
		if (d.kind == DENIAL_READ && explain_is_in_own_cache(e, path))
			d.is_quiet = d.is_moot = true;
		known->denial = explain_keep(e, &d);
	} else if (r == EXPLAIN_MADE) {
		explain_made(e, path);
	} else if (r == EXPLAIN_RUNS) {
		const char *program = strrchr(s->path, '/') ? run_explain_name(s->path) : s->path;

		/* Beyond what there is room for, some are taken for missing that were found. */
		if (e->n_found == FOUND_MAX || run_explain_found(e->run, program))
			return;
		program = arena_strdup(&e->arena, program);
		if (program)
			e->found[e->n_found++] = program;
	}
}

void run_explain_dispatch(struct run_explain *e)
{
	if (listener_dispatch(e->listener) < 0)
		explain_unwatch(e);
}

/* Hosts */

void run_explain_heard(struct run_explain *e, const struct record *record)
{
	char target[PATH_BYTES];
	const struct denial d = { .kind = DENIAL_CONNECT,
		.path = target,
		.program = record->program,
		.is_exact = true,
		.said = record->reason,
		.remedy = record->remedy };
	int n = -1;

	if (!e || record->kind != RECORD_DENIED)
		return;
	if (record->dns)
		n = snprintf(target, sizeof(target), "%s:%u", record->target,
			run_network_port(record, e->run->argv, e->run->n_argv));
	else
		n = snprintf(target, sizeof(target), "%s", record->target);
	if (n > 0 && n < (int)sizeof(target))
		(void)explain_keep(e, &d);
}

void run_explain_refused(struct run_explain *e, enum operation op, const char *path)
{
	const struct denial d = { .kind = op == OPERATION_EXEC ? DENIAL_EXEC : DENIAL_READ,
		.path = path,
		.is_exact = true };

	if (e)
		(void)explain_keep(e, &d);
}
