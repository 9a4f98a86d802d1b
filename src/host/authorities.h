/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The certificates of authorities that this machine trusts, as one file: where the system has them;
 * where it usually has them, if it has none. Without links. Variables such as SSL_CERT_FILE do not
 * count: they may name a file in a project, which commands can write.
 */
#include <stddef.h>

#include "base/buffer.h"
#include "base/path.h"

const char *authorities_system(char real[PATH_BYTES]);
/* Appends what is at that place, and a line break. Nothing is there: nothing. */
int authorities_read(const char *place, struct buffer *out);

/* What programs look at to find their list of authorities. */
extern const char *const authorities_variables[];
extern const size_t authorities_n_variables;
