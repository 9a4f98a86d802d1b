/* SPDX-License-Identifier: Apache-2.0 */
#include "wasm/options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

const char *worker_options_value(const char *word, const char *name)
{
	const size_t len = strlen(name);

	return strncmp(word, name, len) == 0 && word[len] == '=' ? word + len + 1 : NULL;
}

int worker_options_number(const char *word, const char *value, uint64_t *ret, struct error *e)
{
	char *end = NULL;

	errno = 0;
	*ret = strtoull(value, &end, 10);
	if (value[0] < '0' || value[0] > '9' || *end || errno)
		return error_set(e, -EINVAL, NULL, "`%.100s` has no valid number", word);
	return 0;
}

static int worker_options_folder(struct worker_options *o, const char *guest, const char *host,
	bool is_writable, struct arena *a, struct error *e)
{
	const struct worker_folder f = { guest, host, is_writable };

	if (o->n_folders == WORKER_FOLDERS_MAX)
		return error_set(e, -EINVAL, NULL, "too many folders");
	if (guest[0] != '/' || !host || host[0] != '/')
		return error_set(e, -EINVAL, NULL, "a folder has no absolute path");
	return ARENA_PUSH(a, o->folders, o->n_folders, o->cap_folders, f) < 0 ? error_no_memory(e)
									      : 0;
}

/* One word; *used says how many it took. */
static int worker_options_take(struct worker_options *o, const char *const *words, size_t n,
	size_t *used, struct arena *a, struct error *e)
{
	const char *word = words[0], *value;
	int r = 0;

	*used = 1;
	if ((value = worker_options_value(word, "memory")))
		return worker_options_number(word, value, &o->memory, e);
	if ((value = worker_options_value(word, "fuel")))
		return worker_options_number(word, value, &o->fuel, e);
	if (strcmp(word, "input") == 0)
		o->has_input = true;
	else if ((value = worker_options_value(word, "export")))
		o->export = value;
	else if ((value = worker_options_value(word, "env")))
		r = ARENA_PUSH(a, o->variables, o->n_variables, o->cap_variables, value);
	else if ((value = worker_options_value(word, "grant")))
		r = ARENA_PUSH(a, o->grants, o->n_grants, o->cap_grants, value);
	else if ((value = worker_options_value(word, "ro")) ||
		 (value = worker_options_value(word, "rw"))) {
		*used = 2;
		return worker_options_folder(
			o, value, n > 1 ? words[1] : NULL, word[1] == 'w', a, e);
	} else
		return error_set(e, -EINVAL, NULL, "unknown word `%.100s`", word);
	return r < 0 ? error_no_memory(e) : 0;
}

int worker_options_read(struct worker_options *ret, const char *const *words, size_t n,
	struct arena *a, struct error *e)
{
	struct worker_options o = { .memory = WORKER_MEMORY_MAX, .fuel = WORKER_FUEL_NONE };
	size_t i = 0, used = 0;

	for (; i < n && strcmp(words[i], "--") != 0; i += used) {
		int r = worker_options_take(&o, words + i, n - i, &used, a, e);

		if (r < 0)
			return r;
	}
	if (i >= n)
		return error_set(e, -EINVAL, NULL, "the arguments of the module are missing");
	if (o.memory > WORKER_MEMORY_MAX)
		o.memory = WORKER_MEMORY_MAX;
	o.args = words + i + 1;
	o.n_args = n - i - 1;
	*ret = o;
	return 0;
}

bool worker_options_grants(const struct worker_options *o, const char *name)
{
	for (size_t i = 0; i < o->n_grants; i++) {
		if (strcmp(o->grants[i], name) == 0)
			return true;
	}
	return false;
}
