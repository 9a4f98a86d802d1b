/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/audit/source.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "audit/field.h"
#include "audit/place.h"
#include "base/array.h"
#include "base/buffer.h"
#include "base/clock.h"
#include "base/fd.h"
#include "cli/audit/figures.h"
#include "host/account.h"

#define HOW_TO_WRITE \
	"`corral run --audit FILE -- COMMAND` writes one; with `--audit default`, your own"

int audit_source_find(struct call *c, size_t i, const char **ret)
{
	auto_buffer place = { 0 };
	int r = i < c->n ? 0 : audit_place(&place, c->error);

	if (r < 0)
		return r;
	*ret = i < c->n ? c->words[i] : arena_strdup(c->arena, buffer_text(&place));
	return *ret && !place.failed ? 0 : error_no_memory(c->error);
}

void audit_source_name(const char *path, const char *suffix, struct buffer *out)
{
	char real[PATH_MAX];
	struct stat st;

	if (lstat(path, &st) == 0 && S_ISLNK(st.st_mode) && realpath(path, real))
		path = real;
	buffer_printf(out, "%s%s", path, suffix);
}

int audit_source_beside(struct call *c, const char *path, const char *suffix, const char **ret)
{
	auto_buffer name = { 0 };

	audit_source_name(path, suffix, &name);
	*ret = name.failed ? NULL : arena_strdup(c->arena, buffer_text(&name));
	return *ret ? 0 : error_no_memory(c->error);
}

/* What SQLite said is right, but not what a person can act on. */
static int audit_source_explain(struct call *c, const char *path, int r)
{
	static const char magic[16] = "SQLite format 3";
	auto_fd fd = -1;
	auto_buffer wal = { 0 };
	char head[sizeof(magic)];
	struct stat st;

	if (stat(path, &st) < 0) {
		if (errno != ENOENT && errno != ENOTDIR)
			return error_set(c->error, -errno, NULL, "%s: %s", path, strerror(errno));
		(void)error_set(c->error, -ENOENT, NULL, "no audit log at %s", path);
		error_hint(c->error, HOW_TO_WRITE);
		return -ENOENT;
	}
	if (!S_ISREG(st.st_mode))
		return error_set(
			c->error, -EINVAL, NULL, "%s: not an audit log: not a regular file", path);
	if (access(path, R_OK) < 0) {
		char owner[ACCOUNT_NAME_BYTES] = "another user";

		(void)account_name("/etc/passwd", st.st_uid, owner);
		(void)error_set(c->error, -EACCES, NULL, "%s: permission denied", path);
		if (st.st_uid != geteuid())
			error_hint(
				c->error, "it belongs to %s: run the command as this user", owner);
		return -EACCES;
	}
	audit_source_name(path, "-wal", &wal);
	/* SQLite keeps an index of the write-ahead log in a file beside it, also for who only
	 * reads, and has no place for it. */
	if (r != -EBADMSG && r != -ENOTSUP && r != -ENOMEM && !wal.failed &&
		access(wal.data, F_OK) == 0) {
		(void)error_set(c->error, r, NULL,
			"%s: %s-wal exists, so another process may be writing; reading both "
			"requires write access to the folder",
			path, path);
		error_hint(c->error, "run the command as the owner of the log, or copy both "
				     "files to your own folder and read the copy");
	}
	if (r == -EBADMSG)
		fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	/* Not one either: a log whose first bytes were damaged. */
	if (r == -EBADMSG && (fd < 0 || read(fd, head, sizeof(head)) != (ssize_t)sizeof(head) ||
				     memcmp(head, magic, sizeof(magic)) != 0)) {
		(void)error_set(c->error, r, NULL, "%s: %s", path,
			st.st_size ? "not an audit log" : "not an audit log: the file is empty");
		error_hint(c->error, HOW_TO_WRITE);
	}
	return r;
}

int audit_source_open(struct call *c, const char *path, struct audit_log **ret)
{
	struct stat st;
	int r;

	/* A pipe or a device would keep us waiting, or do worse. */
	if (stat(path, &st) < 0 || !S_ISREG(st.st_mode))
		return audit_source_explain(c, path, -ENOENT);
	r = audit_log_open(ret, path, c->error);
	return r < 0 ? audit_source_explain(c, path, r) : 0;
}

/* The records of it that are wanted */

_Static_assert((int)AUDIT_ACTION_COUNT <= 32 && (int)AUDIT_DECISION_COUNT <= 32, "a bit for each");

/* The words of the option, with commas between them, into a set.
 * "net.connect" is one, "net" all that begin so. */
int audit_filter_words(struct call *c, const struct options_row *row, const char *value)
{
	const char *const *names = row->is.words;
	uint32_t *set = row->target;

	for (;; value++) {
		const size_t len = strcspn(value, ",");
		uint32_t meant = 0;
		unsigned i;

		for (i = 0; names[i]; i++) {
			if (len && strncmp(value, names[i], len) == 0 &&
				(names[i][len] == '\0' || names[i][len] == '.'))
				meant |= UINT32_C(1) << i;
		}
		if (!meant) {
			const char *word = arena_strndup(c->arena, value, len);

			return options_unknown_word(c, row, word ? word : value, names, i);
		}
		*set |= meant;
		value += len;
		if (!*value)
			return 0;
	}
}

int audit_filter_time(struct call *c, const struct options_row *row, const char *value)
{
	struct audit_filter *f = row->target;
	const bool is_end = strcmp(row->is.name, "until") == 0;

	if (audit_time_parse(value, is_end ? AUDIT_TIME_ENDS : AUDIT_TIME_BEGINS,
		    clock_ns(CLOCK_REALTIME), is_end ? &f->until_ns : &f->since_ns) == 0)
		return f->until_ns && f->since_ns > f->until_ns
			       ? options_misused(c, "--until is earlier than --since")
			       : 0;
	(void)error_set(c->error, -EINVAL, NULL, "invalid value for --%s: `%s` is not a time",
		row->is.name, value);
	error_hint(c->error, "expected 10m, 2h or 3d (ago), 14:30, 2026-01-31, '2026-01-31 "
			     "14:30' or 2026-01-31T14:30:00Z");
	return -EINVAL;
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

const char *const audit_filter_requests[] = { "yes", "no", "only", NULL };

/* A request to the API of corrald, as the daemon records it. */
static bool audit_filter_is_request(const struct audit_event *v)
{
	return v->action == AUDIT_SERVICE && strcmp(v->program, "corrald-http") == 0;
}

static bool audit_filter_requests_fit(int requests, const struct audit_event *v)
{
	if (requests == AUDIT_REQUESTS_YES)
		return true;
	return audit_filter_is_request(v) == (requests == AUDIT_REQUESTS_ONLY);
}

/* One reading. */
struct filter_pass {
	const struct audit_filter *filter;
	audit_log_visit *visit;
	void *context;
	uint64_t left;
};

/* A whole id; or its beginning, with `*`, or with the `…` that a line has where it was cut. */
static bool audit_filter_session_fits(const char *wanted, const char *session)
{
	const size_t len = strlen(wanted);

	if (!strcmp(wanted, session))
		return true;
	if (len >= 1 && wanted[len - 1] == '*')
		return strncmp(wanted, session, len - 1) == 0;
	return len >= 3 && !strcmp(wanted + len - 3, "…") && strncmp(wanted, session, len - 3) == 0;
}

enum { ENOUGH = 1 };

static int audit_filter_visit(void *context, const struct audit_row *row)
{
	struct filter_pass *p = context;
	const struct audit_filter *f = p->filter;
	const struct audit_event *v = &row->event;
	int r;

	if ((f->actions && !(f->actions >> v->action & 1)) ||
		(f->decisions && !(f->decisions >> v->decision & 1)) ||
		(f->session && !audit_filter_session_fits(f->session, v->session)) ||
		!audit_filter_requests_fit(f->requests, v))
		return 0;
	r = p->visit(p->context, row);
	if (r)
		return r;
	return --p->left ? 0 : ENOUGH;
}

int audit_filter_read(struct audit_log *l, const struct audit_filter *f, uint64_t from, uint64_t to,
	audit_log_visit *visit, void *context, struct error *e)
{
	const uint64_t below = f->before ? f->before - 1 : 0;
	const struct audit_query query = {
		.from = from,
		.to = below && (to == 0 || to > below) ? below : to,
		.since_ns = f->since_ns,
		.until_ns = f->until_ns,
		.action = -1,
		.decision = -1,
		.target = f->target,
		.newest_first = f->newest,
	};
	struct filter_pass p = { f, visit, context, f->limit ? f->limit : UINT64_MAX };
	/* Below the first there is none. */
	int r = f->before == 1 ? 0 : audit_log_read(l, &query, audit_filter_visit, &p, e);

	return r == ENOUGH && !p.left ? 0 : r;
}

void audit_filter_offer(struct call *c, struct buffer *out)
{
	(void)c;
	buffer_adds(out, "command\t\nfs\t\nnet\t\n");
}
