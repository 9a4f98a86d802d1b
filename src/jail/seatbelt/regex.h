/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * A true glob as one of Seatbelt's regular expressions, without the ^ and $ that tie its ends.
 *
 * Seatbelt matches bytes, `.` is any of them, and the glob's tokens have exact counterparts. The
 * text is for a #"…" literal, which takes backslashes as they are and cannot hold a quotation mark.
 */
struct buffer;
struct glob_alternative;

/*
 * -EDOM: it has a quotation mark, a control character, or a set that lists a backslash (whether a
 * backslash means itself inside brackets is told nowhere, so nothing is built on it).
 */
int seatbelt_regex_print(const struct glob_alternative *alt, struct buffer *out);
