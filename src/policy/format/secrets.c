/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `secrets`: which secrets of the vault may go where.
 *
 *     secrets:
 *       GITHUB_TOKEN: {hosts: ["api.github.com:443"], in: [header]}
 *       NPM_TOKEN: {hosts: ["registry.npmjs.org:443"], programs: [/usr/bin/curl]}
 *       MAPS_KEY:
 *         - {hosts: ["maps.example.com:443"], in: [query]}
 *         - {hosts: ["files.example.com:443"]}
 *
 * Each host with each place, and each program, is an entry of its own (match/secret.h): the union
 * and the meet of two policies are those of their entries, exactly. A list of maps is how a name is
 * printed whose hosts have different places. Nothing that would stand for more than it says is
 * read: no pattern, no list that is empty, no source of a value.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/buffer.h"
#include "base/path.h"
#include "policy/format/internal.h"
#include "policy/match/secret.h"

/* Of one file: a run can be lent fewer. */
enum { SECRETS_MAX = 1024, SECRETS_PROGRAMS_MAX = 32 };

/* Reading */

struct secret_reading {
	struct permissions *p;
	const char *name;
	bool places[SECRET_PLACES];
	const char *programs[SECRETS_PROGRAMS_MAX];
	size_t n_programs; /* 0: any */
};

static int secrets_read_place(const struct field *f, void *into)
{
	struct secret_reading *s = into;
	size_t place = 0;
	int r = field_word(f, secret_place_names, SECRET_PLACES, &place);

	if (r == 0)
		s->places[place] = true;
	return r;
}

static int secrets_read_places(const struct field *f, void *into)
{
	int r = field_read_list(f, secrets_read_place, into);

	if (r == 0 && f->node->count == 0)
		return field_fail(f, "is empty; leave it out for `header`");
	return r;
}

static int secrets_read_program(const struct field *f, void *into)
{
	struct secret_reading *s = into;
	const char *program = NULL;
	int r = field_text(f, &program);

	if (r == 0 && !(program[0] == '/' && program[1] && path_is_plain(program, strlen(program))))
		return field_fail(f,
			"`%s` is no program: write its absolute path, without a pattern", program);
	if (r == 0 && s->n_programs == SECRETS_PROGRAMS_MAX)
		return field_fail(f, "more than %d programs", SECRETS_PROGRAMS_MAX);
	if (r == 0)
		s->programs[s->n_programs++] = program;
	return r;
}

static int secrets_read_programs(const struct field *f, void *into)
{
	int r = field_read_list(f, secrets_read_program, into);

	/* It could be taken for any. */
	if (r == 0 && f->node->count == 0)
		return field_fail(f, "is empty: no program would use the secret; leave it out for "
				     "any program");
	return r;
}

/* `hosts` is read last, when the places and programs are known. */
static const struct field_key secret_keys[] = {
	FIELD("hosts", WORDS, field_ignore, .is.required = true),
	FIELD("in", WORDS, secrets_read_places),
	FIELD("programs", WORDS, secrets_read_programs),
};
static const struct field_table secret_table = FIELD_TABLE(secret_keys);

/* program NULL: any. */
static int secrets_add(const struct field *f, struct secret_reading *s, const char *host,
	unsigned place, const char *program)
{
	struct location where = field_location(f);
	const char *entry;
	int r;

	if (s->p->secrets.n == SECRETS_MAX)
		return field_fail(f, "more than %d hosts of secrets", SECRETS_MAX);
	entry = arena_printf(s->p->arena, "%s=%s,%s%s%s", s->name, host, secret_place_names[place],
		program ? "," : "", program ? program : "");
	r = entry ? secret_spell(OPERATION_SECRET, entry, s->p->arena, &entry, &where, f->error)
		  : -ENOMEM;
	return r < 0 ? r : permissions_add(s->p, &s->p->secrets, entry, &where);
}

static int secrets_read_host(const struct field *f, void *into)
{
	struct secret_reading *s = into;
	const char *host = NULL;
	int r = field_text(f, &host);

	if (r == 0 && strchr(host, ','))
		return field_fail(f, "`%s` is not one host with one port", host);
	for (unsigned i = 0; r == 0 && i < SECRET_PLACES; i++) {
		if (!s->places[i])
			continue;
		if (s->n_programs == 0)
			r = secrets_add(f, s, host, i, NULL);
		for (size_t k = 0; r == 0 && k < s->n_programs; k++)
			r = secrets_add(f, s, host, i, s->programs[k]);
	}
	return field_result(f, r);
}

static int secrets_read_grant(const struct field *f, void *into)
{
	struct secret_reading s = *(const struct secret_reading *)into;
	struct field hosts;
	bool is_said = false;
	int r = field_read_map(f, &secret_table, &s);

	if (r < 0)
		return r;
	for (size_t i = 0; i < SECRET_PLACES; i++)
		is_said = is_said || s.places[i];
	s.places[0] = s.places[0] || !is_said;
	hosts = field_child(f, node_get(f->node, "hosts"));
	r = field_read_list(&hosts, secrets_read_host, &s);
	if (r == 0 && hosts.node->count == 0)
		return field_fail(&hosts, "is empty: the secret would go nowhere");
	return r;
}

static int secrets_read_one(const struct field *f, void *into)
{
	struct secret_reading s = { .p = into, .name = f->node->key };
	int r;

	if (!secret_name_is_valid(s.name, strlen(s.name)))
		return field_fail(f,
			"the name of a secret has letters, digits, `_`, `.` and `-`, at most %d",
			SECRET_NAME_MAX);
	if (f->node->type != NODE_LIST)
		return secrets_read_grant(f, &s);
	r = field_read_list(f, secrets_read_grant, &s);
	if (r == 0 && f->node->count == 0)
		return field_fail(f, "is empty: the secret would go nowhere");
	return r;
}

int permissions_read_secrets(const struct field *f, void *into)
{
	static const struct field_table names = { .other = secrets_read_one };

	return field_read_map(f, &names, into);
}

/* Printing */

static bool secrets_same_name(const struct grant *a, const struct grant *b)
{
	struct secret_entry x, y;

	secret_split(a->all[0], &x);
	secret_split(b->all[0], &y);
	return x.name_len == y.name_len && memcmp(x.name, y.name, x.name_len) == 0;
}

/* One host of a name, with its programs for each place: with commas, sorted; "": any; NULL: it is
 * not granted for that place. */
struct secret_host {
	struct secret_entry entry;
	const char *programs[SECRET_PLACES];
};

/* How hosts are grouped: those with the same places for the same programs. */
struct secret_group {
	unsigned places;
	const char *programs;
};

/* The programs for one place, of the sorted entries of one host: any, if one entry says so. */
static int secrets_programs(
	const struct grant *items, size_t n, unsigned place, struct arena *a, const char **ret)
{
	auto_buffer list = { 0 };
	bool is_there = false;

	for (size_t i = 0; i < n; i++) {
		struct secret_entry s;

		secret_split(items[i].all[0], &s);
		if (s.place != place)
			continue;
		is_there = true;
		if (!*s.program) {
			buffer_clear(&list);
			break;
		}
		buffer_printf(&list, "%s%s", list.len ? "," : "", s.program);
	}
	*ret = is_there ? arena_strdup(a, buffer_text(&list)) : NULL;
	return is_there && (list.failed || !*ret) ? -ENOMEM : 0;
}

/* The hosts of the sorted entries of one name. NULL: no memory. */
static struct secret_host *secrets_hosts(
	const struct grant *items, size_t n, struct arena *a, size_t *ret_n)
{
	struct secret_host *all = arena_calloc(a, n, sizeof(*all));
	size_t count = 0;

	for (size_t i = 0, run; all && i < n; i += run, count++) {
		struct secret_host *h = &all[count];
		struct secret_entry one;

		secret_split(items[i].all[0], &h->entry);
		for (run = 1; i + run < n; run++) {
			secret_split(items[i + run].all[0], &one);
			one.place = h->entry.place;
			if (!secret_is_same_place(&h->entry, &one))
				break;
		}
		for (unsigned place = 0; place < SECRET_PLACES; place++)
			if (secrets_programs(items + i, run, place, a, &h->programs[place]) < 0)
				return NULL;
	}
	*ret_n = count;
	return all;
}

/* The places of a host that have these programs. */
static unsigned secrets_places(const struct secret_host *h, const char *programs)
{
	unsigned places = 0;

	for (unsigned i = 0; i < SECRET_PLACES; i++)
		if (h->programs[i] && strcmp(h->programs[i], programs) == 0)
			places |= 1U << i;
	return places;
}

static void secrets_append(struct node *list, struct node *child, bool *failed)
{
	if (!list || !child || !node_append(list, child))
		*failed = true;
}

static void secrets_append_text(
	struct arena *a, struct node *list, const char *text, size_t len, bool *failed)
{
	const char *copy = arena_strndup(a, text, len);

	secrets_append(list, copy ? node_new_text(a, copy) : NULL, failed);
}

static void secrets_put_programs(
	struct arena *a, struct node *map, const char *programs, bool *failed)
{
	struct node *list = *programs ? node_new(a, NODE_LIST) : NULL;

	if (!*programs)
		return;
	while (*programs) {
		const size_t len = strcspn(programs, ",");

		secrets_append_text(a, list, programs, len, failed);
		programs += len + (programs[len] == ',');
	}
	if (!list || !node_put(a, map, "programs", list))
		*failed = true;
}

/* {hosts, in, programs} of all hosts of that group. NULL: it failed. */
static struct node *secrets_node_of(const struct secret_host *all, size_t n,
	const struct secret_group *g, struct arena *a, bool *failed)
{
	struct node *map = node_new(a, NODE_MAP), *hosts = node_new(a, NODE_LIST);
	struct node *in = node_new(a, NODE_LIST);

	for (size_t i = 0; i < n; i++)
		if (secrets_places(&all[i], g->programs) == g->places)
			secrets_append_text(
				a, hosts, all[i].entry.host, all[i].entry.host_len, failed);
	for (unsigned i = 0; i < SECRET_PLACES; i++)
		if (g->places >> i & 1)
			secrets_append(in, node_new_text(a, secret_place_names[i]), failed);
	if (!map || !hosts || !in || !node_put(a, map, "hosts", hosts) ||
		!node_put(a, map, "in", in))
		*failed = true;
	if (!*failed)
		secrets_put_programs(a, map, g->programs, failed);
	return *failed ? NULL : map;
}

static int secrets_order_groups(const void *a, const void *b)
{
	const struct secret_group *x = a, *y = b;

	return x->places != y->places ? (x->places > y->places) - (x->places < y->places)
				      : strcmp(x->programs, y->programs);
}

/* All groups that the hosts are in, each once, sorted. NULL: no memory. */
static struct secret_group *secrets_groups(
	const struct secret_host *hosts, size_t n, struct arena *a, size_t *ret_n)
{
	struct secret_group *all = arena_calloc(a, n * SECRET_PLACES, sizeof(*all));
	size_t count = 0, kept = 0;

	for (size_t i = 0; all && i < n * SECRET_PLACES; i++) {
		const struct secret_host *h = &hosts[i / SECRET_PLACES];
		const char *programs = h->programs[i % SECRET_PLACES];

		if (programs)
			all[count++] =
				(struct secret_group){ secrets_places(h, programs), programs };
	}
	if (!all)
		return NULL;
	qsort(all, count, sizeof(*all), secrets_order_groups);
	for (size_t i = 0; i < count; i++)
		if (kept == 0 || secrets_order_groups(&all[kept - 1], &all[i]) != 0)
			all[kept++] = all[i];
	*ret_n = kept;
	return all;
}

/* One map, or a list of them where hosts have different places or programs. */
static struct node *secrets_node_of_name(
	const struct grant *items, size_t n, struct arena *a, bool *failed)
{
	struct node *list = node_new(a, NODE_LIST), *first = NULL;
	size_t n_hosts = 0, n_groups = 0;
	const struct secret_host *hosts = secrets_hosts(items, n, a, &n_hosts);
	const struct secret_group *groups =
		hosts ? secrets_groups(hosts, n_hosts, a, &n_groups) : NULL;

	*failed = *failed || !list || !groups;
	for (size_t i = 0; !*failed && i < n_groups; i++) {
		struct node *one = secrets_node_of(hosts, n_hosts, &groups[i], a, failed);

		if (i == 1)
			secrets_append(list, first, failed);
		if (i > 0)
			secrets_append(list, one, failed);
		first = first ? first : one;
	}
	*failed = *failed || !first;
	return *failed ? NULL : n_groups > 1 ? list : first;
}

struct node *permissions_secrets_node(const struct grant_list *sorted, struct arena *a)
{
	struct node *map = node_new(a, NODE_MAP);
	bool failed = !map;

	for (size_t i = 0, n = 0; !failed && i < sorted->n; i += n) {
		const struct grant *first = &sorted->items[i];
		struct node *one;
		const char *name = arena_strndup(a, first->all[0], strcspn(first->all[0], "="));

		n = 1;
		while (i + n < sorted->n && secrets_same_name(first, first + n))
			n++;
		one = secrets_node_of_name(first, n, a, &failed);
		failed = failed || !name || !one || !node_put(a, map, name, one);
	}
	return failed ? NULL : map;
}
