/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Patterns as Seatbelt filters: the `(subpath "/x")` part of a rule. A list of filters is a union;
 * an empty one matches nothing.
 */
#include <stddef.h>

#include "base/arena.h"
#include "base/buffer.h"
#include "base/error.h"
#include "policy/match/glob.h"
#include "policy/permissions.h"
#include "policy/variable.h"

struct seatbelt_filters {
	const char **items;
	size_t n, cap;
};

/* What every translation needs; lives as long as one profile is written. */
struct seatbelt_context {
	struct arena *arena;
	const struct variables *vars;
	struct error *error;
	const struct location *where; /* of the pattern at hand; NULL: of none */
};

/* Each appends the filters of one pattern to ret; -EOPNOTSUPP with a sentence for what has none. */
typedef int seatbelt_filter_fn(
	struct seatbelt_context *c, const char *pattern, struct seatbelt_filters *ret);
seatbelt_filter_fn seatbelt_filter_path;
seatbelt_filter_fn seatbelt_filter_program;
seatbelt_filter_fn seatbelt_filter_host;
seatbelt_filter_fn seatbelt_filter_listen; /* a port */

/* The same for a whole list; an entry of several patterns becomes (require-all …). */
int seatbelt_filter_list(struct seatbelt_context *c, seatbelt_filter_fn *one,
	const struct grant_list *list, struct seatbelt_filters *ret);
/* The folders that lead to what a list of path patterns matches; the root itself is left out. */
int seatbelt_filter_ancestors(
	struct seatbelt_context *c, const struct grant_list *list, struct seatbelt_filters *ret);

/* Appends a copy of a filter. */
int seatbelt_filter_add(
	struct seatbelt_context *c, struct seatbelt_filters *to, const char *filter);
/* Tidies f. (require-any …), or the filter itself if there is one; NULL: none, or out of memory. */
const char *seatbelt_filter_any(struct seatbelt_context *c, struct seatbelt_filters *f);
/* Sorts, and drops doubles. */
void seatbelt_filter_tidy(struct seatbelt_filters *f);

/*
 * A true glob as one of Seatbelt's regular expressions, without the ^ and $ that tie its ends.
 *
 * Seatbelt matches bytes, `.` is any of them, and the glob's tokens have exact counterparts. The
 * text is for a #"…" literal, which takes backslashes as they are and cannot hold a quotation mark.
 *
 * -EDOM: it has a quotation mark, a control character, or a set that lists a backslash (whether a
 * backslash means itself inside brackets is told nowhere, so nothing is built on it).
 */
int seatbelt_regex_print(const struct glob_alternative *alt, struct buffer *out);
