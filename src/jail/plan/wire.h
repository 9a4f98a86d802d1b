/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * A plan as bytes, for FRAME_PLAN: the zygote is started before the plan is made, so that the
 * kernel makes namespaces while the policy is compiled. Both ends are of one program; still, what
 * does not fit is -EPROTO, not a crash.
 *
 * Only what the zygote needs travels: entries, programs, limits, and the switches.
 */
#include "base/buffer.h"
#include "jail/plan/plan.h"

int plan_encode(const struct plan *p, struct buffer *out);
/* Strings point into the body, which must outlive the plan. */
int plan_decode(struct plan **ret, const void *body, size_t len);
