/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A server over HTTP is a command like any other: corral-mcp-remote, in a sandbox of which the
 * policy is made here. It grants that program and nothing else; the host comes by --net, the secret
 * by --secret, for that host alone.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/file.h"
#include "base/path.h"
#include "cli/mcp/verbs.h"
#include "cli/mcp/verb-wrap.h"
#include "cli/run/run.h"
#include "codec/json-writer.h"
#include "host/authorities.h"
#include "mcp/remote/endpoint.h"

enum {
	REMOTE_WORDS_MAX = 8,
	REMOTE_HEADERS_MAX = 32,
	REMOTE_PIDS = 256, /* threads that look up names */
};
#define REMOTE_MEMORY "512M"

struct remote_words {
	const char *url, *secret;
	struct options_list headers;
};

/* The program; NULL: there is none, and the error says so. */
static const char *remote_program(struct call *c)
{
	const char *named = secure_getenv("CORRAL_MCP_REMOTE");
	const char *path = named && *named ? named : CORRAL_MCP_REMOTE_PATH;

	if (!*path) {
		(void)error_set(c->error, -EOPNOTSUPP, NULL,
			"this Corral was built without libcurl, so it speaks to no server over "
			"HTTP");
		return NULL;
	}
	if (!path_is_normal(path, strlen(path)) || path[0] != '/' || strpbrk(path, "*?[]{}\\$")) {
		(void)error_set(c->error, -EINVAL, NULL,
			"CORRAL_MCP_REMOTE: `%.100s` must be an absolute path, and have none of "
			"*?[]{}\\$",
			path);
		return NULL;
	}
	if (access(path, X_OK) < 0) {
		(void)error_set(c->error, -errno, NULL, "%s: %s", path, strerror(errno));
		error_hint(c->error,
			"install corral-mcp-remote, or set CORRAL_MCP_REMOTE to its path");
		return NULL;
	}
	return path;
}

/* A descriptor of the policy: -errno. It is handed over, so it is not close-on-exec. */
static int remote_policy(const char *program)
{
	auto_fd fd = memfd_create("corral-mcp-remote", 0);
	auto_buffer text = { 0 };
	struct json_writer w = { .out = &text };
	int r;

	json_open_map(&w, NULL);
	json_open_list(&w, "exec");
	json_put_text(&w, NULL, program);
	json_close(&w);
	json_open_map(&w, "limits");
	json_put_text(&w, "memory", REMOTE_MEMORY);
	json_put_count(&w, "pids", REMOTE_PIDS);
	r = json_end(&w);
	if (fd < 0)
		return -errno;
	if (r == 0)
		r = file_write_all(fd, text.data, text.len);
	return r < 0 ? r : fd_take(&fd);
}

static int remote_add(struct run *r, struct options_list *list, const char *text)
{
	if (!text || ARENA_PUSH(r->call->arena, list->items, list->n, list->cap, text) < 0)
		return error_no_memory(r->call->error);
	return 0;
}

/* What stands behind the URL. */
static int remote_read_words(struct call *c, struct remote_words *ret)
{
	static const struct verb verb = { .name = "remote", .operand = "URL" };
	const struct options_row rows[] = {
		{ { "secret", SCHEMA_TEXT, .help = "the secret" }, 0, "NAME",
			.target = &ret->secret },
		{ { "header", SCHEMA_TEXT, .help = "a header", .many = true }, 0, "HEADER",
			.target = &ret->headers },
	};
	struct call own = *c;

	own.verb = &verb;
	ret->url = c->words[0];
	return options_parse(&own, rows, sizeof(rows) / sizeof(rows[0]));
}

static int remote_check_headers(struct call *c, const struct remote_words *words)
{
	int r = 0;

	if (words->headers.n > REMOTE_HEADERS_MAX)
		return options_misused(c, "there are more than %d headers", REMOTE_HEADERS_MAX);
	for (size_t i = 0; r == 0 && i < words->headers.n; i++) {
		const char *line = words->headers.items[i], *colon = strchr(line, ':');
		const char *name =
			colon ? arena_strndup(c->arena, line, (size_t)(colon - line)) : NULL;

		if (!colon)
			return options_misused(
				c, "invalid value for --header: `%s` (expected NAME: VALUE)", line);
		r = name ? endpoint_check_header(
				   name, colon + 1 + strspn(colon + 1, " "), NULL, c->error)
			 : error_no_memory(c->error);
	}
	return r;
}

/* The name of the secret that goes with each request; NULL: none does. */
static int remote_take_secret(
	struct run *r, struct remote_words *words, const struct remote_endpoint *endpoint)
{
	struct options_list *all = &r->options.secrets;
	struct call *c = r->call;

	/* Before the URL it is an option of the run, and of several it is not known which is
	 * meant. */
	if (!words->secret && all->n == 1)
		words->secret = arena_strndup(c->arena, all->items[0], strcspn(all->items[0], "="));
	else if (words->secret && strpbrk(words->secret, "=,"))
		return options_misused(c,
			"invalid value for --secret: `%s` (expected the NAME of a secret)",
			words->secret);
	else if (words->secret)
		all->n = 0;
	if (!words->secret)
		return all->n == 0 ? 0
				   : options_misused(c,
					     "which of these secrets goes with the requests? put "
					     "--secret NAME behind the URL");
	if (!endpoint->is_https)
		return error_set(c->error, -EINVAL, NULL,
			"--secret %s: secrets go over https:// alone", words->secret);
	all->n = 0;
	return remote_add(r, all, arena_printf(c->arena, "%s=%s", words->secret, endpoint->place));
}

static int remote_make_words(struct run *r, const char *program, const struct remote_words *words)
{
	struct call *c = r->call;
	char real[PATH_BYTES];
	char **all =
		arena_calloc(c->arena, REMOTE_WORDS_MAX + 2 * words->headers.n + 1, sizeof(*all));
	const char *authorities = arena_strdup(c->arena, authorities_system(real));
	size_t n = 0;

	if (!all || !authorities)
		return error_no_memory(c->error);
	all[n++] = (char *)program;
	all[n++] = (char *)words->url;
	all[n++] = (char *)"--authorities";
	all[n++] = (char *)authorities;
	if (words->secret) {
		all[n++] = (char *)"--secret";
		all[n++] = (char *)words->secret;
	}
	for (size_t i = 0; i < words->headers.n; i++) {
		all[n++] = (char *)"--header";
		all[n++] = (char *)words->headers.items[i];
	}
	c->words = all;
	c->n = n;
	return 0;
}

static int remote_prepare(struct run *r)
{
	struct call *c = r->call;
	struct remote_words words = { 0 };
	struct remote_endpoint endpoint;
	const char *program;
	int fd, ret = remote_read_words(c, &words);

	if (ret != 0)
		return ret < 0 ? ret : -EINVAL;
	ret = endpoint_read(&endpoint, words.url, NULL, c->error);
	if (ret == 0)
		ret = remote_check_headers(c, &words);
	if (ret == 0)
		ret = remote_take_secret(r, &words, &endpoint);
	program = ret == 0 ? remote_program(c) : NULL;
	if (!program)
		return ret < 0 ? ret : -ENOENT;
	fd = remote_policy(program);
	if (fd < 0)
		return error_set(c->error, fd, NULL, "cannot make the policy: %s", strerror(-fd));
	r->load.fd_name = "the policy of corral mcp remote";
	r->options.no_project = true;
	ret = remote_add(r, &r->options.policies, arena_printf(c->arena, "fd:%d", fd));
	if (ret == 0)
		ret = remote_add(r, &r->options.net, arena_strdup(c->arena, endpoint.place));
	return ret < 0 ? ret : remote_make_words(r, program, &words);
}

int mcp_remote_main(struct call *c)
{
	return verb_wrap_main(c, remote_prepare);
}
