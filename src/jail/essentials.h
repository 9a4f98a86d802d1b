/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* What every program needs: data/essentials.conf, turned into a table when Corral is built. */
#include <stddef.h>
#include <stdint.h>

enum essential_kind { ESSENTIAL_READ, ESSENTIAL_LIBRARY, ESSENTIAL_LOADER, ESSENTIAL_TEXT };

/* Texts are where they start in essentials_texts, so that the table needs no relocation. */
struct essential {
	uint16_t path;      /* LIBRARY: * and ? may stand in the last name */
	uint16_t condition; /* only where this exists; 0: always */
	enum essential_kind kind;
};

extern const char essentials_texts[];
extern const struct essential essentials[];
extern const size_t essentials_n;
