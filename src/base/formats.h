/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Every format that Corral stores, and its version: one table. A file says which version it has. An
 * older one is read, and replaced by the current version with the old file kept beside it. A newer
 * one is refused: what this build does not know could be what restricts something.
 *
 * docs/stored-formats.md has the same table; the test golden-formats compares them.
 */
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

enum format {
	FORMAT_AUDIT_LOG,
	FORMAT_MISSED,
	FORMAT_PROOF,
	FORMAT_APPROVAL,
	FORMAT_HISTORY,
	FORMAT_SERVICES,
	FORMAT_DAEMON,
	FORMAT_POLICY_CACHE,
	FORMAT_MODULE_CACHE,
	FORMAT_VAULT,
	FORMAT_PROJECT,
	FORMAT_UNDO,
	FORMAT_FAILED,
	FORMAT_MCP_PINS,
	FORMAT_COUNT,
};

struct format_row {
	const char *name;    /* in messages */
	const char *file;    /* for people: where it is */
	const char *where;   /* the version in the file */
	const char *older;   /* what is done with an older version; "": there is none */
	uint32_t oldest;     /* that is read */
	uint32_t version;    /* that is written */
	const char *instead; /* what to do with a newer one, beside an upgrade */
};
extern const struct format_row formats_rows[FORMAT_COUNT];

/* 0: the current version. 1: an older one that is read. -ENOTSUP: any other, with a sentence; path
 * is the file, and e may be NULL. */
int formats_check(enum format f, uint64_t version, const char *path, struct error *e);
/*
 * Replaces a file of an older version. The old one stays beside it as PATH.vN, with its owner and
 * mode; PATH is at any time the whole old or the whole new file. Negative errno, and PATH is the
 * old one.
 */
int formats_replace(const char *path, uint64_t old, const void *data, size_t len, unsigned mode);
