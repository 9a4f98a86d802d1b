/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Secrets never enter the log. Before anything is hashed, a redactor takes out: values of variables
 * that were granted to the command (wherever they occur in a text, also percent-encoded), and what
 * shows by its form (redact/forms.h): what stands behind Authorization, Proxy-Authorization, Cookie
 * and the like, the user part of URLs, the values of parameters, fields and options with telling
 * names (token, key, secret, password, sig …), and keys with a known beginning. Each becomes
 * "[redacted]".
 *
 * docs/audit.md says what it cannot know.
 */
#include <stddef.h>

#include "audit/event.h"

struct redactor;

enum { REDACTOR_VALUES_MAX = 1024, REDACTOR_VALUE_LEAST = 4, REDACT_TEXT_MAX = 8 << 10 };

int redactor_new(struct redactor **ret);
/* Wipes the values. */
void redactor_free(struct redactor *r);
/*
 * A value that must not be seen again. Values shorter than REDACTOR_VALUE_LEAST, those of harmless
 * variables (HOME, PATH, LANG, TERM …) and words that are no secret under any name ("true") are not
 * kept. -E2BIG: more than REDACTOR_VALUES_MAX of them, or of several megabytes. Not while another
 * thread redacts.
 */
int redactor_add(struct redactor *r, const char *name, const char *value);
/*
 * Writes the text without its secrets. r may be NULL: only what shows by its form. Of a text longer
 * than REDACT_TEXT_MAX only so much is left, and "…".
 */
void redact_text(struct redactor *r, const char *text, struct buffer *out);
/*
 * All texts of an event; those that had a secret live in *out (added to what is there), which must
 * outlive *e and not be added to. Out of memory, all of them become "[redacted]".
 */
void redact_event(struct redactor *r, struct audit_event *e, struct buffer *out);
