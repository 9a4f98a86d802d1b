/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Folders of a sandbox's own, for variables of its permissions that the host gave no value:
 * $WORK_DIR is an empty folder to work in, $SKILL_DIR one in which no skill is. They are made when
 * the sandbox is built, if a layer names them, and removed with it.
 */
#include "lib/sandbox/sandbox.h"

/* Of n layers. Gives base->private and the variables their values; -errno with a sentence. */
int private_make(struct sandbox_base *base, const struct permissions *const *layers, size_t n,
	struct error *e);
void private_remove(const struct sandbox_base *base);
