/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/enclave/policy.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "audit/place.h"
#include "base/arena.h"
#include "base/array.h"
#include "base/fd.h"
#include "base/file.h"
#include "codec/json-writer.h"
#include "host/daemon-place.h"

enum { POLICY_FILE_MAX = 1 << 20 };

/* The file of that name with either ending: *ret in the arena, NULL if there is none. */
static int policy_find(
	const char *folder, const char *name, struct arena *a, const char **ret, struct stat *st)
{
	static const char *const endings[] = { "yaml", "json" };
	const char *found = NULL;

	*st = (struct stat){ 0 };
	for (size_t i = 0; i < ROWS(endings); i++) {
		const char *path = arena_printf(a, "%s/%s.%s", folder, name, endings[i]);
		struct stat here;

		if (!path)
			return -ENOMEM;
		if (lstat(path, &here) < 0 && errno == ENOENT)
			continue;
		/* A link that leads nowhere is a file that cannot be read, and none that is
		 * missing. */
		if (stat(path, &here) < 0)
			return -errno;
		if (!S_ISREG(here.st_mode))
			return -EINVAL;
		if (found)
			return -EEXIST;
		found = path;
		*st = here;
	}
	*ret = found;
	return 0;
}

static int policy_read(const char *path, struct corral_permissions **ret, struct corral_error **e)
{
	auto_buffer text = { 0 };
	int r = file_read_regular(path, POLICY_FILE_MAX, &text);

	return r < 0 ? r : corral_permissions_parse(ret, path, buffer_text(&text), text.len, e);
}

/* What no grant reaches. */
static int policy_guard(
	const struct bridge *b, struct corral_permissions *p, struct corral_error **e)
{
	auto_buffer runtime = { 0 }, log = { 0 };
	struct error error = { 0 };
	char state[PATH_BYTES];
	const char *folders[] = { b->policy.folder, NULL, NULL };
	char *slash;
	int r = 0;

	if (daemon_place(NULL, &runtime) == 0)
		folders[1] = buffer_text(&runtime);
	if (audit_place(&log, &error) == 0 && log.len < sizeof(state)) {
		memcpy(state, buffer_text(&log), log.len + 1);
		slash = strrchr(state, '/');
		if (slash && slash != state) {
			*slash = '\0';
			folders[2] = state;
		}
	}
	for (size_t i = 0; r == 0 && i < ROWS(folders); i++) {
		auto_buffer pattern = { 0 };

		if (!folders[i])
			continue;
		buffer_printf(&pattern, "%s/{,**}", folders[i]);
		r = corral_permissions_deny(p, CORRAL_FS_READ, buffer_text(&pattern), e);
	}
	return r;
}

/* With the lock: what went wrong with a file, for get_policy and those who listen; r 0: nothing. */
static void policy_note(struct bridge *b, char **place, int r, const struct corral_error *e)
{
	const char *file = e ? corral_error_file(e) : NULL;
	auto_buffer error = { 0 }, json = { 0 };
	struct json_writer w = { .out = &error };

	free(*place);
	*place = NULL;
	if (r < 0) {
		json_open_map(&w, NULL);
		json_put_text(&w, "text",
			e              ? corral_error_message(e)
			: r == -EEXIST ? "there are two of it, with .yaml and .json; remove one"
				       : strerror(-r));
		json_put_text(&w, "file", file ? file : b->policy.folder);
		json_put_count(&w, "line", e ? corral_error_line(e) : 0);
		json_put_count(&w, "column", e ? corral_error_column(e) : 0);
		json_close(&w);
		*place = buffer_take(&error);
	}
	w = (struct json_writer){ .out = &json };
	json_open_map(&w, NULL);
	json_put_text(&w, "name", "enclave");
	json_put_text(&w, "state", r < 0 ? "broken" : b->policy.path ? "in force" : "removed");
	json_put_raw(&w, "error", *place);
	json_close(&w);
	(void)b->tell(b, "policy", &json);
}

static bool policy_is_same(const struct stat *a, const struct stat *b)
{
	return a->st_ino == b->st_ino && a->st_dev == b->st_dev && a->st_size == b->st_size &&
	       a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec &&
	       a->st_ctim.tv_sec == b->st_ctim.tv_sec && a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

/* The grants of a file (NULL: none), or of a text, in force. */
static int policy_apply(struct bridge *b, struct corral_permissions *p, struct corral_update *u,
	struct corral_error **e)
{
	int r = policy_guard(b, p, e);

	return r < 0 ? r : corral_enclave_set_policy(b->enclave, b->token, p, u, e);
}

void policy_refresh(struct bridge *b)
{
	struct bridge_policy *y = &b->policy;
	struct corral_permissions *p = NULL;
	struct corral_error *e = NULL;
	const char *path = NULL;
	auto_arena a = { 0 };
	struct stat st;
	int r;

	(void)pthread_mutex_lock(&y->lock);
	r = policy_find(y->folder, "enclave", &a, &path, &st);
	if (r < 0 ? y->error != NULL : policy_is_same(&st, &y->seen)) {
		(void)pthread_mutex_unlock(&y->lock);
		return;
	}
	if (r < 0)
		memset(&st, 0, sizeof(st));
	y->seen = st;
	if (r == 0)
		r = path ? policy_read(path, &p, &e) : corral_permissions_new(&p);
	if (r == 0)
		r = policy_apply(b, p, NULL, &e);
	if (r == 0) {
		free(y->path);
		y->path = path ? strdup(path) : NULL;
		y->is_set = false;
	}
	policy_note(b, &y->error, r, e);
	(void)pthread_mutex_unlock(&y->lock);
	corral_permissions_free(p);
	corral_error_free(e);
}

void policy_print_missing(struct bridge *b, struct buffer *out)
{
	struct bridge_policy *y = &b->policy;

	(void)pthread_mutex_lock(&y->lock);
	if (!y->path && !y->is_set && !y->error)
		buffer_printf(out, "; nothing is granted: there is no %s/enclave.yaml", y->folder);
	(void)pthread_mutex_unlock(&y->lock);
}

int policy_open(struct bridge *b, const char *folder)
{
	struct corral_enclave_options o = CORRAL_ENCLAVE_OPTIONS;
	const struct corral_permissions *ceiling[1];
	const char *path = NULL, *const guarded[] = { folder };
	struct corral_error *e = NULL;
	auto_arena a = { 0 };
	struct stat st;
	int r;

	b->policy.folder = folder;
	(void)pthread_mutex_init(&b->policy.lock, NULL);
	r = policy_find(folder, "enclave-ceiling", &a, &path, &st);
	if (r == 0 && path)
		r = policy_read(path, &b->policy.ceiling, &e);
	/* Nothing can be granted below a ceiling that cannot be read. */
	if (r < 0) {
		policy_note(b, &b->policy.ceiling_error, r, e);
		corral_error_free(e);
		e = NULL;
		r = corral_permissions_new(&b->policy.ceiling);
	}
	if (r < 0)
		return r;
	ceiling[0] = b->policy.ceiling;
	o.ceiling = ceiling;
	o.n_ceiling = b->policy.ceiling ? 1 : 0;
	o.ceiling_grants = 1;
	o.max_file_bytes = BRIDGE_FILE_MAX;
	o.guarded = guarded;
	o.n_guarded = access(folder, F_OK) == 0 ? 1 : 0;
	r = corral_enclave_new(&b->enclave, &o, b->token, &e);
	corral_error_free(e);
	return r;
}

void policy_close(struct bridge *b)
{
	corral_enclave_free(b->enclave);
	corral_permissions_free(b->policy.ceiling);
	free(b->policy.path);
	free(b->policy.error);
	free(b->policy.ceiling_error);
	(void)pthread_mutex_destroy(&b->policy.lock);
}

/* The calls */

void policy_get(struct bridge *b, struct reply *c)
{
	struct json_writer w = { .out = &c->json };
	struct bridge_policy *y = &b->policy;
	char *json = NULL;
	int r = corral_enclave_get_policy(b->enclave, &json);

	if (r < 0) {
		reply_refuse(c, r, NULL);
		return;
	}
	json_open_map(&w, NULL);
	json_put_raw(&w, "policy", json);
	corral_free(json);
	(void)pthread_mutex_lock(&y->lock);
	json_put_text(&w, "file", y->path);
	json_put_flag(&w, "ceiling", y->ceiling);
	json_put_raw(&w, "error", y->error ? y->error : y->ceiling_error);
	json_end_line(&w);
	(void)pthread_mutex_unlock(&y->lock);
}

/* 1: it was refused. */
static int policy_is_above(
	const struct bridge *b, struct reply *c, const struct corral_permissions *p)
{
	struct corral_error *e = NULL;
	auto_buffer text = { 0 };
	char *witness = NULL;
	int r = b->policy.ceiling
			? corral_permissions_subset(p, b->policy.ceiling, NULL, 0, &witness, &e)
			: 1;

	if (r == 0) {
		buffer_printf(&text, "this is above the ceiling, enclave-ceiling.yaml: %s",
			witness ? witness : "");
		reply_fail(c, 409, buffer_text(&text));
	} else if (r < 0) {
		reply_refuse(c, r, e);
		e = NULL;
	}
	corral_free(witness);
	corral_error_free(e);
	return r != 1;
}

void policy_set(struct bridge *b, struct reply *c)
{
	const char *text = route_value(&c->call, "policy");
	struct json_writer w = { .out = &c->json };
	struct corral_update u = { .size = sizeof(u) };
	struct corral_permissions *p = NULL;
	struct corral_error *e = NULL;
	int r = corral_permissions_parse(&p, "policy", text, strlen(text), &e);

	if (r < 0) {
		reply_refuse(c, r, e);
		c->status = r == -ENOMEM ? 503 : 422;
		return;
	}
	if (policy_is_above(b, c, p) == 0) {
		(void)pthread_mutex_lock(&b->policy.lock);
		r = policy_apply(b, p, &u, &e);
		b->policy.is_set |= r == 0;
		(void)pthread_mutex_unlock(&b->policy.lock);
		if (r < 0) {
			reply_refuse(c, r, e);
		} else {
			json_open_map(&w, NULL);
			json_put_flag(&w, "applied", true);
			json_put_count(&w, "running", u.running);
			json_end_line(&w);
		}
	}
	corral_permissions_free(p);
}

void policy_get_log(struct bridge *b, struct reply *c)
{
	const char *limit = route_value(&c->call, "limit");
	struct json_writer w = { .out = &c->json };
	struct corral_error *e = NULL;
	char *json = NULL;
	int r = corral_enclave_get_audit_log(b->enclave,
		limit && strcmp(limit, "0") != 0 ? strtoull(limit, NULL, 10) : 100, &json, &e);

	if (r < 0) {
		reply_refuse(c, r, e);
	} else {
		json_open_map(&w, NULL);
		json_put_raw(&w, "entries", json);
		json_end_line(&w);
	}
	corral_free(json);
}

/* The log as a text: by a file, as the library has it, in a folder that is ours alone. */
static int policy_print_log(
	struct bridge *b, const char *format, struct buffer *ret, struct corral_error **e)
{
	char folder[] = "/tmp/corrald-enclave-XXXXXX", path[sizeof(folder) + 8];
	int r = mkdtemp(folder) ? 0 : -errno;

	if (r < 0)
		return r;
	(void)snprintf(path, sizeof(path), "%s/log", folder);
	r = corral_enclave_export_audit_log(b->enclave, format, path, e);
	if (r == 0)
		r = file_read(path, BRIDGE_FILE_MAX, ret);
	(void)unlink(path);
	(void)rmdir(folder);
	return r;
}

void policy_export_log(struct bridge *b, struct reply *c)
{
	char room[PATH_BYTES];
	const char *path;
	const char *format = route_value(&c->call, "format");
	struct json_writer w = { .out = &c->json };
	struct corral_error *e = NULL;
	auto_buffer text = { 0 };
	int r;

	if (!reply_path(c, "path", room, &path))
		return;
	r = policy_print_log(b, format ? format : "json", &text, &e);
	/* Into a file only where the policy lets files be written. */
	if (r == 0 && path)
		r = corral_enclave_fs_write(b->enclave, BRIDGE_BY, path, text.data, text.len, &e);
	if (r < 0) {
		reply_refuse(c, r, e);
		return;
	}
	json_open_map(&w, NULL);
	if (path)
		json_put_count(&w, "written", text.len);
	else
		reply_data(&w, "content", buffer_text(&text), text.len, false);
	json_end_line(&w);
}
