/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include <string.h>

#include "daemon/dashboard/asset.h"
#include "daemon/route.h"

static void test_find(void **state)
{
	(void)state;
	assert_non_null(asset_find("/"));
	assert_null(asset_find(""));
	assert_null(asset_find("/index.html"));
	assert_null(asset_find("//"));
	assert_null(asset_find("/../app.js"));
}

static void test_table(void **state)
{
	size_t bytes = 0;

	(void)state;
	for (size_t i = 0; i < assets_count; i++) {
		const struct asset *a = &assets[i];

		assert_ptr_equal(asset_find(a->path), a);
		assert_true(a->path[0] == '/');
		/* None takes a place of the API. */
		assert_true(strncmp(a->path, "/api/", 5) != 0 && strncmp(a->path, "/sse/", 5) != 0);
		assert_true(a->etag[0] == '"' && strlen(a->etag) == 26);
		assert_true(a->len > 18 && a->data[0] == 0x1f && a->data[1] == 0x8b);
		bytes += a->len;
	}
	/* What a browser loads before it shows anything. */
	assert_true(bytes <= ASSETS_BYTES_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_find),
		cmocka_unit_test(test_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
