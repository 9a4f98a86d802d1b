/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which file, and whether the command is kept from all that a log is made of (audit/place.h). First
 * the policy is asked, by the name that was given and by the place it leads to; then the plan,
 * because what is granted may have links in it, too. A run that would need it otherwise is refused.
 * Of the default place the baseline has the folder.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "audit/place.h"
#include "base/fd.h"
#include "base/path.h"
#include "cli/run/run.h"
#include "host/links.h"

static int run_audit_find_refuse(struct run *r, const char *path, enum audit_reach reach)
{
	const struct location where = { .file = path };
	const char *slash = strrchr(path, '/');

	if (reach == AUDIT_REACH_NONE)
		return 0;
	if (reach == AUDIT_REACH_READ) {
		(void)error_set(r->call->error, -EPERM, &where,
			"the command may read this path, so it could lock the log or use its "
			"signing key");
		error_hint(r->call->error,
			"choose a file that the command may not read, or add --deny %.*s",
			slash == path ? 1 : (int)(slash - path), path);
	} else {
		(void)error_set(r->call->error, -EPERM, &where,
			"the command may write this path, so it could change the log");
		error_hint(r->call->error,
			"choose a file that the command may neither read nor write");
	}
	return -EPERM;
}

/* The i-th of the files of the log at path. */
static int name_of(struct run *r, const char *path, size_t i, char ret[PATH_BYTES])
{
	int n = snprintf(ret, PATH_BYTES, "%s%s", path, audit_reach_files[i].suffix);

	if (n < 0 || n >= PATH_BYTES)
		return error_set(
			r->call->error, -ENAMETOOLONG, NULL, "--audit: the file name is too long");
	return 0;
}

/* What the plan shows of the host's files: links in what was granted lead there, too. */
int run_audit_check(struct run *r)
{
	char name[PATH_BYTES];
	int ret = 0;

	for (size_t i = 0; r->audit.path && ret == 0 && i < AUDIT_REACH_FILES; i++) {
		const struct plan_entry *entry;
		enum audit_reach reach = AUDIT_REACH_NONE;

		ret = name_of(r, r->audit.path, i, name);
		if (ret < 0)
			return ret;
		entry = plan_find(r->plan, name);
		if (entry && entry->kind == PLAN_BIND && entry->writable)
			reach = AUDIT_REACH_WRITE;
		else if (entry && entry->kind == PLAN_BIND && audit_reach_files[i].hidden)
			reach = AUDIT_REACH_READ;
		ret = run_audit_find_refuse(r, r->audit.path, reach);
	}
	return ret;
}

static int cannot(struct run *r, const char *path, const char *what, int error)
{
	const struct location where = { .file = path };

	return error_set(r->call->error, error, &where, "%s: %s", what, strerror(-error));
}

/*
 * What is there already are plain files of ours with no other name. Somebody who could once write
 * to the folder may have left links, and what is written by them would end up elsewhere.
 */
static int look_at_files(struct run *r, const char *path)
{
	char name[PATH_BYTES];
	const struct location where = { .file = name };
	struct stat st;

	for (size_t i = 0; i < AUDIT_REACH_FILES; i++) {
		int ret = name_of(r, path, i, name);

		if (ret < 0)
			return ret;
		ret = lstat(name, &st) < 0 ? -errno : 0;
		if (ret == -ENOENT)
			continue;
		if (ret < 0)
			return cannot(r, name, "cannot be examined", ret);
		/* No name any more: another writer has put a new one in its place. */
		if (!S_ISREG(st.st_mode) || st.st_nlink > 1 || st.st_uid != geteuid())
			return error_set(r->call->error, -EPERM, &where,
				"a log must be a regular file that you own, without symbolic or "
				"hard links");
	}
	return 0;
}

/* It is a log, as far as can be told at once. Nothing is changed. */
static int run_audit_find_look_inside(struct run *r, const char *path)
{
	static const char magic[16] = "SQLite format 3";
	const struct location where = { .file = path };
	auto_fd fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	char head[sizeof(magic)] = "";
	ssize_t n;

	if (fd < 0 && errno == ENOENT)
		return 0;
	if (fd < 0)
		return cannot(r, path, "cannot be read", -errno);
	n = read(fd, head, sizeof(head));
	if (n == 0 || (n == sizeof(head) && memcmp(head, magic, sizeof(magic)) == 0))
		return 0;
	(void)error_set(r->call->error, -EBADMSG, &where,
		"the file exists and is not an audit log (earlier versions wrote JSON Lines)");
	error_hint(r->call->error, "move it or choose another file; it was not changed");
	return -EBADMSG;
}

/* NULL: none. Absolute, but as it was named. */
static int choose(struct run *r, const char **ret, bool *ret_default)
{
	const char *named = r->options.audit ? r->options.audit : getenv("CORRAL_AUDIT");
	auto_buffer place = { 0 };
	int err;

	*ret = NULL;
	*ret_default = false;
	if (!named || !*named || strcmp(named, "none") == 0)
		return 0;
	if (strcmp(named, "default") != 0)
		return load_absolute(r->call, named, ret);
	*ret_default = true;
	err = audit_place(&place, r->call->error);
	return err < 0 ? err : load_absolute(r->call, buffer_text(&place), ret);
}

int run_audit_find(struct run *r)
{
	const char *named;
	char real[PATH_BYTES], folder[PATH_BYTES];
	bool is_default;
	int ret = choose(r, &named, &is_default);

	if (ret < 0 || !named)
		return ret;
	ret = links_follow(named, NULL, NULL, real);
	if (ret < 0)
		return cannot(r, named, "cannot be found", ret);
	if (r->policy)
		ret = run_audit_find_refuse(r, named, audit_reach(r->policy, named));
	if (ret == 0 && r->policy && strcmp(named, real) != 0)
		ret = run_audit_find_refuse(r, real, audit_reach(r->policy, real));
	/* Before the plan is made, which hides only what is there. */
	if (ret == 0 && is_default)
		ret = audit_place_make(real, r->call->error);
	if (ret < 0)
		return ret;
	(void)snprintf(folder, sizeof(folder), "%.*s", (int)(strrchr(real, '/') - real), real);
	if (access(folder[0] ? folder : "/", W_OK | X_OK) < 0)
		return cannot(r, real, "cannot be written", -errno);
	ret = look_at_files(r, real);
	if (ret == 0)
		ret = run_audit_find_look_inside(r, real);
	if (ret < 0)
		return ret;
	r->audit.path = arena_strdup(r->call->arena, real);
	if (!r->audit.path)
		return error_no_memory(r->call->error);
	/* The next run is to write to the same log: the links to it stay as they are. */
	return strcmp(named, real) != 0 ? run_guard(r, named) : 0;
}
