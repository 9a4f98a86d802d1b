/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Where the permissions come from (docs/protocol.md): a sealed memfd, a file, or a variable,
 * whichever is named first; if none is, everything is denied. A source that is named but of no use
 * is an error.
 */
#include "base/error.h"
#include "policy/permissions.h"

/* The caller frees them. */
int source_read(struct permissions **ret, struct error *e);
