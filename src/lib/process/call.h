/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* struct corral_call as this version of the library knows it, checked. */
#include "base/error.h"
#include "corral/sandbox.h"

/*
 * Reads what a caller gave, which may be NULL, or a shorter (older) or longer (newer) struct. What
 * a newer one asks for beyond us must be zero: -E2BIG. -EINVAL with a sentence for what makes no
 * sense.
 */
int call_read(struct corral_call *ret, const struct corral_call *from, struct error *e);
