/* SPDX-License-Identifier: Apache-2.0 */
#include "services/calendar/store.h"

#include <errno.h>
#include <string.h>

#include "base/ascii.h"
#include "base/utf8.h"

void store_lists_deinit(struct store_lists *l)
{
	arena_deinit(&l->arena);
	*l = (struct store_lists){ 0 };
}

bool store_name_is_valid(const char *name, size_t len)
{
	if (len == 0 || len > STORE_NAME_MAX || !utf8_valid(name, len, NULL))
		return false;
	for (size_t i = 0; i < len;) {
		uint32_t c;
		const size_t n = utf8_decode(name + i, len - i, &c);

		/* What cannot be seen would make two names look like one. */
		if (ascii_is_control(name[i]) || utf8_is_deceptive(c))
			return false;
		i += n;
	}
	return true;
}

size_t store_lists_count(const struct store_lists *l, const char *name)
{
	size_t n = 0;

	for (size_t i = 0; i < l->n; i++)
		n += strcmp(l->items[i].name, name) == 0;
	return n;
}

int store_list_find(const struct store_lists *l, const char *name, const struct store_list **ret,
	struct error *e)
{
	const struct store_list *found = NULL;

	if (store_lists_count(l, name) > 1)
		return error_set(e, -ENOTUNIQ, NULL,
			"two lists are called `%s`; give one of them another name", name);
	for (size_t i = 0; i < l->n; i++)
		if (strcmp(l->items[i].name, name) == 0)
			found = &l->items[i];
	if (!found)
		return error_set(e, -ENOENT, NULL, "there is no list `%s`", name);
	*ret = found;
	return 0;
}
