/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Grants of the Native Security Enclave: roots, commands and hosts, changed by an application while
 * it runs. Nothing else is granted, so a list that is absent is an empty one.
 *
 * A command is allowed "exactly or by prefix". We take that by whole words: `git` is the program
 * with any arguments, `git status` is git whose arguments start with status. A prefix of the
 * letters would let `git` start git-anything.
 */
#include <errno.h>
#include <string.h>

#include "base/buffer.h"
#include "base/path.h"
#include "policy/match/glob.h"
#include "policy/format/internal.h"

/* A folder and all below it. Its name is taken literally, but for ~ and $NAME. */
static int read_root(const struct field *f, void *into)
{
	struct permissions *p = ((struct manifest *)into)->permissions;
	auto_buffer pattern = { 0 };
	const char *text = NULL, *rest;
	char normal[PATH_BYTES];
	size_t start, len = 0;
	int r = field_text(f, &text);

	if (r < 0)
		return r;
	start = text[0] == '~' || text[0] == '$' ? strcspn(text, "/") : 0;
	rest = text + start;
	/* Only after a variable may there be nothing. */
	if ((*rest || start == 0) && path_normalize(rest, strlen(rest), normal, &len) < 0)
		return field_fail(f, "`%s` is not an absolute path", text);
	buffer_add(&pattern, text, start);
	if (len > 1)
		glob_print_literal(normal, len, &pattern);
	buffer_adds(&pattern, "/**");
	if (pattern.failed)
		return field_result(f, -ENOMEM);
	r = manifest_grant(f, p, &p->fs_read, OPERATION_FS_READ, buffer_text(&pattern));
	if (r == 0)
		r = manifest_grant(f, p, &p->fs_write, OPERATION_FS_WRITE, buffer_text(&pattern));
	return r;
}

static int read_command(const struct field *f, void *into)
{
	struct permissions *p = ((struct manifest *)into)->permissions;
	const char *text = NULL;
	auto_buffer pattern = { 0 };
	int r = field_text(f, &text);

	if (r < 0)
		return r;
	if (strchr(text, '*'))
		return field_fail(f, "`%s`: commands cannot contain wildcards; use a prefix", text);
	for (const char *c = text; *c; c++) {
		if (*c == '\\' || *c == ':')
			buffer_addc(&pattern, '\\');
		buffer_addc(&pattern, *c);
	}
	buffer_adds(&pattern, ":*");
	if (pattern.failed)
		return field_result(f, -ENOMEM);
	return manifest_grant(f, p, &p->exec, OPERATION_EXEC, buffer_text(&pattern));
}

static int read_host(const struct field *f, void *into)
{
	struct permissions *p = ((struct manifest *)into)->permissions;
	const char *text = NULL;
	int r = field_text(f, &text);

	if (r < 0)
		return r;
	return manifest_grant(f, p, &p->network_allow, OPERATION_NET_CONNECT, text);
}

static const struct field_key enclave_keys[] = {
	FIELD_EACH("allowed_roots", read_root),
	FIELD_EACH("allowed_commands", read_command),
	FIELD_EACH("allowed_hosts", read_host),
	FIELD("session_id", TEXT, manifest_text, .how = MANIFEST_TEXT(session_id)),
	FIELD("name", TEXT, manifest_text, .how = MANIFEST_TEXT(name)),
	FIELD("version", TEXT, manifest_text, .how = MANIFEST_TEXT(version)),
	FIELD("description", TEXT, manifest_text, .how = MANIFEST_TEXT(description)),
	FIELD("user_id", OTHER, manifest_keep),
	FIELD("created_at", OTHER, manifest_keep),
	FIELD("updated_at", OTHER, manifest_keep),
};
const struct field_table manifest_enclave_table = FIELD_TABLE(enclave_keys);
