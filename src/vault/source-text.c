/* SPDX-License-Identifier: Apache-2.0 */
#include "vault/source-text.h"

#include <errno.h>
#include <string.h>

#include "vault/format.h"

static const char *const source_kinds[SOURCE_KINDS] = {
	"file:", "env:", "cmd:", "secret-service:"
};

static bool source_has_control(const char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < ' ' || *text == 127)
			return true;
	return false;
}

static int source_check_rest(enum source_kind kind, const char *rest, struct error *e)
{
	switch (kind) {
	case SOURCE_FILE:
	case SOURCE_CMD:
		if (rest[0] != '/')
			return error_set(
				e, -EINVAL, NULL, "%s needs an absolute path", source_kinds[kind]);
		break;
	case SOURCE_ENV:
		if (!vault_name_is_valid(rest) || strpbrk(rest, ".-"))
			return error_set(e, -EINVAL, NULL, "env: needs the name of a variable");
		break;
	default:
		if (!strchr(rest, '=') || rest[0] == '=')
			return error_set(e, -EINVAL, NULL,
				"secret-service: needs attributes, as in service=github,user=me");
		break;
	}
	return (int)kind;
}

int source_text_check(const char *text, const char **ret_rest, struct error *e)
{
	if (strnlen(text, VAULT_TEXT_MAX) >= VAULT_TEXT_MAX || source_has_control(text))
		return error_set(e, -EINVAL, NULL, "the source is too long, or not plain text");
	for (enum source_kind kind = 0; kind < SOURCE_KINDS; kind++) {
		const size_t len = strlen(source_kinds[kind]);

		if (strncmp(text, source_kinds[kind], len) != 0)
			continue;
		*ret_rest = text + len;
		return source_check_rest(kind, text + len, e);
	}
	(void)error_set(e, -EINVAL, NULL, "`%s` is not a source", text);
	error_hint(e, "file:PATH, env:NAME, cmd:PROGRAM WORD..., secret-service:NAME=VALUE,...");
	return -EINVAL;
}
