/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What the readers of the formats share. Each of them reads the top of a document by a table, into
 * a struct manifest whose permissions are there and empty.
 */
#include "policy/format/field.h"
#include "policy/format/manifest.h"

/* A format: fills m from the document. */
typedef int manifest_reader(struct manifest *m, const struct document *d, struct error *e);

manifest_reader manifest_skill_read;
manifest_reader manifest_nanocrab_read;
manifest_reader manifest_rules_read;
manifest_reader manifest_enclave_read;

/* Where a text goes: for FIELD(…, manifest_part_text, .how = MANIFEST_TEXT(name)). */
#define MANIFEST_TEXT(member) (&(const size_t){ offsetof(struct manifest, member) })

/* Copies a scalar to the member that the table names; null counts as absent. */
field_reader manifest_part_text;
/* The same, but what is no text is kept in `extra` instead of being an error. */
field_reader manifest_part_text_or_keep;
/* Keeps the value in `extra`. */
field_reader manifest_part_keep;
/* Appends the texts of a list that are not in the array yet, as copies; a few hundred at most. */
int manifest_part_names(const struct field *f, struct arena *a, const char ***names, size_t *n);
/* One pattern, checked and in canonical spelling, onto one of the permissions' lists. */
int manifest_part_grant(const struct field *f, struct permissions *p, struct grant_list *list,
	enum operation op, const char *text);
