/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/audit/filter.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/audit/time.h"

_Static_assert((int)AUDIT_ACTION_COUNT <= 32 && (int)AUDIT_DECISION_COUNT <= 32, "a bit for each");

/* Names that a word can mean, by number. */
typedef const char *name_of(unsigned i);

static const char *action_name(unsigned i)
{
	return audit_action_name((enum audit_action)i);
}

static const char *decision_name(unsigned i)
{
	return audit_decision_name((enum audit_decision)i);
}

/* "net.connect", or "net" for all that begin so. */
static bool word_means(const char *word, size_t len, const char *name)
{
	return strncmp(word, name, len) == 0 && (name[len] == '\0' || name[len] == '.');
}

static int audit_filter_unknown(
	struct call *c, const struct options_row *row, const char *word, name_of *name, unsigned n)
{
	const char *names[32];

	for (unsigned i = 0; i < n; i++)
		names[i] = name(i);
	return options_unknown_word(c, row, word, names, n);
}

/* Words with commas between them, into a set. */
static int take_words(struct call *c, const struct options_row *row, const char *value,
	name_of *name, unsigned n, uint32_t *set)
{
	for (;;) {
		size_t len = strcspn(value, ",");
		uint32_t meant = 0;

		for (unsigned i = 0; i < n && len; i++)
			meant |= word_means(value, len, name(i)) ? UINT32_C(1) << i : 0;
		if (!meant) {
			const char *word = arena_strndup(c->arena, value, len);

			return audit_filter_unknown(c, row, word ? word : value, name, n);
		}
		*set |= meant;
		if (!value[len])
			return 0;
		value += len + 1;
	}
}

int audit_filter_action(struct call *c, const struct options_row *row, const char *value)
{
	struct audit_filter *f = row->target;

	return take_words(c, row, value, action_name, AUDIT_ACTION_COUNT, &f->actions);
}

int audit_filter_decision(struct call *c, const struct options_row *row, const char *value)
{
	struct audit_filter *f = row->target;

	return take_words(c, row, value, decision_name, AUDIT_DECISION_COUNT, &f->decisions);
}

static int take_time(struct call *c, const struct options_row *row, const char *value,
	enum audit_time_end end, uint64_t *ret_ns)
{
	const struct audit_filter *f = row->target;

	if (audit_time_parse(value, end, audit_time_now(), ret_ns) == 0)
		return f->until_ns && f->since_ns > f->until_ns
			       ? options_misused(c, "--until is before --since: nothing can fit")
			       : 0;
	(void)error_set(c->error, -EINVAL, NULL, "--%s: `%s` is no time", row->name, value);
	error_hint(c->error, "write 10m, 2h or 3d (ago), 14:30, 2026-01-31, "
			     "'2026-01-31 14:30' or 2026-01-31T14:30:00Z");
	return -EINVAL;
}

int audit_filter_since(struct call *c, const struct options_row *row, const char *value)
{
	struct audit_filter *f = row->target;

	return take_time(c, row, value, AUDIT_TIME_BEGINS, &f->since_ns);
}

int audit_filter_until(struct call *c, const struct options_row *row, const char *value)
{
	struct audit_filter *f = row->target;

	return take_time(c, row, value, AUDIT_TIME_ENDS, &f->until_ns);
}

int audit_filter_parse_number(const char *text, uint64_t *ret)
{
	unsigned long long n;
	char *end;

	errno = 0;
	n = strtoull(text, &end, 10);
	if (*text < '0' || *text > '9' || *end || errno || n == 0 || n > INT64_MAX)
		return -EINVAL;
	*ret = n;
	return 0;
}

int audit_filter_number(struct call *c, const struct options_row *row, const char *value)
{
	if (audit_filter_parse_number(value, row->target) < 0)
		return options_misused(c, "--%s: `%s` is no number from 1", row->name, value);
	return 0;
}

/* One reading. */
struct pass {
	const struct audit_filter *filter;
	audit_log_visit *visit;
	void *context;
	uint64_t left;
};

/* A whole id; or its beginning, with `*`, or with the `…` that a line has where it was cut. */
static bool session_matches(const char *wanted, const char *session)
{
	const size_t len = strlen(wanted);

	if (!strcmp(wanted, session))
		return true;
	if (len >= 1 && wanted[len - 1] == '*')
		return strncmp(wanted, session, len - 1) == 0;
	return len >= 3 && !strcmp(wanted + len - 3, "…") && strncmp(wanted, session, len - 3) == 0;
}

static bool is_wanted(const struct audit_filter *f, const struct audit_event *v)
{
	return (!f->actions || f->actions >> v->action & 1) &&
	       (!f->decisions || f->decisions >> v->decision & 1) &&
	       (!f->session || session_matches(f->session, v->session));
}

enum { ENOUGH = 1 };

static int visit_row(void *context, const struct audit_row *row)
{
	struct pass *p = context;
	int r;

	if (!is_wanted(p->filter, &row->event))
		return 0;
	r = p->visit(p->context, row);
	if (r)
		return r;
	return --p->left ? 0 : ENOUGH;
}

int audit_filter_read(struct audit_log *l, const struct audit_filter *f, uint64_t from, uint64_t to,
	audit_log_visit *visit, void *context, struct error *e)
{
	const struct audit_query query = {
		.from = from,
		.to = to,
		.since_ns = f->since_ns,
		.until_ns = f->until_ns,
		.action = -1,
		.decision = -1,
		.target = f->target,
		.newest_first = f->newest,
	};
	struct pass p = { f, visit, context, f->limit ? f->limit : UINT64_MAX };
	int r = audit_log_read(l, &query, visit_row, &p, e);

	return r == ENOUGH && !p.left ? 0 : r;
}
