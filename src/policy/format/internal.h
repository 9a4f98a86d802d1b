/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* What the readers of this folder share. What other folders call is in permissions-text.h and
 * manifest.h. */
#include "policy/format/field.h"
#include "policy/format/manifest.h"
#include "policy/operation.h"

struct service_scope_row;

/* Permissions */

/* The keys at the top of permissions. */
extern const struct field_table permissions_read_table;

/* Appends the entries of a list to one of p's lists: text, or {all: [text, text …]}. */
int permissions_read_entries(const struct field *f, struct permissions *p, struct grant_list *list,
	operation_spell *spell, enum operation op);
/* The same for HTTP methods; an empty list is refused, as it would mean "all". */
int permissions_read_methods(const struct field *f, struct permissions *p, struct grant_list *list);
/* A list of words into a scope of a service of p. */
int permissions_read_scope(const struct field *f, struct permissions *p, struct service *s,
	const struct service_scope_row *row);
/* `network.methods`, `services` and an item of `rules`; `into` is the struct permissions. */
field_reader permissions_read_network_methods, permissions_read_services, permissions_read_rule;
/* `secrets`; into is the struct permissions. And as it is written: NULL when out of memory. */
field_reader permissions_read_secrets;
struct node *permissions_secrets_node(const struct grant_list *sorted, struct arena *a);
/*
 * An item of `guest_paths`. A host folder that is not absolute stands below `how`, a variable such
 * as "$SKILL_DIR"; without that it is refused.
 */
field_reader permissions_read_guest_path;

/* Manifests: each format reads the top of a document by a table, into a struct manifest whose
 * permissions are there and empty. */

extern const struct field_table manifest_skill_table, manifest_nanocrab_table, manifest_rules_table,
	manifest_enclave_table;

/* Where a text goes: for FIELD(…, TEXT, manifest_text, .how = MANIFEST_TEXT(name)). */
#define MANIFEST_TEXT(member) (&(const size_t){ offsetof(struct manifest, member) })

/* Copies a scalar to the member that the table names; null counts as absent. */
field_reader manifest_text;
/* The same, but what is no text is kept in `extra` instead of being an error. */
field_reader manifest_text_or_keep;
/* Keeps the value in `extra`. */
field_reader manifest_keep;
/* A signature, which nothing checks. */
field_reader manifest_refuse_signature;
/* Appends the texts of a list that are not in the array yet, as copies; a few hundred at most. */
int manifest_names(const struct field *f, struct arena *a, const char ***names, size_t *n);
/* One pattern, checked and in canonical spelling, onto one of the permissions' lists. */
int manifest_grant(const struct field *f, struct permissions *p, struct grant_list *list,
	enum operation op, const char *text);

/* AgenShield's rules */

/* What a pattern of AgenShield's can be about. The first of them have operations of ours. */
enum manifest_rules_kind {
	RULES_PATH,
	RULES_HOST,
	RULES_COMMAND,
	RULES_PAGE,   /* a URL to open: the service browser */
	RULES_SECRET, /* the service vault */
	RULES_ENV,    /* only by "*": AgenShield itself does not govern these two */
	RULES_SERVICE,
};
enum { RULES_KIND_COUNT = 7 };

/* The lowest priorities are those of constraints; rules lie above. */
enum {
	RULES_PRIORITY_ELSE = INT32_MIN,
	RULES_PRIORITY_ALLOWED,
	RULES_PRIORITY_DENIED,
	RULES_PRIORITY_MIN = INT32_MIN + 16,
};

/* Of ours: the operation whose patterns they become (that of files stands for both), and a word. */
struct manifest_rules_row {
	enum operation op;
	const char *word; /* NULL: nothing that AgenShield knows */
};
extern const struct manifest_rules_row manifest_rules_kinds[RULES_KIND_COUNT];

/* The pattern can be read, and matches nothing. */
enum { RULES_NOTHING = 1 };

/*
 * Appends to `list`, which grows in p's arena, what `text` means as a pattern of that kind in a
 * rule with this action. What an allowing rule would widen, a denying one may: see docs/formats.md.
 * Returns 0, RULES_NOTHING, or -EINVAL with a sentence.
 */
int manifest_rules_pattern(const struct field *f, struct permissions *p, struct grant_list *list,
	enum manifest_rules_kind kind, enum verdict action, const char *text);

/* The same for a name in networkConstraints, which is a host on any port. */
int manifest_rules_site(const struct field *f, struct permissions *p, struct grant_list *list,
	enum verdict action, const char *text);

/* Adds a sentence about what a file says and Corral does not do, with its place. */
__attribute__((format(printf, 3, 4))) int manifest_note(
	const struct field *f, struct manifest *m, const char *format, ...);

/* `fsConstraints` and `networkConstraints`; `into` is the struct manifest. */
field_reader manifest_rules_fs_constraints;
field_reader manifest_rules_network_constraints;
