/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All that servers and browsers send to a client of OAuth. Of what is accepted: tokens are visible
 * and nothing of a failed answer is left; places may be led to; a record reads back the same.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "oauth/answer.h"
#include "oauth/challenge.h"
#include "oauth/place.h"
#include "oauth/record.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
	if (!holds)
		abort();
}

#define URL "https://m.example/mcp"
#define ISSUER "https://a.example"

static void fuzz_metadata(const char *text, size_t len, struct arena *a)
{
	struct oauth_resource resource = { 0 };
	struct oauth_server server = { 0 };
	struct oauth_place from, to;

	require(oauth_place_read(&from, ISSUER, "it", NULL) == 0);
	if (oauth_resource_read(&resource, URL, text, len, a, NULL) == 0) {
		require(resource.n > 0 && oauth_resource_covers(resource.resource, URL));
		for (size_t i = 0; i < resource.n; i++)
			require(oauth_place_read(&to, resource.servers[i], "it", NULL) == 0 &&
				oauth_place_may_lead(&from, &to));
	}
	if (oauth_server_read(&server, ISSUER, text, len, a, NULL) == 0)
		require(strcmp(server.issuer, ISSUER) == 0 &&
			oauth_place_read(&to, server.token, "it", NULL) == 0 &&
			oauth_place_may_lead(&from, &to));
}

static void fuzz_answers(const char *text, size_t len, struct arena *a)
{
	static const struct oauth_server server = { .issuer = ISSUER };
	const char *id = NULL, *secret = NULL, *code = NULL, *query;
	struct oauth_device device = { 0 };
	struct oauth_tokens tokens = { 0 };
	struct oauth_challenge challenge = { 0 };
	unsigned methods = OAUTH_BY_NONE | OAUTH_BY_BASIC;
	enum oauth_refusal why;
	int r = oauth_answer_tokens(&tokens, &why, 200, text, len, URL, NULL);

	require(r == 0 ? *tokens.access && oauth_answer_is_for(tokens.access, URL) : !tokens.room);
	oauth_tokens_deinit(&tokens);
	require(oauth_answer_tokens(&tokens, &why, 400, text, len, URL, NULL) != 0);
	if (oauth_answer_device(&device, &server, 200, text, len, a, NULL) == 0)
		require(*device.code && *device.user_code && *device.page);
	if (oauth_answer_client(&id, &secret, &methods, NULL, 201, text, len, a, NULL) == 0)
		require(*id && (!secret || (*secret && methods & OAUTH_BY_BASIC)));
	query = arena_strndup(a, text, len);
	require(query);
	(void)oauth_answer_is_for(query, URL);
	if (oauth_answer_callback(&code, query, "STATE", &server, a, NULL) == 0)
		require(*code && strstr(query, "STAT"));
	(void)oauth_challenge_read(&challenge, query, a, NULL);
}

static void fuzz_record(const char *text, size_t len)
{
	auto_oauth_record one = { 0 }, two = { 0 };
	auto_buffer first = { 0 }, second = { 0 };

	if (oauth_record_read(&one, text, len, NULL) < 0)
		return;
	if (oauth_record_print(&one, &first) < 0)
		return;
	require(oauth_record_read(&two, first.data, first.len, NULL) == 0);
	require(oauth_record_print(&two, &second) == 0 && first.len == second.len &&
		memcmp(first.data, second.data, first.len) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;
	auto_arena a = { 0 };

	if (size > 64 << 10)
		return 0;
	fuzz_metadata(text, size, &a);
	fuzz_answers(text, size, &a);
	fuzz_record(text, size);
	return 0;
}
