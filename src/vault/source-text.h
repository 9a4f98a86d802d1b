/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Where a value is, if it is not in the vault:
 *
 *     file:/home/user/.config/tool/token     a file of the user's
 *     env:NAME                               a variable of the process that starts corral-vault
 *     cmd:/usr/bin/gh auth token             a program's output; words by blanks, without quoting
 *     secret-service:NAME=VALUE,NAME=VALUE   an item by its attributes
 *     login:FILE#KEY                         a file in which a program keeps its credentials
 *                                            (mask/mask.h); which secret of it, unless it has one
 *     link:NAME                              a login of `corral link`; of LINK_NAME alone
 *
 * Only `corral vault set` writes one; no policy, project or pack can.
 */
#include <stdbool.h>

#include "base/error.h"

enum source_kind {
	SOURCE_FILE,
	SOURCE_ENV,
	SOURCE_CMD,
	SOURCE_SERVICE,
	SOURCE_LOGIN,
	SOURCE_LINK,
	SOURCE_KINDS
};

/* The kind, and what stands behind its colon; -EINVAL with a sentence. */
int source_text_check(const char *text, const char **ret_rest, struct error *e);

enum { SOURCE_LINK_MAX = 48, SOURCE_LINK_SECRET_BYTES = SOURCE_LINK_MAX + 16 };
/* A login's name: small letters, digits and '-', beginning with a letter. */
bool source_link_is_name(const char *name);
/* What its secrets are called: LINK_NAME and the suffix. -EINVAL: it is not such a name. */
int source_link_secret(const char *name, const char *suffix, char ret[SOURCE_LINK_SECRET_BYTES]);
