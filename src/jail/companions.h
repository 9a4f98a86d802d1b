/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* What programs run in turn: data/companions.conf, made into a table when Corral is built. */
#include <stddef.h>
#include <stdint.h>

/* Texts are where they start in companions_texts, so that the table needs no relocation. */
struct companion {
	uint16_t program; /* name of a file, without a version at its end */
	uint16_t what;    /* another name, or a folder in which * and ? match in names */
};

extern const char companions_texts[];
extern const struct companion companions[];
extern const size_t companions_n;
