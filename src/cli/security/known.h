/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What profiles and wrappers were when they were seen first, or accepted last: SHA-256 by path, in
 * security.json of the state folder, which no sandbox sees.
 */
#include "cli/security/findings.h"

enum known_state {
	KNOWN_SAME,    /* as it was, or it is new */
	KNOWN_CHANGED, /* it has another content */
	KNOWN_MISSING, /* it is gone */
};

struct known_file {
	const char *path, *digest;
	bool is_there;
};

struct security_known {
	struct security *s;
	struct known_file *items;
	size_t n, cap;
	bool is_changed;
};

/* Reads what was recorded. One that cannot be read is a finding, and an empty record. */
void known_open(struct security_known *k, struct security *s);
/* Compares a file of this content with what was recorded; records it, if that is asked for. */
enum known_state known_compare(
	struct security_known *k, const char *path, const char *data, size_t len);
/* Stores what has changed. Those that are gone are forgotten if changes are accepted. */
void known_close(struct security_known *k);
