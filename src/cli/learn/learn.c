/* SPDX-License-Identifier: Apache-2.0 */
/* The rounds: what is added after each, and when it is enough. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/file.h"
#include "base/path.h"
#include "cli/learn/internal.h"

/* What was asked for, by how much it looks like the reason of a failure. A round adds the first of
 * these of which there are any. */
enum learn_weight { LEARN_USED, LEARN_LOOKED, LEARN_QUIET, LEARN_WEIGHTS };

static enum learn_weight learn_weight_of(const struct denial *d)
{
	return d->is_quiet ? LEARN_QUIET : d->is_look ? LEARN_LOOKED : LEARN_USED;
}

static bool learn_is_top(const char *path)
{
	return path[0] == '/' && !strchr(path + 1, '/');
}

/* Keeps what a round saw, once. */
static int learn_collect(struct learn *l, const struct explain_report *report)
{
	l->missed += report->missed;
	for (size_t i = 0; i < report->seen.n; i++) {
		struct learn_sight sight = { .denial = report->seen.items[i] };
		struct denial *d = &sight.denial;
		struct learn_sight *known = NULL;

		/* /srv, /var, /mnt: too much of a machine. */
		if (d->state == DENIAL_OPEN && d->is_folder && learn_is_top(d->path))
			d->state = DENIAL_BROAD;
		for (size_t k = 0; !known && k < l->n; k++)
			if (l->sights[k].denial.kind == d->kind &&
				strcmp(l->sights[k].denial.path, d->path) == 0)
				known = &l->sights[k];
		if (known) {
			known->denial.count += d->count;
			known->denial.is_folder |= d->is_folder;
			known->denial.is_look &= d->is_look;
			known->denial.is_quiet &= d->is_quiet;
		} else if (l->n == LEARN_SEEN_MAX) {
			l->missed++;
		} else if (ARENA_PUSH(l->call->arena, l->sights, l->n, l->cap, sight) < 0) {
			return error_no_memory(l->call->error);
		}
	}
	return 0;
}

/* Lines of what was accepted, and of candidates of one weight, gathered. */
static int learn_fold(struct learn *l, int weight, bool hosts, struct denials *ret)
{
	struct denial *items = arena_calloc(l->call->arena, l->n + 1, sizeof(*items));
	struct denials all = { .items = items };

	if (!items)
		return error_no_memory(l->call->error);
	for (size_t i = 0; i < l->n; i++) {
		const struct learn_sight *s = &l->sights[i];
		const bool is_candidate = weight >= 0 && learn_consent_may(l, &s->denial) &&
					  !s->is_refused &&
					  (int)learn_weight_of(&s->denial) == weight &&
					  (s->denial.kind == DENIAL_CONNECT) == hosts;

		if (s->is_accepted || is_candidate)
			items[all.n++] = s->denial;
	}
	if (explain_fold(&l->place, &all, l->call->arena) < 0)
		return error_no_memory(l->call->error);
	*ret = all;
	return 0;
}

static bool learn_covers(const struct denial *line, const struct denial *d)
{
	return (line->kind == d->kind || (line->kind == DENIAL_WRITE && d->kind == DENIAL_READ)) &&
	       (strcmp(line->path, d->path) == 0 ||
		       (line->is_folder && path_is_below(d->path, line->path)));
}

/* All that the line covers is accepted, or refused. Returns how many were new. */
static size_t learn_settle(
	struct learn *l, const struct denial *line, int weight, bool hosts, bool agreed)
{
	size_t n = 0;

	for (size_t i = 0; i < l->n; i++) {
		struct learn_sight *s = &l->sights[i];

		if (s->is_accepted || s->is_refused || !learn_consent_may(l, &s->denial) ||
			(int)learn_weight_of(&s->denial) != weight ||
			(s->denial.kind == DENIAL_CONNECT) != hosts ||
			!learn_covers(line, &s->denial) || (!agreed && l->is_named_only))
			continue;
		*(agreed ? &s->is_accepted : &s->is_refused) = true;
		n += agreed;
	}
	return n;
}

/* Hosts that --net names count from the start: what is read before one is granted could leave by it
 * afterwards. */
static bool learn_has_hosts(const struct learn *l)
{
	bool has = l->base_has_hosts || l->with.n || l->net.n;

	for (size_t i = 0; !has && i < l->n; i++)
		has = l->sights[i].is_accepted && l->sights[i].denial.kind == DENIAL_CONNECT;
	return has;
}

/* Of one weight: hosts first, since files need an answer where there are any. */
static int learn_widen_by(struct learn *l, int weight, size_t *ret_new)
{
	static const bool order[] = { true, false };

	for (size_t k = 0; k < ROWS(order); k++) {
		struct denials lines = { 0 };
		const bool has_hosts = learn_has_hosts(l);
		int r = learn_fold(l, weight, order[k], &lines);

		if (r < 0)
			return r;
		for (size_t i = 0; i < lines.n; i++) {
			const struct denial *line = &lines.items[i];

			/* What was accepted already is in the fold, too: it is not asked twice. */
			if ((line->kind == DENIAL_CONNECT) != order[k] || learn_covering(l, line))
				continue;
			*ret_new += learn_settle(l, line, weight, order[k],
				lines.n <= LEARN_LINES_MAX && learn_agrees(l, line, has_hosts));
		}
	}
	return 0;
}

/* 1: the policy has become wider. */
static int learn_widen(struct learn *l, int last)
{
	size_t n_new = 0;
	int r = 0;

	for (int weight = LEARN_USED; r == 0 && n_new == 0 && weight <= last; weight++)
		r = learn_widen_by(l, weight, &n_new);
	if (r == 0)
		r = learn_fold(l, -1, false, &l->lines);
	if (r == 0)
		r = learn_text_make(l);
	return r < 0 ? r : n_new > 0;
}

static int learn_prove(struct learn *l)
{
	struct explain_report report;
	int r = learn_round(l, false, &report);

	l->is_proven = r == 0 && report.status == (int)l->status;
	return r;
}

int learn_rounds(struct learn *l)
{
	while (!l->is_proven && l->n_rounds < l->rounds) {
		struct explain_report report;
		int r = learn_round(l, true, &report);

		if (r == 0)
			r = learn_collect(l, &report);
		if (r < 0)
			return r;
		l->n_rounds++;
		l->is_passed = report.status == (int)l->status;
		/* What it asked for and did without is added only where the user named it. */
		l->is_named_only = l->is_passed && !l->all;
		r = learn_widen(l, l->is_passed ? LEARN_USED : LEARN_QUIET);
		if (r < 0 || (r == 0 && !l->is_passed))
			return r;
		if (r == 0)
			r = learn_prove(l);
		if (r < 0)
			return r;
	}
	return 0;
}
