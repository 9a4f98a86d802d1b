/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Secrets never enter the log. Before anything is hashed, a redactor takes out: values of variables
 * that were granted to the command (wherever they occur in a text), what stands behind Authorization,
 * Proxy-Authorization, Cookie and the like, the user part of URLs, and the values of query
 * parameters with telling names (token, key, secret, password, sig …). Each becomes "[redacted]".
 */
#include <stddef.h>

#include "audit/event.h"

struct redactor;

int redactor_new(struct redactor **ret);
void redactor_free(struct redactor *r);
/* A value that must not be seen again. Values shorter than 4 bytes, and those of harmless variables
 * (HOME, PATH, LANG, TERM …), are not kept. At most 1024 of them. */
int redactor_add(struct redactor *r, const char *name, const char *value);
/* Writes the text without its secrets. r may be NULL: only what shows by its form. */
void redact_text(const struct redactor *r, const char *text, struct buffer *out);
/* All texts of an event; the new ones live in *out, which must outlive *e. */
void redact_event(const struct redactor *r, struct audit_event *e, struct buffer *out);
