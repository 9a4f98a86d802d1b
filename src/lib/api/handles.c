/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/api/handles.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/path.h"
#include "lib/process/denial.h"
#include "policy/format/permissions-text.h"

/* No struct of ours is this long: the caller did not set the size. */
enum { SIZE_MAX_SANE = 1 << 16 };

#define HOME_DEFAULT "/home/user"

int handles_error(struct corral_error **ret, const struct error *e, int code)
{
	struct corral_error *copy = ret ? calloc(1, sizeof(*copy)) : NULL;
	auto_buffer text = { 0 };

	if (ret)
		*ret = copy;
	if (!copy)
		return code;
	copy->e = *e;
	if (!copy->e.text[0])
		error_set(&copy->e, code, NULL, code == -ENOMEM ? "out of memory" : "error %d",
			-code);
	error_print(&copy->e, &text);
	copy->message = buffer_take(&text);
	return code;
}

int handles_denied(
	struct corral_error **ret, const struct error *e, int code, const struct corral_denial *d)
{
	(void)handles_error(ret, e, code);
	if (ret && *ret && d)
		(*ret)->denial = denial_copy(d);
	return code;
}

int handles_variables(
	struct variables *ret, const struct corral_variable *from, size_t n, struct error *e)
{
	*ret = (struct variables){ 0 };
	for (size_t i = 0; i < n; i++) {
		enum variable v;

		if (!from[i].name || variable_parse(from[i].name, strlen(from[i].name), &v) < 0)
			return error_set(e, -EINVAL, NULL, "unknown variable %s",
				from[i].name ? from[i].name : "(null)");
		if (!from[i].value || !path_is_normal(from[i].value, strlen(from[i].value)))
			return error_set(e, -EINVAL, NULL,
				"the value of %s must be an absolute path without . or ..",
				from[i].name);
		ret->values[v] = from[i].value;
	}
	return 0;
}

int handles_read(void *ret, size_t known, const void *from, size_t size)
{
	const unsigned char *bytes = from;

	if (size < sizeof(size) || size > SIZE_MAX_SANE)
		return -EINVAL;
	for (size_t i = known; i < size; i++) {
		if (bytes[i])
			return -E2BIG;
	}
	memset(ret, 0, known);
	memcpy(ret, from, size < known ? size : known);
	return 0;
}

int handles_read_options(void *ret, size_t known, const void *from, const char *name,
	const char *start, struct error *e)
{
	int r = from ? handles_read(ret, known, from, *(const size_t *)from) : 0;

	if (r == -EINVAL)
		return error_set(
			e, r, NULL, "struct %s has no size; start it with %s", name, start);
	return r < 0 ? error_set(e, r, NULL,
			       "the options request something that this version of libcorral "
			       "does not support")
		     : 0;
}

int handles_text(struct buffer *text, char **ret)
{
	char *taken = buffer_take(text);

	if (!taken)
		return -ENOMEM;
	*ret = taken;
	return 0;
}

const char *handles_home(void)
{
	const char *home = secure_getenv("HOME");

	return home && path_is_normal(home, strlen(home)) ? home : HOME_DEFAULT;
}

/* What a host asks an error, and gives back */

const char *corral_error_message(const struct corral_error *e)
{
	if (!e)
		return "out of memory";
	return e->message ? e->message : e->e.text;
}

const char *corral_error_file(const struct corral_error *e)
{
	return e->e.file[0] ? e->e.file : NULL;
}

unsigned corral_error_line(const struct corral_error *e)
{
	return e->e.line;
}

unsigned corral_error_column(const struct corral_error *e)
{
	return e->e.column;
}

const struct corral_denial *corral_error_denial(const struct corral_error *e)
{
	return e ? e->denial : NULL;
}

void corral_error_free(struct corral_error *e)
{
	if (!e)
		return;
	free(e->message);
	denial_free(e->denial);
	free(e);
}

void corral_free(char *text)
{
	free(text);
}

const char *corral_version(void)
{
	return CORRAL_VERSION;
}

static bool handles_mention(const struct buffer *permissions, const char *variable)
{
	char pattern[32];

	(void)snprintf(pattern, sizeof(pattern), "$%s", variable);
	return permissions->failed || strstr(buffer_text(permissions), pattern);
}

size_t handles_name_variables(const struct variables *from, const struct corral_permissions *all,
	struct corral_variable ret[VARIABLE_COUNT])
{
	auto_buffer text = { 0 };
	size_t n = 0;

	permissions_print_json(all->p, &text);
	for (int i = 0; i < VARIABLE_COUNT; i++) {
		const char *name = variable_name((enum variable)i), *value = from->values[i];
		const bool is_own = i == VARIABLE_HOME || i == VARIABLE_TEMP;
		struct stat st;

		if (value && (is_own || handles_mention(&text, name) || stat(value, &st) == 0))
			ret[n++] = (struct corral_variable){ name, value };
	}
	return n;
}
