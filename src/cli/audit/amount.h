/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* Numbers as people read them. */
#include <stdint.h>

#include "base/buffer.h"

void audit_amount_count(struct buffer *out, uint64_t n); /* 1,234,567 */
void audit_amount_bytes(struct buffer *out, uint64_t n); /* 512 B, 1.2 kB, 3.4 GB */
void audit_amount_span(struct buffer *out, uint64_t ns); /* 250 µs, 12 ms, 1.3 s, 2 min 5 s */
/* Adds, up to the largest number that there is. */
static inline uint64_t audit_amount_add(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}
