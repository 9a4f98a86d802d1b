/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Moments as people write them, in the time zone of whoever asks, and as they read them:
 *
 *     2026-01-02T03:04:05.678Z, 2026-01-02T03:04:05+01:00    RFC 3339
 *     2026-01-02 03:04[:05]                                  local time
 *     2026-01-02                                             that day, local time
 *     03:04[:05]                                             when it was that late, last
 *     90s, 10m, 2h, 3d, 1w                                   so long ago
 */
#include <stdint.h>

/* A day is a span: which end of it is meant. */
enum audit_time_end { AUDIT_TIME_BEGINS, AUDIT_TIME_ENDS };

/* Nanoseconds since 1970. -EINVAL: it is no time, or one before 1970. now_ns: for relative ones. */
int audit_time_parse(const char *text, enum audit_time_end end, uint64_t now_ns, uint64_t *ret_ns);

/* "2026-01-02 03:04:05", local time; both parts have a fixed length and stand by themselves, too.
 */
enum { AUDIT_TIME_BYTES = 20, AUDIT_TIME_DAY = 10, AUDIT_TIME_CLOCK = 11 };
const char *audit_time_print(uint64_t time_ns, char out[AUDIT_TIME_BYTES]);
