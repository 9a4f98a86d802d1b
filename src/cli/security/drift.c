/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Profiles (profiles/NAME.yaml of the configuration) and wrappers that are not what they were when
 * they were seen first, or accepted last. A change by the person is a finding, too: it is accepted
 * in one word. A wrapper that another program of its name stands before in PATH is not used.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/buffer.h"
#include "base/fd.h"
#include "base/file.h"
#include "base/path.h"
#include "cli/output.h"
#include "cli/security/findings.h"
#include "cli/security/known.h"

enum { DRIFT_FILE_MAX = 256 << 10, DRIFT_PROFILES_MAX = 256, DRIFT_FOLDERS_MAX = 64 };

static void drift_tell(struct security *s, const char *path, const char *what, bool is_gone)
{
	auto_buffer text = { 0 };

	buffer_printf(&text, "the %s ", what);
	buffer_add_visible(&text, path, strlen(path));
	buffer_adds(&text, is_gone ? " is gone" : " was changed");
	security_add(s, "drift", SECURITY_MEDIUM, path, buffer_text(&text),
		is_gone ? "put it back; if you removed it: `corral security --accept`"
			: "look at it; if you changed it: `corral security --accept`");
}

/* A regular file, whole; links are followed. */
static bool drift_read(const char *path, struct buffer *out)
{
	auto_fd fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;

	return fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
	       file_read_fd(fd, DRIFT_FILE_MAX, out) == 0;
}

/* Profiles */

static void drift_check_profiles(struct security *s, struct security_known *k, const char *config)
{
	const char *folder = config ? arena_printf(s->call->arena, "%s/profiles", config) : NULL;
	DIR *dir = folder ? opendir(folder) : NULL;
	const struct dirent *entry;
	size_t n = 0;

	while (dir && (entry = readdir(dir)) && n++ < DRIFT_PROFILES_MAX) {
		const size_t len = strlen(entry->d_name);
		char path[PATH_BYTES];
		auto_buffer text = { 0 };

		if (len <= 5 || strcmp(entry->d_name + len - 5, ".yaml") != 0 ||
			snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name) >=
				(int)sizeof(path) ||
			!drift_read(path, &text))
			continue;
		if (known_compare(k, path, buffer_text(&text), text.len) == KNOWN_CHANGED)
			drift_tell(s, path, "profile", false);
	}
	if (dir)
		(void)closedir(dir);
}

/* Wrappers */

/* The word behind " --OPTION" in a script, in the arena; NULL: there is none. */
static const char *drift_option(struct arena *a, const char *text, const char *option)
{
	const char *at = strstr(text, option);

	if (!at)
		return NULL;
	at += strlen(option);
	at += strspn(at, " =");
	return arena_strndup(a, at, strcspn(at, " \t\r\n\"';&|"));
}

static bool drift_is_wrapper(const char *text)
{
	return strncmp(text, "#!", 2) == 0 && strstr(text, "corral run ");
}

struct drift_search {
	struct security *s;
	struct security_known *k;
	void (*tell)(void *data, const struct security_wrapper *w);
	void *data;
};

/* One program of an agent's name in a folder of PATH. first: one before it, or NULL. */
static void drift_visit(
	struct drift_search *d, const char *agent, const char *path, const char *first)
{
	struct arena *a = d->s->call->arena;
	struct security_wrapper w = { .name = agent, .path = path, .agent = agent };
	auto_buffer text = { 0 };
	enum known_state state;

	if (!drift_read(path, &text) || !drift_is_wrapper(buffer_text(&text)))
		return;
	state = known_compare(d->k, path, buffer_text(&text), text.len);
	w.state = state == KNOWN_SAME && !first ? "installed" : "drifted";
	if (state != KNOWN_SAME)
		w.why = "it was changed";
	else if (first)
		w.why = arena_printf(a, "%s stands before it in PATH", first);
	w.profile = drift_option(a, buffer_text(&text), " --profile");
	if (!w.profile)
		w.profile = drift_option(a, buffer_text(&text), " --mode");
	d->tell(d->data, &w);
}

/* Folders of PATH, *ret_path of them, and those in which people keep programs of their own. */
static size_t drift_folders(
	struct security *s, const char *ret[DRIFT_FOLDERS_MAX], size_t *ret_path)
{
	static const char *const own[] = { "bin", ".local/bin" };
	const char *rest = getenv("PATH");
	size_t n = 0;

	for (rest = rest ? rest : ""; *rest && n < DRIFT_FOLDERS_MAX - ROWS(own);) {
		const size_t len = strcspn(rest, ":");

		if (rest[0] == '/')
			ret[n++] = arena_strndup(s->call->arena, rest, len);
		rest += len + (rest[len] == ':');
	}
	*ret_path = n;
	for (size_t i = 0; s->home && i < ROWS(own); i++)
		ret[n++] = arena_printf(s->call->arena, "%s/%s", s->home, own[i]);
	return n;
}

/* Programs of one agent's name. The first in PATH is the one that is run; /bin may be /usr/bin. */
static void drift_search_one(struct drift_search *d, const char *agent, const char *const *folders,
	size_t n, size_t path)
{
	struct stat seen[DRIFT_FOLDERS_MAX];
	const char *first = NULL;
	size_t n_seen = 0;

	for (size_t i = 0; i < n; i++) {
		const char *file =
			folders[i] ? arena_printf(d->s->call->arena, "%s/%s", folders[i], agent)
				   : NULL;
		struct stat *st = &seen[n_seen];
		size_t k = 0;

		if (!file || stat(file, st) < 0 || !S_ISREG(st->st_mode) || !(st->st_mode & 0111))
			continue;
		while (k < n_seen && (seen[k].st_ino != st->st_ino || seen[k].st_dev != st->st_dev))
			k++;
		if (k < n_seen)
			continue;
		n_seen++;
		/* Outside of our own PATH it is unknown what a shell would find first. */
		drift_visit(d, agent, file, i < path ? first : NULL);
		first = first ? first : file;
	}
}

static void drift_search(struct drift_search *d)
{
	const char *folders[DRIFT_FOLDERS_MAX];
	size_t path, n = drift_folders(d->s, folders, &path);

	for (const char *const *agent = security_agents(); *agent; agent++)
		drift_search_one(d, *agent, folders, n, path);
}

/* Whether a recorded path is a wrapper's, and not a profile's. */
static bool drift_is_program(const char *path)
{
	return security_is_agent(strrchr(path, '/') ? strrchr(path, '/') + 1 : path);
}

static void drift_tell_missing(struct drift_search *d)
{
	for (size_t i = 0; i < d->k->n; i++) {
		const struct known_file *f = &d->k->items[i];
		const struct security_wrapper w = { .name = strrchr(f->path, '/') + 1,
			.path = f->path,
			.agent = strrchr(f->path, '/') + 1,
			.state = "missing",
			.why = "it is gone, or runs its agent no more by `corral run`" };

		if (!f->is_there && drift_is_program(f->path))
			d->tell(d->data, &w);
	}
}

void security_each_wrapper(
	struct security *s, void (*tell)(void *data, const struct security_wrapper *w), void *data)
{
	struct security_known k;
	struct drift_search d = { s, &k, tell, data };

	known_open(&k, s);
	drift_search(&d);
	drift_tell_missing(&d);
}

static void drift_tell_wrapper(void *data, const struct security_wrapper *w)
{
	struct security *s = data;
	auto_buffer text = { 0 };

	if (strcmp(w->state, "installed") == 0 || (s->accepts && strcmp(w->state, "missing") == 0))
		return;
	buffer_adds(&text, "the wrapper ");
	buffer_add_visible(&text, w->path, strlen(w->path));
	buffer_printf(&text, " of %s is not what it was: %s", w->agent, w->why);
	security_add(s, "drift", SECURITY_HIGH, w->path, buffer_text(&text),
		strstr(w->why, "before it in PATH")
			? "put the wrapper's folder first in PATH, or remove the other program"
			: "look at it, and put it right; if you changed it: `corral security "
			  "--accept`");
}

void security_check_drift(struct security *s)
{
	struct security_known k;
	struct drift_search d = { s, &k, drift_tell_wrapper, s };

	known_open(&k, s);
	drift_check_profiles(s, &k, s->config);
	drift_search(&d);
	drift_tell_missing(&d);
	for (size_t i = 0; !s->accepts && i < k.n; i++)
		if (!k.items[i].is_there && !drift_is_program(k.items[i].path))
			drift_tell(s, k.items[i].path, "profile", true);
	known_close(&k);
}
