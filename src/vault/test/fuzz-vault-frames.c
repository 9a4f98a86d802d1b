/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A body of a frame of the vault has one form: what is accepted is written again as the same bytes.
 * The names, hosts and sources in it are checked as corral-vault does, and a program's output is
 * read.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "vault/message.h"
#include "vault/source-text.h"
#include "vault/source.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
	if (!holds)
		abort();
}

static void fuzz_words(const struct vault_message *m)
{
	struct error e = { 0 };
	const char *rest = NULL;
	auto_buffer fields = { 0 }, print = { 0 };
	uint32_t places = 0, again;

	if (vault_name_is_valid(m->name))
		require(strlen(m->name) <= VAULT_NAME_MAX && !strpbrk(m->name, "/:= \n"));
	if (vault_host_is_valid(m->text))
		require(strrchr(m->text, ':') && !strpbrk(m->text, "*/ \n"));
	if (vault_programs_are_valid(m->programs))
		require(!*m->programs || (*m->programs == '/' && !strpbrk(m->programs, " *\n")));
	if (source_text_check(m->text, &rest, &e) >= 0)
		require(rest > m->text && strlen(m->text) < VAULT_TEXT_MAX);
	else
		require(e.text[0]);
	if (vault_places_parse(m->principal, &places) == 0)
		require(places > 0 && places <= VAULT_PLACES_ALL &&
			vault_fields_parse(m->principal, &fields) == 0 &&
			vault_fields_are_valid(buffer_text(&fields)) &&
			!fields.len == !(places & VAULT_FIELD));
	/* What is printed reads back the same. */
	if (places > 0) {
		vault_places_print(places, buffer_text(&fields), &print);
		require(vault_places_parse(buffer_text(&print), &again) == 0 && again == places);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct source_value value = { 0 };
	struct vault_message m;
	struct error e = { 0 };
	void *again;

	require(secret_begin() == 0);
	if (size > VAULT_VALUE_MAX)
		return 0;
	if (source_parse(data, size, 1000, &value, &e) == 0) {
		require(value.value.len <= size);
		secret_free(&value.value);
	}
	if (vault_message_decode(&m, data, size) < 0)
		return 0;
	require(vault_message_size(&m) == size && m.op < VAULT_OPS && m.error <= 0);
	again = calloc(1, size);
	require(again);
	vault_message_encode(&m, again);
	require(memcmp(again, data, size) == 0);
	free(again);
	fuzz_words(&m);
	return 0;
}
