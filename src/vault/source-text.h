/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Where a value is, if it is not in the vault:
 *
 *     file:/home/user/.config/tool/token     a file of the user's
 *     env:NAME                               a variable of the process that starts corral-vault
 *     cmd:/usr/bin/gh auth token             a program's output; words by blanks, without quoting
 *     secret-service:NAME=VALUE,NAME=VALUE   an item by its attributes
 *
 * Only `corral vault set` writes one; no policy, project or pack can.
 */
#include <stdbool.h>

#include "base/error.h"

enum source_kind { SOURCE_FILE, SOURCE_ENV, SOURCE_CMD, SOURCE_SERVICE, SOURCE_KINDS };

/* The kind, and what stands behind its colon; -EINVAL with a sentence. */
int source_text_check(const char *text, const char **ret_rest, struct error *e);
