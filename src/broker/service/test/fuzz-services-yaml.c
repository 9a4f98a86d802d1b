/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A services.yaml as a user could write it, or as a host program could pass it on. What is read
 * has sections of the table with keys of the table, each once, and what is refused has a sentence.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "broker/service/config.h"
#include "broker/service/table.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
	if (!holds)
		abort();
}

static bool fuzz_is_known(const char *section, const char *key)
{
	for (size_t i = 0; i < service_backend_count; i++) {
		const struct service_backend *b = &service_backends[i];

		if (strcmp(b->section, section) != 0)
			continue;
		for (size_t k = 0; b->keys[k].name; k++)
			if (strcmp(b->keys[k].name, key) == 0)
				return true;
	}
	return false;
}

static void fuzz_check(const struct service_config *c)
{
	require(c->n_sections <= CONFIG_SECTIONS_MAX);
	for (size_t i = 0; i < c->n_sections; i++) {
		const struct service_section *s = &c->sections[i];

		require(service_config_find(c, s->name) == s);
		for (size_t k = 0; k < s->n; k++) {
			require(fuzz_is_known(s->name, s->items[k].key));
			/* Each key once: the first that is found is this one. */
			require(service_section_get(s, s->items[k].key) == s->items[k].text);
		}
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);
	struct error e = { 0 };
	struct service_config c = { 0 };
	const struct service_config_places places = { .text = text, .home = "/home/u" };
	int r;

	if (!text)
		return 0;
	if (size > 0)
		memcpy(text, data, size);
	text[size] = '\0';
	r = service_config_read(&c, &places, &e);
	require(r == 0 || e.text[0] != '\0');
	if (r == 0)
		fuzz_check(&c);
	service_config_deinit(&c);
	free(text);
	return 0;
}
