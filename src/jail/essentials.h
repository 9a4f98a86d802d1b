/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* What every program needs: data/essentials.conf, turned into a table when Corral is built. */
#include <stddef.h>

enum essential_kind { ESSENTIAL_READ, ESSENTIAL_LIBRARY, ESSENTIAL_LOADER, ESSENTIAL_TEXT };

struct essential {
	const char *path;      /* LIBRARY: * and ? may stand in the last name */
	const char *condition; /* only where this exists; NULL: always */
	enum essential_kind kind;
};

extern const struct essential essentials[];
extern const size_t essentials_n;
