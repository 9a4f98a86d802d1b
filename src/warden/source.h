/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Where the warden's permissions come from (docs/protocol.md): a sealed memfd, a file, or a
 * variable, whichever is named first; if none is, everything is denied.
 */
#include "base/error.h"
#include "policy/permissions.h"

/* *ret is the caller's. A source that is named but of no use is an error. */
int source_read(struct permissions **ret, struct error *e);
