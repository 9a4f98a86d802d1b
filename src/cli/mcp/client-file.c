/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/mcp/client-file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/file.h"
#include "cli/verb.h"
#include "host/links.h"

/* Where it is */

static bool client_file_join(const struct client_file *f, const char *folder, char out[PATH_BYTES])
{
	char other[PATH_BYTES];

	if (!f->below[0]) /* the variable names the file itself */
		return snprintf(out, PATH_BYTES, "%s", folder) < PATH_BYTES;
	if (!path_join(out, folder, f->below))
		return false;
	if (f->also && access(out, F_OK) < 0 && path_join(other, folder, f->also) &&
		access(other, F_OK) == 0)
		memcpy(out, other, PATH_BYTES);
	return true;
}

static int client_file_name_user(struct client_place *p, struct call *c)
{
	for (const struct client_file *f = p->client->files; f->variable; f++) {
		const char *folder = secure_getenv(f->variable);

		if (folder && folder[0] == '/' && client_file_join(f, folder, p->named))
			return 0;
	}
	return error_set(c->error, -ENOENT, NULL, "HOME is not set: where is the file of %s?",
		p->client->title);
}

static int client_file_name(struct client_place *p, const char *file, bool is_project,
	struct call *c, char here[PATH_BYTES])
{
	if (!getcwd(here, PATH_BYTES))
		return error_set(c->error, -errno, NULL, "cannot tell the current folder: %s",
			strerror(errno));
	if (is_project && !p->client->project.below) {
		(void)error_set(
			c->error, -EINVAL, NULL, "%s has no file for a project", p->client->title);
		error_hint(c->error, "without --project it is the user's");
		return -EINVAL;
	}
	if (file && (file[0] == '/' ? snprintf(p->named, PATH_BYTES, "%s", file) >= PATH_BYTES
				    : !path_join(p->named, here, file)))
		return error_set(c->error, -ENAMETOOLONG, NULL, "%s: the name is too long", file);
	if (file)
		return 0;
	if (!is_project)
		return client_file_name_user(p, c);
	return client_file_join(&p->client->project, here, p->named)
		       ? 0
		       : error_set(c->error, -ENAMETOOLONG, NULL, "%s: the name is too long", here);
}

/* Whether others could put another file in its place, or change it. */
static int client_file_check(const struct client_place *p, struct call *c)
{
	struct stat folder;

	if (fstat(p->host.folder, &folder) < 0)
		return error_set(c->error, -errno, NULL, "%s: %s", p->path, strerror(errno));
	if (p->host.exists && (p->host.before.st_mode & S_IWOTH)) {
		(void)error_set(c->error, -EPERM, NULL,
			"%s may be written by every user, who could change what %s starts", p->path,
			p->client->title);
		error_hint(c->error, "chmod o-w %s", p->path);
		return -EPERM;
	}
	if ((folder.st_mode & S_IWOTH) && !(folder.st_mode & S_ISVTX)) {
		(void)error_set(c->error, -EPERM, NULL,
			"the folder of %s may be written by every user, who could exchange it",
			p->path);
		error_hint(c->error, "take that right away with chmod o-w");
		return -EPERM;
	}
	return 0;
}

static int client_file_refuse(const struct client_place *p, int r, struct call *c)
{
	if (r == -EINVAL) {
		(void)error_set(c->error, r, NULL,
			"%s is no regular file that you own, with one name", p->path);
		error_hint(c->error, "put a file of your own in its place");
		return r;
	}
	return error_set(c->error, r, NULL, "cannot open %s: %s", p->path, strerror(-r));
}

static int client_file_read(struct client_place *p, struct call *c)
{
	auto_fd fd = openat(p->host.folder, p->host.name,
		O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat st = { 0 };
	int r = fd < 0 || fstat(fd, &st) < 0 ? -errno : 0;

	if (r == 0 && (st.st_dev != p->host.before.st_dev || st.st_ino != p->host.before.st_ino))
		r = -ESTALE;
	if (r == 0)
		r = file_read_fd(fd, PLACES_BYTES_MAX, &p->text);
	if (r == -EFBIG)
		return error_set(c->error, r, NULL, "%s is longer than %d MiB: nothing was changed",
			p->path, (int)PLACES_BYTES_MAX >> 20);
	if (r == 0 && !replace_is_same(&p->host))
		r = -ESTALE;
	if (r == -ESTALE)
		return error_set(
			c->error, r, NULL, "%s was changed while it was read: try again", p->path);
	return r < 0 ? error_set(c->error, r, NULL, "cannot read %s: %s", p->path, strerror(-r))
		     : 0;
}

/* A folder that is not there yet is made when something is written; until then there is no file. */
static int client_file_open(struct client_place *p, struct call *c)
{
	int r = replace_open(&p->host, p->path);

	if (r == -ENOENT || r == -ENOTDIR)
		return r == -ENOENT ? 0 : client_file_refuse(p, r, c);
	if (r < 0)
		return client_file_refuse(p, r, c);
	r = client_file_check(p, c);
	p->exists = p->host.exists;
	return r == 0 && p->exists ? client_file_read(p, c) : r;
}

int client_place_open(struct client_place *ret, const struct mcp_client *client, const char *file,
	bool is_project, struct call *c)
{
	char here[PATH_BYTES];
	int r;

	*ret = (struct client_place){ .client = client, .host = REPLACE_NONE };
	r = client_file_name(ret, file, is_project, c, here);
	if (r < 0)
		return r;
	r = links_follow(ret->named, NULL, NULL, ret->path);
	if (r < 0)
		return error_set(
			c->error, r, NULL, "cannot follow %s: %s", ret->named, strerror(-r));
	if (is_project && !file && !path_is_below(ret->path, here)) {
		(void)error_set(c->error, -EPERM, NULL, "%s leads out of the project, to %s",
			ret->named, ret->path);
		error_hint(c->error, "a project could make you change any file of yours; if it is "
				     "meant, name it: --file");
		return -EPERM;
	}
	return client_file_open(ret, c);
}

void client_place_close(struct client_place *p)
{
	replace_close(&p->host);
	buffer_deinit(&p->text);
}

/* Its folder was not there when it was looked at. */
static int client_file_make_folder(struct client_place *p, struct call *c)
{
	char folder[PATH_BYTES], *slash;
	int r;

	memcpy(folder, p->path, PATH_BYTES);
	slash = strrchr(folder, '/');
	if (slash)
		*slash = '\0';
	r = file_make_folders(folder);
	if (r == 0)
		r = replace_open(&p->host, p->path);
	return r < 0 ? error_set(c->error, r, NULL, "cannot make %s: %s", folder, strerror(-r))
		     : client_file_check(p, c);
}

int client_place_put(struct client_place *p, const struct buffer *text, struct call *c)
{
	int r = p->host.folder < 0 ? client_file_make_folder(p, c) : 0;

	if (r < 0)
		return r;
	if (p->host.exists != p->exists)
		r = REPLACE_CHANGED;
	else if (text)
		r = replace_put(&p->host, buffer_text(text), text->len, 0600);
	else if (!replace_is_same(&p->host))
		r = REPLACE_CHANGED;
	else if (unlinkat(p->host.folder, p->host.name, 0) < 0)
		r = -errno;
	if (r == REPLACE_CHANGED) {
		(void)error_set(c->error, -ESTALE, NULL,
			"%s was changed meanwhile, probably by %s: nothing was written", p->path,
			p->client->title);
		error_hint(c->error, "close it, and try again");
		return -ESTALE;
	}
	return r < 0 ? error_set(c->error, r, NULL, "cannot write %s: %s", p->path, strerror(-r))
		     : 0;
}
