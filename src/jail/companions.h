/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* What programs run in turn: data/companions.conf, made into a table when Corral is built. */
#include <stddef.h>

struct companion {
	const char *program; /* name of a file, without a version at its end */
	const char *what;    /* another name, or a folder in which * and ? match in names */
};

extern const struct companion companions[];
extern const size_t companions_n;
