/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* Amounts as people write them. All return -EINVAL for what they do not understand, -ERANGE on overflow. */
#include <stdint.h>

#include "policy/permissions.h"

struct buffer;

int unit_parse_size(const char *text, uint64_t *ret_bytes);      /* 512, 64K, 1MB, 1MiB, 2G: powers of 1024 */
int unit_parse_duration(const char *text, uint64_t *ret_ms);     /* 500ms, 30s, 5m, 2h, 7d; a bare number is seconds */
int unit_parse_rate(const char *text, struct rate *ret);         /* 10/min, 5/s, 100/hour, 10/30s */
/* The shortest exact form: 1M, 1500ms, 10/min. */
void unit_print_size(uint64_t bytes, struct buffer *out);
void unit_print_duration(uint64_t ms, struct buffer *out);
void unit_print_rate(const struct rate *r, struct buffer *out);
