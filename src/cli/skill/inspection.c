/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/skill/inspection.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "policy/format/permissions-text.h"

static int inspection_no_memory(struct call *c)
{
	return error_no_memory(c->error);
}

int inspection_store(struct call *c, const char **ret)
{
	const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");

	if (state && state[0] == '/')
		*ret = arena_printf(c->arena, "%s/corral/approvals", state);
	else if (home && home[0] == '/')
		*ret = arena_printf(c->arena, "%s/.local/state/corral/approvals", home);
	else
		return error_set(c->error, -ENOENT, NULL,
			"there is no folder to keep approvals in: HOME is not set");
	return *ret ? 0 : inspection_no_memory(c);
}

static int inspection_open_folder(struct inspection *i, struct call *c, const char *folder)
{
	struct location where = { .file = folder };
	char *real = realpath(folder, NULL);

	i->path = real ? arena_strdup(c->arena, real) : NULL;
	i->fd = real ? open(real, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	free(real);
	if (i->fd >= 0)
		return i->path ? 0 : inspection_no_memory(c);
	(void)error_set(c->error, -ENOENT, &where, "cannot be read: %s", strerror(errno));
	if (errno == ENOTDIR)
		error_hint(c->error, "give the skill's folder, not a file in it");
	return -ENOENT;
}

static int read_manifest(struct inspection *i, struct call *c, const char *folder)
{
	struct location where = { .file = folder };
	int r = load_begin(&i->load, c);

	if (r == 0)
		r = load_add(&i->load, c, folder, MANIFEST_UNKNOWN);
	if (r < 0)
		return r;
	i->manifest = &i->load.files[0];
	if (i->manifest->kind == MANIFEST_RULES)
		return error_set(c->error, -EINVAL, &where, "holds rules, and no skill");
	return 0;
}

/* The permissions as an approval keeps them: as text, or as a hash of it if that is very long. */
static int permissions_text(const struct inspection *i, struct call *c, const char **ret)
{
	auto_buffer text = { 0 };
	struct skill_digest hash;
	char hex[SKILL_DIGEST_HEX];

	permissions_print_yaml(i->manifest->permissions, &text);
	if (text.failed)
		return inspection_no_memory(c);
	if (text.len < APPROVAL_TEXT_MAX) {
		*ret = arena_strdup(c->arena, buffer_text(&text));
	} else {
		crypto_hash_sha256(hash.bytes, (const unsigned char *)text.data, text.len);
		skill_digest_hex(&hash, hex);
		*ret = arena_printf(c->arena, "sha256:%s", hex);
	}
	return *ret ? 0 : inspection_no_memory(c);
}

static int check_approval(struct inspection *i, struct call *c)
{
	int r = inspection_store(c, &i->approval.folder);

	if (r == 0)
		r = permissions_text(i, c, &i->approval.permissions);
	if (r < 0)
		return r;
	i->approval.skill = i->path;
	i->approval.digest = i->digest;
	i->outcome = approval_check(&i->approval, c->error);
	return i->outcome < 0 ? i->outcome : 0;
}

int inspection_identify(struct inspection *i, struct call *c, const char *folder)
{
	int r = inspection_open_folder(i, c, folder);

	if (r == 0)
		r = skill_digest(i->fd, &i->digest, c->error);
	if (r == 0)
		r = read_manifest(i, c, folder);
	return r < 0 ? r : check_approval(i, c);
}

static int inspection_describe(struct inspection *i, struct call *c)
{
	size_t counts[SKILL_HIGH + 1] = { 0 };
	int r = describe_permissions(
		i->manifest->permissions, &i->load.variables, c->arena, &i->description);

	for (size_t k = 0; k < i->findings.n; k++)
		counts[i->findings.items[k].severity]++;
	if (r == 0)
		r = describe_rate(&i->description, counts, c->arena);
	return r < 0 ? inspection_no_memory(c) : 0;
}

/* Nothing may have changed since the digest was taken. */
static int inspection_check_unchanged(const struct inspection *i, struct call *c)
{
	struct location where = { .file = i->path };
	struct skill_digest now = { 0 };
	int r = skill_digest(i->fd, &now, c->error);

	if (r == 0 && memcmp(now.bytes, i->digest.bytes, sizeof(now.bytes)) != 0)
		r = error_set(c->error, -ESTALE, &where, "was changed while it was read");
	return r;
}

int inspection_open(struct inspection *i, struct call *c, const char *folder)
{
	int r = inspection_identify(i, c, folder);

	if (r == 0)
		r = skill_scan(i->fd, c->arena, &i->findings, c->error);
	if (r == 0)
		r = inspection_describe(i, c);
	return r < 0 ? r : inspection_check_unchanged(i, c);
}

void inspection_deinit(struct inspection *i)
{
	fd_close(&i->fd);
	load_deinit(&i->load);
}

bool inspection_is_risky(const struct inspection *i)
{
	for (size_t k = 0; k < i->findings.n; k++) {
		if (i->findings.items[k].severity > SKILL_LOW)
			return true;
	}
	return i->findings.more;
}

const char *inspection_outcome_text(int outcome)
{
	static const char *const texts[] = {
		[APPROVAL_CURRENT] = "it is approved as it is",
		[APPROVAL_NONE] = "it was never approved",
		[APPROVAL_CONTENT_CHANGED] = "its files have changed since it was approved",
		[APPROVAL_PERMISSIONS_CHANGED] =
			"its permissions have changed since it was approved",
	};

	return texts[outcome];
}
