/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The parts of the reader of permissions, which is four files: permissions-read.c has the top and
 * the plain lists, permissions-read-guest.c, permissions-read-rule.c and permissions-read-service.c
 * a section each. What other folders call is in permissions-text.h.
 */
#include "policy/format/field.h"
#include "policy/permissions.h"

/* The keys at the top of permissions. */
extern const struct field_table permissions_read_table;

/* permissions_canonical(), or something that is called as it is. */
typedef int permissions_spelling(enum operation op, const char *text, struct arena *a,
	const char **ret, const struct location *where, struct error *e);

/* Appends the entries of a list to one of p's lists: text, or {all: [text, text …]}. */
int permissions_read_entries(const struct field *f, struct permissions *p, struct grant_list *list,
	permissions_spelling *spell, enum operation op);
/* The same for HTTP methods; an empty list is refused, as it would mean "all". */
int permissions_read_methods(const struct field *f, struct permissions *p, struct grant_list *list);
/*
 * `guest_paths`. A host folder that is not absolute stands below `how`, a variable such as
 * "$SKILL_DIR"; without that it is refused.
 */
field_reader permissions_read_guest_paths;
/* A list of names into a scope of a service of p. */
int permissions_read_scope(
	const struct field *f, struct permissions *p, struct service *s, const char *key);

/* `services` and `rules`; `into` is the struct permissions. */
field_reader permissions_read_services;
field_reader permissions_read_rules;

/* The part of permissions_canonical() that is about services. */
int permissions_read_service_pattern(const char *text, struct arena *a, const char **ret,
	const struct location *where, struct error *e);
