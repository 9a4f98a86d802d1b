/* SPDX-License-Identifier: Apache-2.0 */
/* What a CalDAV server could answer: it is read within bounds, and paths stay on the server. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "services/calendar/dav-answer.h"
#include "services/calendar/item.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
	if (!holds)
		abort();
}

static int check(void *context, const struct dav_response *r)
{
	auto_arena a = { 0 };
	auto_item item = NULL;
	const char *path = dav_answer_path(r->href, "https://example.com:443", &a);

	(void)context;
	require(strlen(r->href) <= DAV_ANSWER_TEXT);
	require(!path || (path[0] == '/' && path[1] != '/' && !strstr(path, "/../")));
	if (r->object)
		(void)item_parse(&item, r->object, strlen(r->object));
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int r = dav_answer_read((const char *)data, size, check, NULL);

	require(r == 0 || r == -EBADMSG || r == -ENOMEM);
	return 0;
}
