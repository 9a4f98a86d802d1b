/* SPDX-License-Identifier: Apache-2.0 */
#include "services/desktop/clipboard.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/fd.h"
#include "base/file.h"
#include "base/utf8.h"
#include "codec/encoding.h"
#include "jail/landlock.h"
#include "process/confinement.h"
#include "services/desktop/own-tmp.h"
#include "services/desktop/program.h"

enum {
	CLIPBOARD_BYTES_MAX = 1 << 20,
	/* What terminals take: xterm 100 kB and tmux 1 MB of base64. */
	TERMINAL_BYTES_MAX = 74994,
};

/* How to read and write, by the display that there is. */
static const struct clipboard_way {
	const char *name, *variable;
	const char *package;
	const char *copy[6], *paste[8];
	/* What lists the kinds of text that there are, and what versions of it say if there is none
	 */
	const char *look[8], *empty[3];
	bool own_tmp; /* what it offers, it keeps in a file of /tmp */
} ways[] = {
	{ "wl-clipboard", "WAYLAND_DISPLAY", "wl-clipboard",
		{ "wl-copy", "--type", "text/plain;charset=utf-8", NULL },
		{ "wl-paste", "--no-newline", "--type", "text/plain;charset=utf-8", NULL },
		{ "wl-paste", "--list-types", NULL }, { "Nothing is copied", "No selection" },
		true },
	{ "xclip", "DISPLAY", "xclip", { "xclip", "-in", "-selection", "clipboard", NULL },
		{ "xclip", "-out", "-selection", "clipboard", "-target", "UTF8_STRING", NULL },
		{ "xclip", "-out", "-selection", "clipboard", "-target", "TARGETS", NULL },
		{ "target TARGETS not available" }, false },
};

struct clipboard {
	const struct clipboard_way *way; /* NULL: the terminal */
	char copy[PATH_BYTES], paste[PATH_BYTES];
	int terminal;
	int no_tmp; /* negative: why there is no /tmp of its own, for a way that needs it */
};

/* The beginning */

static int clipboard_open_terminal(struct clipboard *c, struct error *why)
{
	const char *path = getenv("CORRAL_TERMINAL");
	struct stat st;

	c->terminal = path ? open(path, O_WRONLY | O_NOCTTY | O_CLOEXEC | O_NOFOLLOW) : -1;
	if (c->terminal >= 0 && isatty(c->terminal) && fstat(c->terminal, &st) == 0 &&
		st.st_uid == geteuid())
		return 0;
	fd_close(&c->terminal);
	(void)error_set(why, -ENOTTY, NULL,
		"clipboard: services.yaml says `program: terminal`, and there is no terminal");
	error_hint(why, "start `corral run` on a terminal, or leave `program` out");
	return -ENOTTY;
}

static int clipboard_find_programs(
	struct clipboard *c, const struct clipboard_way *way, const char *folder, struct error *why)
{
	int r = program_find(way->copy[0], folder, c->copy);

	if (r == 0)
		r = program_find(way->paste[0], folder, c->paste);
	c->way = way;
	if (r < 0) {
		(void)error_set(why, r, NULL,
			"clipboard: %s is not in the folders of PATH that no sandbox may write",
			way->copy[0]);
		error_hint(why,
			"install the package %s, or set `clipboard: {programs: FOLDER}` in "
			"services.yaml",
			way->package);
	}
	return r;
}

static int clipboard_choose(
	struct clipboard *c, const char *wanted, const char *folder, struct error *why)
{
	for (size_t i = 0; i < ROWS(ways); i++) {
		const char *display = getenv(ways[i].variable);

		if ((!wanted || strcmp(wanted, ways[i].name) == 0) && display && *display)
			return clipboard_find_programs(c, &ways[i], folder, why);
	}
	(void)error_set(why, -ENOENT, NULL,
		"clipboard: there is no display: neither WAYLAND_DISPLAY nor DISPLAY is set");
	error_hint(why, "start corral on a desktop, or set `clipboard: {program: terminal}` in "
			"services.yaml to write by the terminal");
	return -ENOENT;
}

/* Where the key of an X display is, and the socket of a Wayland display. */
static void clipboard_find_display(char key[PATH_BYTES], char display[PATH_BYTES])
{
	const char *home = getenv("HOME"), *authority = getenv("XAUTHORITY");
	const char *runtime = getenv("XDG_RUNTIME_DIR"), *wayland = getenv("WAYLAND_DISPLAY");

	if (authority && *authority)
		(void)snprintf(key, PATH_BYTES, "%s", authority);
	else if (home)
		(void)snprintf(key, PATH_BYTES, "%s/.Xauthority", home);
	if (wayland && wayland[0] == '/')
		(void)snprintf(display, PATH_BYTES, "%s", wayland);
	else if (wayland && runtime)
		(void)snprintf(display, PATH_BYTES, "%s/%s", runtime, wayland);
}

static int clipboard_confine(struct clipboard *c)
{
	const bool own_tmp = c->way && c->way->own_tmp;
	char key[PATH_BYTES] = "/nonexistent", display[PATH_BYTES] = "/nonexistent";
	const struct confinement_grant grants[] = {
		{ .path = c->copy, .access = LANDLOCK_READ | LANDLOCK_EXECUTE },
		{ .path = c->paste, .access = LANDLOCK_READ | LANDLOCK_EXECUTE },
		{ .path = key, .access = LANDLOCK_READ },
		{ .path = display, .access = LANDLOCK_CONNECT },
		/* Last: none where it is not a private one. */
		{ .path = "/tmp", .access = LANDLOCK_READ | LANDLOCK_WRITE },
	};
	struct confinement_more more = { .grants = grants, .n = ROWS(grants) - !own_tmp };

	clipboard_find_display(key, display);
	c->no_tmp = own_tmp ? own_tmp_make(display) : 0;
	if (c->no_tmp < 0)
		more.n = ROWS(grants) - 1;
	return c->way ? confinement_enter(PROCESS_CLIPBOARD, &more)
		      : confinement_enter(PROCESS_BACKEND, NULL);
}

int clipboard_begin(struct backend *b, struct error *why)
{
	static struct clipboard c = { .terminal = -1 };
	const char *wanted = backend_config(b, "program"), *folder = backend_config(b, "programs");
	int r = wanted && strcmp(wanted, "terminal") == 0
			? clipboard_open_terminal(&c, why)
			: clipboard_choose(&c, wanted, folder, why);

	if (r == 0) {
		r = clipboard_confine(&c);
		if (r < 0)
			(void)error_set(
				why, r, NULL, "cannot confine corral-desktop: %s", strerror(-r));
	}
	backend_set_state(b, &c);
	return r;
}

/* Calls */

static void clipboard_fail(struct backend_call *c, const char *program, int r)
{
	if (r == -ETIMEDOUT)
		backend_refuse(c, RPC_TIMEOUT, NULL, "%s did not end in time", program);
	else if (r == -EFBIG)
		backend_refuse(c, RPC_SCOPE, NULL, "the clipboard holds more than the limit");
	else if (r < 0)
		backend_refuse(c, RPC_SERVICE, NULL, "cannot run %s: %s", program, strerror(-r));
	else
		backend_refuse(c, RPC_SERVICE, "is there a display, and text in the clipboard?",
			"%s failed, with status %d", program, r);
}

static void clipboard_read(struct backend_call *c)
{
	const struct clipboard *board = backend_state(c->backend);
	auto_buffer text = { 0 };
	struct service_bounds bounds;
	struct values v = { 0 };
	int r;

	if (!board->way) {
		backend_refuse(c, RPC_SERVICE, NULL,
			"a terminal does not show what its clipboard holds: it can be written "
			"only");
		return;
	}
	backend_bounds(c->backend, "clipboard.read", &bounds);
	r = program_run(&(struct program_run){ .path = board->paste,
		.argv = board->way->paste,
		.output = &text,
		.max = bounds.max_size && bounds.max_size < CLIPBOARD_BYTES_MAX
			       ? bounds.max_size
			       : CLIPBOARD_BYTES_MAX,
		.until_ms = c->until_ms });
	if (r != 0) {
		clipboard_fail(c, board->way->paste[0], r);
		return;
	}
	if (!utf8_valid(buffer_text(&text), text.len, NULL) ||
		memchr(buffer_text(&text), '\0', text.len)) {
		backend_refuse(c, RPC_SERVICE, NULL, "the clipboard holds no text");
		return;
	}
	v.v[0] = value_text(buffer_text(&text), text.len);
	backend_answer(c, &v);
}

static int clipboard_write_terminal(const struct clipboard *board, const struct value *text)
{
	auto_buffer out = { 0 };

	if (text->len > TERMINAL_BYTES_MAX)
		return -EFBIG;
	buffer_adds(&out, "\033]52;c;");
	encoding_print(ENCODING_BASE64, text->text, text->len, &out);
	buffer_adds(&out, "\a");
	if (out.failed)
		return -ENOMEM;
	return file_write_all(board->terminal, out.data, out.len);
}

static void clipboard_write(struct backend_call *c)
{
	const struct clipboard *board = backend_state(c->backend);
	const struct value *text = &c->call.params.v[0];
	struct values v = { 0 };
	int r;

	if (board->no_tmp < 0) {
		backend_refuse(c, RPC_SERVICE, "allow user namespaces (`corral doctor` says how)",
			"%s needs a /tmp of its own, which it cannot have: %s", board->way->copy[0],
			strerror(-board->no_tmp));
		return;
	}
	if (board->way)
		r = program_run(&(struct program_run){ .path = board->copy,
			.argv = board->way->copy,
			.input = text->text,
			.input_len = text->len,
			.until_ms = c->until_ms });
	else
		r = clipboard_write_terminal(board, text);
	if (r != 0) {
		clipboard_fail(c, board->way ? board->way->copy[0] : "the terminal", r);
		return;
	}
	v.v[0] = value_number(SCHEMA_FLAG, 1);
	backend_answer(c, &v);
}

static bool clipboard_is_empty(const struct clipboard_way *way, const char *said)
{
	for (size_t i = 0; way->empty[i]; i++)
		if (strstr(said, way->empty[i]))
			return true;
	return false;
}

/* In the words of the program, the first line of them. */
static void clipboard_explain(struct backend_call *c, const struct clipboard *board,
	const char *display, int status, const struct buffer *said)
{
	enum { WORDS_MAX = 200 };
	const char *words = buffer_text(said);
	auto_buffer line = { 0 };
	size_t len = strcspn(words, "\n");

	buffer_add_visible(&line, words, len < WORDS_MAX ? len : WORDS_MAX);
	backend_refuse(c, RPC_SERVICE, "start it on the desktop whose clipboard is meant",
		"%s failed for the display %s, with status %d%s%s", board->way->look[0],
		display ? display : "", status, line.len ? ": " : "", buffer_text(&line));
}

/* A probe does not read it: its content, and whether it has any, is private. */
void clipboard_probe(struct backend_call *c)
{
	const struct clipboard *board = backend_state(c->backend);
	auto_buffer out = { 0 };
	const char *display = board->way ? getenv(board->way->variable) : NULL;
	int r;

	if (!board->way) {
		backend_found(c, "the terminal %s, for writing", getenv("CORRAL_TERMINAL"));
		return;
	}
	r = program_run(&(struct program_run){ .path = board->paste,
		.argv = board->way->look,
		.output = &out,
		.errors = true,
		.max = CLIPBOARD_BYTES_MAX,
		.until_ms = c->until_ms });
	/* An empty clipboard fails as a display that is not there does, but for its words. */
	if (r < 0)
		clipboard_fail(c, board->way->name, r);
	else if (r > 0 && !clipboard_is_empty(board->way, buffer_text(&out)))
		clipboard_explain(c, board, display, r, &out);
	else
		backend_found(c, "%s for the display %s", board->way->name, display ? display : "");
}

const struct backend_method clipboard_methods[] = {
	{ METHOD_CLIPBOARD_READ, clipboard_read },
	{ METHOD_CLIPBOARD_WRITE, clipboard_write },
	{ 0 },
};
