/* SPDX-License-Identifier: Apache-2.0 */
#include "vault/source-text.h"

#include <errno.h>
#include <string.h>

#include "base/buffer.h"
#include "mask/mask.h"
#include "vault/format.h"

static const char *const source_kinds[SOURCE_KINDS] = {
	"file:", "env:", "cmd:", "secret-service:", "login:", "link:"
};

static bool source_has_control(const char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < ' ' || *text == 127)
			return true;
	return false;
}

static int source_check_login(const char *rest, struct error *e)
{
	auto_buffer names = { 0 };

	if (mask_file_find(rest, strcspn(rest, "#")))
		return SOURCE_LOGIN;
	for (size_t i = 0; i < mask_files_n; i++)
		buffer_printf(&names, "%slogin:%s", i ? ", " : "", mask_files[i].name);
	(void)error_set(e, -EINVAL, NULL, "`login:%s` is not a file that Corral knows", rest);
	error_hint(e, "it knows %s", buffer_text(&names));
	return -EINVAL;
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
	case SOURCE_LOGIN:
		return source_check_login(rest, e);
	case SOURCE_LINK:
		if (!source_link_is_name(rest))
			return error_set(e, -EINVAL, NULL,
				"link: needs the name of a login of `corral link`");
		break;
	default:
		if (!strchr(rest, '=') || rest[0] == '=')
			return error_set(e, -EINVAL, NULL,
				"secret-service: needs attributes, as in service=github,user=me");
		break;
	}
	return (int)kind;
}

bool source_link_is_name(const char *name)
{
	const size_t len = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-");

	return name[0] >= 'a' && name[0] <= 'z' && name[len] == '\0' && len <= SOURCE_LINK_MAX &&
	       name[len - 1] != '-';
}

int source_link_secret(const char *name, const char *suffix, char ret[SOURCE_LINK_SECRET_BYTES])
{
	size_t n = 0;

	if (!source_link_is_name(name) || strlen(suffix) > 8)
		return -EINVAL;
	n = (size_t)(stpcpy(ret, "LINK_") - ret);
	for (; *name; name++)
		ret[n++] = *name == '-'                   ? '_'
			   : *name >= 'a' && *name <= 'z' ? (char)(*name - 'a' + 'A')
							  : *name;
	memcpy(ret + n, suffix, strlen(suffix) + 1);
	return 0;
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
	error_hint(e, "file:PATH, env:NAME, cmd:PROGRAM WORD..., secret-service:NAME=VALUE,..., "
		      "login:FILE, link:NAME");
	return -EINVAL;
}
