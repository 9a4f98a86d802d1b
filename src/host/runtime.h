/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* What runs a skill's entry: the runtime that its manifest names, or the entry itself. */
#include "policy/format/manifest.h"

/* "python" -> "python3", if that is there. A name that is not known is a program's own. */
const char *runtime_program(const char *runtime);
/*
 * A skill that lists programs need not list what its entry is run by: that is granted in its own
 * permissions (p, a copy of them), as if it had. Other layers have their say as for any program.
 * folder: the skill's.
 */
int runtime_imply(const struct manifest *m, const char *folder, struct permissions *p);
