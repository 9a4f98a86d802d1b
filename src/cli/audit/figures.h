/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* Numbers as people read them, and as bars on a terminal; moments; what is most frequent. */
#include <stdbool.h>
#include <stdint.h>

#include "cli/output.h"

void audit_amount_count(struct buffer *out, uint64_t n); /* 1,234,567 */
void audit_amount_bytes(struct buffer *out, uint64_t n); /* 512 B, 1.2 kB, 3.4 GB */
void audit_amount_span(struct buffer *out, uint64_t ns); /* 250 µs, 12 ms, 1.3 s, 2 min 5 s */
/* Adds, up to the largest number that there is. */
static inline void audit_amount_add(uint64_t *sum, uint64_t n)
{
	*sum = *sum > UINT64_MAX - n ? UINT64_MAX : *sum + n;
}

/* Bars: of eighths of a block where the locale has them, of `#` elsewhere. */
struct audit_chart {
	unsigned columns; /* of a line; 80 where there is no terminal */
	bool has_blocks;
};

/* For what goes to fd. */
struct audit_chart audit_chart_for(int fd);
/* n of max as a bar of `width` cells at most; what is not 0 is seen. Not padded. */
void audit_chart_bar(const struct audit_chart *c, struct output *o, enum output_style style,
	uint64_t n, uint64_t max, unsigned width);

/*
 * Moments as people write them, in the time zone of whoever asks, and as they read them:
 *
 *     2026-01-02T03:04:05.678Z, 2026-01-02T03:04:05+01:00    RFC 3339
 *     2026-01-02 03:04[:05]                                  local time
 *     2026-01-02                                             that day, local time
 *     03:04[:05]                                             when it was that late, last
 *     90s, 10m, 2h, 3d, 1w                                   so long ago
 */
/* A day is a span: which end of it is meant. */
enum audit_time_end { AUDIT_TIME_BEGINS, AUDIT_TIME_ENDS };

/* Nanoseconds since 1970. -EINVAL: it is no time, or one before 1970. now_ns: for relative ones. */
int audit_time_parse(const char *text, enum audit_time_end end, uint64_t now_ns, uint64_t *ret_ns);

/* "2026-01-02 03:04:05", local time; both parts have a fixed length and stand by themselves, too.
 */
enum { AUDIT_TIME_BYTES = 20, AUDIT_TIME_DAY = 10, AUDIT_TIME_CLOCK = 11 };
const char *audit_time_print(uint64_t time_ns, char out[AUDIT_TIME_BYTES]);

/*
 * What happened most often, of things that commands can make up names for: a table of fixed size,
 * whatever comes. When a new name finds it full, the rarest one goes and the new one takes over its
 * count (the algorithm is called Space-Saving). So each count is too high by at most what it took
 * over, which is known; and who is more frequent than one in AUDIT_TOP_SIZE is always in the table.
 */
enum { AUDIT_TOP_SIZE = 1024 };

struct audit_top_entry {
	char *text;
	unsigned kind;
	uint64_t count;     /* at most */
	uint64_t inherited; /* of these, not known to be its own */
};

struct audit_top {
	uint64_t hashes[AUDIT_TOP_SIZE], counts[AUDIT_TOP_SIZE];
	struct audit_top_entry entries[AUDIT_TOP_SIZE];
	size_t n;
	bool is_approximate; /* something had to go */
};

/* NULL: out of memory. */
struct audit_top *audit_top_new(void);
void audit_top_free(struct audit_top *t);

/* `n` more of this. */
int audit_top_add(struct audit_top *t, unsigned kind, const char *text, uint64_t n);
/* Brings the entries into order, by what is surely theirs, the most frequent first. Then no more
 * may be added. */
void audit_top_sort(struct audit_top *t);
/* How often at least. */
static inline uint64_t audit_top_surely(const struct audit_top_entry *e)
{
	return e->count - e->inherited;
}
