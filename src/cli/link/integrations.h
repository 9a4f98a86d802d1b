/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Well-known servers of tools (data/integrations.conf), in the order of their names. Each is called
 * as a login at it is, so what is connected is found by its name in the vault.
 */
#include <stddef.h>
#include <stdint.h>

/* Places in integrations_texts. */
struct integration {
	uint16_t name;
	uint16_t url;
	uint16_t about; /* one line */
};

extern const char integrations_texts[];
extern const struct integration integrations[];
extern const size_t integrations_n;

static inline const char *integration_text(uint16_t place)
{
	return integrations_texts + place;
}
