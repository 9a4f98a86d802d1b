/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An address that a command wants to have opened. One that is taken is that of a row: it begins
 * with its page, and has one client and one way back, however a server reads it.
 */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/buffer.h"
#include "services/desktop/login.h"
#include "services/desktop/page.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
	if (!holds)
		abort();
}

/* How often a parameter is in the text, in any case. */
static size_t count(const char *text, const char *name)
{
	size_t n = 0;

	while ((text = strpbrk(text, "?&")))
		n += strncasecmp(++text, name, strlen(name)) == 0;
	return n;
}

static bool is_of_row(const char *page)
{
	for (const char *row = login_rows; *row; row += strlen(row) + 1) {
		const size_t len = strcspn(row, " ");

		if (strncmp(page, row, len) == 0 && page[len] == '?')
			return true;
	}
	return false;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	auto_buffer page = { 0 };
	struct error e = { 0 };
	const char *text;

	if (page_normal((const char *)data, size, &page, &e) < 0)
		return 0;
	require(page_is_normal(page.data, page.len));
	text = buffer_text(&page);
	if (login_check(page.data, page.len, &e) < 0) {
		require(e.text[0]);
		return 0;
	}
	require(is_of_row(text) && !strpbrk(text, "#;\\"));
	require(count(text, "redirect_uri=") == 1 && count(text, "client_id=") == 1);
	require(count(text, "request=") == 0 && count(text, "request_uri=") == 0);
	return 0;
}
