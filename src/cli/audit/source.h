/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Which log is meant, what to tell where it cannot be read; and which of its records are wanted, as
 * options say it. What a query (audit/store/log.h) can hold goes into one; several actions or
 * decisions, and ids of which only the beginning is known, are looked at here.
 */
#include <stdbool.h>
#include <stdint.h>

#include "audit/store/log.h"
#include "cli/options.h"

/* The file that the i-th word names, or the user's own (audit/place.h) if there is none. */
int audit_source_find(struct call *c, size_t i, const char **ret);
/* A file beside the log: path with a suffix. Writers go where a link leads, and so does this. */
void audit_source_name(const char *path, const char *suffix, struct buffer *out);
/* The same, in the arena. */
int audit_source_beside(struct call *c, const char *path, const char *suffix, const char **ret);

/* audit_log_open(), with an error that says what to do. */
int audit_source_open(struct call *c, const char *path, struct audit_log **ret);

static inline void audit_source_closep(struct audit_log **l)
{
	audit_log_close(*l);
}
#define auto_audit_log __attribute__((cleanup(audit_source_closep))) struct audit_log

struct audit_filter {
	uint32_t actions, decisions; /* sets of bits; 0: any */
	const char *session, *target;
	uint64_t since_ns, until_ns; /* 0: no bound */
	uint64_t before;             /* only numbers below; 0: no bound */
	uint64_t limit;              /* 0: none */
	bool newest;
	int requests; /* to the daemon's own API: a place in audit_filter_requests */
};

/* By the name of the option: sets of words of the field (audit/field.h); a moment. */
options_taker audit_filter_words, audit_filter_time;
/* Names of several actions at once, for a shell (cli/complete.h). */
void audit_filter_offer(struct call *c, struct buffer *out);
enum { AUDIT_REQUESTS_YES, AUDIT_REQUESTS_NO, AUDIT_REQUESTS_ONLY };
extern const char *const audit_filter_requests[];
/* A whole number from 1. */
int audit_filter_parse_number(const char *text, uint64_t *ret);

#define AUDIT_FILTER_ROWS(f)                                                                       \
	{ { "session", SCHEMA_TEXT,                                                                \
		  .help = "only records of this session; `1f2e*` matches the start of an id" },    \
		's', "ID", .target = &(f)->session },                                              \
		{ { "action", SCHEMA_CHOICE, .words = audit_actions,                               \
			  .help = "only these actions: net.connect, fs.read, exec …; `net` is "  \
				  "all net.*;\n"                                                   \
				  "separate several with commas, or repeat the option",            \
			  .many = true },                                                          \
			'a', "ACTION", .target = &(f)->actions, .take = audit_filter_words,        \
			.offer = audit_filter_offer },                                             \
		{ { "decision", SCHEMA_CHOICE, .words = audit_decisions,                           \
			  .help = "only allowed, denied, asked, failed or none (no decision); "    \
				  "likewise",                                                      \
			  .many = true },                                                          \
			'd', "DECISION", .target = &(f)->decisions, .take = audit_filter_words },  \
		{ { "target", SCHEMA_TEXT,                                                         \
			  .help = "only this target: '/srv/**' as in a grant, '*.example.com*'" }, \
			't', "GLOB", .target = &(f)->target },                                     \
		{ { "since", SCHEMA_TIME,                                                          \
			  .help = "since: 10m, 2h, 3d, 14:30, 2026-01-31, 2026-01-31T14:30:00Z" }, \
			0, "TIME", .target = f, .take = audit_filter_time },                       \
		{ { "until", SCHEMA_TIME, .help = "until (same forms)" }, 0, "TIME", .target = f,  \
			.take = audit_filter_time },                                               \
		{ { "before", SCHEMA_NUMBER, .min = 1, .max = INT64_MAX,                           \
			  .help = "only records with a lower number than this" },                  \
			0, "NUMBER", .target = &(f)->before },                                     \
	{                                                                                          \
		{                                                                                  \
			"requests", SCHEMA_CHOICE, .words = audit_filter_requests,                 \
			.help = "requests to the daemon's own API: yes (the default), no or only"  \
		},                                                                                 \
			0, "WHICH", .target = &(f)->requests                                       \
	}

#define AUDIT_FILTER_AMOUNT(f)                                                                \
	{ { "limit", SCHEMA_NUMBER, .min = 1, .max = INT64_MAX,                               \
		  .help = "at most this many records" },                                      \
		'n', "N", .target = &(f)->limit },                                            \
	{                                                                                     \
		{ "newest", SCHEMA_FLAG, .help = "the newest first" }, .target = &(f)->newest \
	}

/*
 * Calls back for each record that is wanted, of those with numbers in [from, to]; 0: no bound.
 * Returns as audit_log_read() does.
 */
int audit_filter_read(struct audit_log *l, const struct audit_filter *f, uint64_t from, uint64_t to,
	audit_log_visit *visit, void *context, struct error *e);
