/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What a person should look at before approving a skill: places in its files that run what they
 * download, read secrets, stay behind, hide something, or talk to the model behind the user's back.
 *
 * A finding is a reason to read that line, not a proof; and a skill without findings may still do
 * harm. Nothing is enforced with this: permissions do that.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"

struct skill_lives;

enum {
	SKILL_SCAN_FILE_MAX = 1 << 20,  /* so much of a file is read */
	SKILL_SCAN_PER_FILE_MAX = 100,  /* findings */
	SKILL_SCAN_FINDINGS_MAX = 2000, /* in all */
	SKILL_SCAN_EXCERPT_MAX = 120,   /* bytes */
};

enum skill_severity { SKILL_LOW, SKILL_MEDIUM, SKILL_HIGH };

/* What of permissions can keep a finding from doing harm. */
enum skill_stop {
	SKILL_STOP_NET = 1 << 0,     /* it needs a host to talk to */
	SKILL_STOP_SECRETS = 1 << 1, /* it needs files that the baseline protects */
	SKILL_STOP_ENV = 1 << 2,     /* it needs variables */
	SKILL_STOP_WRITE = 1 << 3,   /* it needs to write outside of its own folders */
	SKILL_STOP_ROOT = 1 << 4,    /* it needs rights that no sandbox has */
};

struct skill_finding {
	const char *id; /* "download-run" */
	enum skill_severity severity;
	const char *file;    /* relative to the skill's folder; any bytes */
	uint32_t line;       /* from 1; 0: the file as a whole */
	const char *what;    /* what it means, in plain words */
	const char *excerpt; /* the place, as visible text; "" for a whole file */
	const char *check;   /* what to look at; never NULL */
	unsigned stops;      /* enum skill_stop: any of these being denied is enough; 0: none */
	const char *reason;  /* why a reviewer suppressed it; NULL: it counts */
};

/* Sorted by file, then line, then id. */
struct skill_findings {
	struct skill_finding *items;
	size_t n, cap;
	bool more; /* there were more than the bounds allow */
};

/* All rules, for documents and reports. */
struct skill_rule {
	const char *id, *what, *check;
	enum skill_severity severity; /* the highest that it gives */
};
size_t skill_rules_count(void);
struct skill_rule skill_rules_at(size_t i);

/* "low", "medium", "high". */
const char *skill_severity_name(enum skill_severity severity);

/*
 * Errors as of skill_walk(), and lives as there: what is live is not looked at. dirfd may be
 * O_PATH; *ret lives in the arena, untouched on failure.
 */
int skill_scan(int dirfd, const struct skill_lives *lives, struct arena *a,
	struct skill_findings *ret, struct error *e);

/*
 * The same for texts that are no files, such as what a server says: each is looked at as a
 * document, up to SKILL_SCAN_FILE_MAX bytes of it.
 */
struct skill_scanner;
/* -ENOMEM. */
int skill_scanner_new(struct skill_scanner **ret);
/* Accepts NULL. */
void skill_scanner_free(struct skill_scanner *s);
/* 0 or -ENOMEM; *ret, in no order, lives in the arena. */
int skill_scanner_look(struct skill_scanner *s, struct arena *a, const char *text, size_t len,
	struct skill_findings *ret);
