/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSONTestSuite: y_ files must be read, n_ files refused, i_ files may go either way but must not
 * do harm. The files are not part of this project: they stand in json/ of the folder that
 * $CORRAL_TEST_DATA names, or else the first argument. Where that folder is absent the suite is
 * left out by name; where it is present but the files are not, it fails.
 *
 * Speaks TAP itself, so that every file is a test with its own name.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/buffer.h"
#include "base/file.h"
#include "codec/json.h"

/* Valid by RFC 8259, and refused by us. */
static const struct {
	const char *name, *reason;
} stricter[] = {
	{ "y_object_duplicated_key.json",
		"two readers could take different ones, so no key may stand twice" },
	{ "y_object_duplicated_key_and_value.json",
		"two readers could take different ones, so no key may stand twice" },
	{ "y_object_escaped_null_in_key.json", "text is NUL-terminated: no NUL in keys" },
	{ "y_string_null_escape.json", "text is NUL-terminated: no NUL in strings" },
};

static bool is_stricter(const char *name)
{
	for (size_t i = 0; i < ROWS(stricter); i++) {
		if (strcmp(stricter[i].name, name) == 0)
			return true;
	}
	return false;
}

/* Prints one line of TAP; false if the file was not read as its name demands. */
static bool run(const char *folder, const char *name, unsigned number)
{
	auto_document d = { 0 };
	auto_buffer path = { 0 }, text = { 0 };
	struct error e = { 0 };
	bool good;
	int r;

	buffer_printf(&path, "%s/%s", folder, name);
	if (file_read(buffer_text(&path), NODE_INPUT_MAX, &text) < 0) {
		printf("not ok %u - %s: cannot be opened\n", number, name);
		return false;
	}
	r = json_read(&d, name, text.data, text.len, &e);
	good = name[0] == 'y' ? (r == 0) != is_stricter(name) : name[0] == 'i' || r < 0;
	good = good && (r == 0 ? d.root != NULL : !d.root && e.text[0]);
	printf("%sok %u - %s\n", good ? "" : "not ", number, name);
	if (!good)
		printf("# %d, %u:%u: %s\n", r, e.line, e.column, e.text);
	return good;
}

static int compare(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static int is_case(const struct dirent *entry)
{
	return strlen(entry->d_name) > 2 && strchr("yni", entry->d_name[0]) &&
	       entry->d_name[1] == '_';
}

static int run_all(const char *folder)
{
	struct dirent **cases = NULL;
	int n = scandir(folder, &cases, is_case, compare);
	bool good = n > 0;

	printf("1..%d\n", n > 0 ? n : 1);
	if (n <= 0)
		printf("not ok 1 - no cases in %s\n", folder);
	for (int i = 0; i < n; i++) {
		good = run(folder, cases[i]->d_name, (unsigned)i + 1) && good;
		free(cases[i]);
	}
	free(cases);
	return good ? EXIT_SUCCESS : EXIT_FAILURE;
}

int main(int argc, char **argv)
{
	const char *data = getenv("CORRAL_TEST_DATA");
	auto_buffer folder = { 0 };

	if (!data)
		data = argc > 1 ? argv[1] : "../shared/data";
	buffer_printf(&folder, "%s/json", data);
	if (access(buffer_text(&folder), R_OK) < 0) {
		printf("1..0 # SKIP third-party cases not present: %s\n", buffer_text(&folder));
		return EXIT_SUCCESS;
	}
	return run_all(buffer_text(&folder));
}
