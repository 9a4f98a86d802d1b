/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The formats in the wild, each read into permissions and what else it says: Corral's skill.yaml,
 * SKILL.md frontmatter, nanocrab's manifest.yaml, AgenShield's rules, Enclave grants, plain
 * permissions (docs/formats.md has the mappings). Pure: callers bring the bytes. The engine is made
 * from the permissions alone; the rest is for people and for skills.
 */
#include <stddef.h>

#include "codec/node.h"
#include "policy/permissions.h"

enum manifest_kind {
	MANIFEST_UNKNOWN,
	MANIFEST_PERMISSIONS, /* a bare permissions document, or one with only `permissions:` */
	MANIFEST_SKILL,       /* skill.yaml */
	MANIFEST_SKILL_MD,    /* SKILL.md */
	MANIFEST_NANOCRAB,    /* manifest.yaml */
	MANIFEST_RULES,       /* AgenShield's policy JSON */
	MANIFEST_ENCLAVE,     /* allowed_roots, allowed_commands, allowed_hosts */
};

/* A sentence for whoever wrote the file: what is stricter than it reads. Nothing is wider. */
struct manifest_note {
	struct location where;
	const char *text;
};

struct manifest {
	enum manifest_kind kind;
	struct permissions *permissions; /* owned; never NULL after a successful read */
	/* Each NULL if absent. Live in the permissions' arena. */
	const char *name, *version, *description, *author, *entry, *runtime;
	const char *wasm_file, *wasm_export, *session_id;
	/* Hosts are granted for sockets, and not for requests alone (nanocrab's network_socket). */
	bool has_sockets;
	struct location entry_where, wasm_where; /* of entry and wasm_file; zero if absent */
	struct location
		permissions_where; /* a skill's: of what it grants; line 0: nothing is said */
	/* What the skill says it needs; this grants nothing. */
	const char **requires_bins, **requires_env;
	size_t n_requires_bins, n_requires_env;
	/* Keys at the top that mean nothing to us, kept as they are; a map, or NULL. */
	struct node *extra;
	struct manifest_note *notes;
	size_t n_notes, cap_notes;
	size_t body; /* SKILL.md: offset of the text behind the frontmatter */
};

/*
 * Reads a document of the given kind; MANIFEST_UNKNOWN: find out, by the file's name first
 * (SKILL.md, skill.yaml, *.json …), then by the keys it holds. *m need not be initialised; on
 * failure it is empty. file may be NULL.
 */
int manifest_read(struct manifest *m, enum manifest_kind kind, const char *file, const char *text,
	size_t len, struct error *e);
/*
 * Adds a further AgenShield rules file (custom/….json) to m, which was read from default.json: its
 * rules join by priority, its constraints too; defaultAction and mode only if it has them and they
 * are stricter. On failure m is as it was.
 */
int manifest_add_rules(
	struct manifest *m, const char *file, const char *text, size_t len, struct error *e);
void manifest_deinit(struct manifest *m);
#define auto_manifest __attribute__((cleanup(manifest_deinit))) struct manifest

/* As the command line names them: "skill", "rules", "manifest", "permissions", "enclave",
 * "skill.md". */
const char *manifest_kind_name(enum manifest_kind kind);
/* -EINVAL if the word is none of these. */
int manifest_kind_parse(const char *word, enum manifest_kind *ret);
