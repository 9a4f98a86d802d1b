/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What the browser behind browser.navigate may do: to reach the domains that a policy grants the
 * service `browser` for access `navigate`, on any port; and to run itself, with its own files and
 * the system's fonts. Nothing else of the policy is in it, but for what it denies about hosts, and
 * the names that may lead to private addresses. Pure.
 *
 * The relay of its sandbox checks each connection by this, whatever a page asks for. A host that a
 * person would have to be asked about is not granted: no questions are asked for parts of a page.
 */
#include "base/error.h"
#include "policy/permissions.h"

/* The name that stands for the program's folder in the grants; its value is taken literally. */
#define CHROMIUM_RIGHTS_FOLDER "SKILL_DIR"

/*
 * One set of permissions, which may be of several layers; the caller owns *ret. program: its name
 * in that folder. -EINVAL, -ENOMEM …
 */
int chromium_rights_new(struct permissions **ret, const struct permissions *from,
	const char *program, struct error *e);
