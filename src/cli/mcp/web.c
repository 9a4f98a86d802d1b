/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/mcp/web.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/mcp/ending.h"
#include "cli/output.h"
#include "host/daemon-place.h"

/* A folder that only this user can enter. */
static int web_check_folder(const char *path, struct error *e)
{
	struct stat st;

	if (mkdir(path, 0700) < 0 && errno != EEXIST) {
		const int r = -errno;

		(void)error_set(e, r, NULL, "cannot make %s: %s", path, strerror(-r));
		error_hint(e, "set XDG_RUNTIME_DIR to a folder of your own, or use --token-file");
		return r;
	}
	if (lstat(path, &st) < 0)
		return error_set(e, -errno, NULL, "%s: %s", path, strerror(errno));
	if (!S_ISDIR(st.st_mode) || st.st_uid != geteuid() || st.st_mode & 077)
		return error_set(e, -EPERM, NULL,
			"%s must be a folder of your own that others cannot enter: chmod 700 it",
			path);
	return 0;
}

/* One for this start. Its name has the process, so that no two servers have one file. */
static int web_make_token(struct mcp_web *w, struct error *e)
{
	auto_buffer folder = { 0 };
	int r = daemon_place(NULL, &folder);

	if (r == 0 && !folder.failed)
		r = web_check_folder(folder.data, e);
	else
		r = error_set(e, -ENOENT, NULL, "XDG_RUNTIME_DIR must be an absolute path");
	if (r < 0)
		return r;
	buffer_printf(&w->made, "%s/mcp-%d.token", buffer_text(&folder), (int)getpid());
	return w->made.failed ? error_no_memory(e) : web_tokens_make(&w->tokens, w->made.data, e);
}

static int web_begin_answers(struct mcp_web *w, struct error *e)
{
	int r = 0;

	if (!w->answers)
		return 0;
	w->answering = calloc(w->tokens.n, sizeof(*w->answering));
	if (!w->answering)
		return error_no_memory(e);
	for (size_t i = 0; r == 0 && i < w->tokens.n; i++)
		r = mcp_answering_begin_for(&w->answering[i], i, w->ask_ms, e);
	return r;
}

int mcp_web_begin(struct mcp_web *w, struct error *e)
{
	bool is_made = false;
	int r = w->token_file ? web_tokens_open(&w->tokens, w->token_file, &is_made, e)
			      : web_make_token(w, e);

	return r < 0 ? r : web_begin_answers(w, e);
}

const char *mcp_web_token_file(const struct mcp_web *w)
{
	return w->token_file ? w->token_file : buffer_text(&w->made);
}

struct mcp_asking *mcp_web_asking(struct mcp_web *w, size_t principal)
{
	return w->answering ? &w->answering[principal].asking : NULL;
}

static void web_on_signal(struct watcher *s, uint32_t events)
{
	(void)events;
	container_of(s, struct mcp_web, signals)->is_over = true;
}

static int web_announce(const struct mcp_web *w, struct error *e)
{
	auto_output o = output_for(STDERR_FILENO);

	output_note(&o);
	buffer_adds(&o.text, "MCP at ");
	web_url(w->web, &o.text);
	buffer_adds(&o.text, w->tokens.n > 1 ? "; tokens for clients are in "
					     : "; the token for clients is in ");
	buffer_adds(&o.text, mcp_web_token_file(w));
	buffer_addc(&o.text, '\n');
	return output_write(&o, STDERR_FILENO, e);
}

int mcp_web_run(struct mcp_web *w, struct error *e)
{
	const struct web_options o = { .loop = w->loop, .host = &w->host, .tokens = &w->tokens };
	int r = web_new(&w->web, &o);

	if (r < 0)
		return error_set(e, r, NULL, "%s", strerror(-r));
	w->signals = (struct watcher){ .ready = web_on_signal, .fd = -1 };
	r = mcp_ending_watch(w->loop, &w->signals);
	if (r == 0)
		r = web_listen(w->web, w->address, e);
	if (r == 0)
		r = web_announce(w, e);
	while (r >= 0 && !w->is_over) {
		const int web_ms = web_turn(w->web);
		const int turn_ms = w->turn ? w->turn(w->context) : -1;

		if (turn_ms < -1)
			return turn_ms;
		r = loop_turn(w->loop,
			turn_ms >= 0 && (web_ms < 0 || turn_ms < web_ms) ? turn_ms : web_ms);
	}
	return r;
}

void mcp_web_deinit(struct mcp_web *w)
{
	web_free(w->web);
	w->web = NULL;
	for (size_t i = 0; w->answering && i < w->tokens.n; i++)
		mcp_answering_deinit(&w->answering[i]);
	free(w->answering);
	w->answering = NULL;
	web_tokens_deinit(&w->tokens);
	if (w->made.len && !w->made.failed)
		(void)unlink(w->made.data);
	buffer_deinit(&w->made);
	if (w->signals.fd >= 0)
		(void)close(w->signals.fd);
	w->signals.fd = -1;
}
