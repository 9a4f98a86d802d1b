/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* What names say about the values that they have: of parameters, fields, headers, variables. */
#include <stdbool.h>
#include <stddef.h>

enum redact_name {
	REDACT_NAME_PLAIN,
	REDACT_NAME_QUERY,  /* telling as a parameter of a URL; elsewhere a word as any other */
	REDACT_NAME_SECRET, /* telling everywhere */
	REDACT_NAME_HEADER, /* the same, and its value is the rest of the line */
};

/* Letters of any case; what stands between the words of a name does not count. */
enum redact_name redact_name_judge(const char *name, size_t len);
/* HOME, PATH, LC_…: variables that have no secret in them. */
bool redact_name_is_harmless(const char *variable);
/* Words that many variables have, and that many texts have, too. */
bool redact_name_is_plain_value(const char *value);
