/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Amounts as people write them. The parsers return -EINVAL for what they do not understand and
 * -ERANGE for what does not fit; UINT64_MAX itself does not, because it stands for "no limit".
 */
#include <stdint.h>

struct buffer;

/* "10/min": so many in so many seconds; count 0: no limit. */
struct rate {
	uint64_t count, seconds;
};

/* 512, 64K, 1MB, 1MiB, 2G: powers of 1024, in upper or lower case. */
int unit_parse_size(const char *text, uint64_t *ret_bytes);
/* 500ms, 30s, 5m, 2h, 7d; a bare number is seconds. */
int unit_parse_duration(const char *text, uint64_t *ret_ms);
/* 10/min, 5/s, 100/hour, 10/30s: neither the count nor the window may be 0. */
int unit_parse_rate(const char *text, struct rate *ret);

/* The shortest exact form: 1M, 1500ms, 10/min. */
void unit_print_size(uint64_t bytes, struct buffer *out);
void unit_print_duration(uint64_t ms, struct buffer *out);
void unit_print_rate(const struct rate *r, struct buffer *out);
