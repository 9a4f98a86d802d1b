/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What Claude Code keeps outside of its folder. In an agent mode ~/.claude may be written, whatever
 * runs; ~/.claude.json, where it keeps its own settings and those of its projects, may be only if
 * the command is `claude`. Both are made if they are not there yet: what does not exist cannot be
 * granted. Other programs are not told that a folder is missing which they never use.
 *
 * The file also says which servers the agent starts the next time, perhaps without a sandbox. It
 * changes with every run, so it is these parts that are compared, and a change is reported.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/file.h"
#include "cli/output.h"
#include "cli/run/internal.h"
#include "codec/json.h"

static const char run_claude_program[] = "claude";
static const char run_claude_grant[] = "$HOME/.claude/**";

static bool run_claude_is_command(const struct run *r)
{
	const char *word = r->call->n ? r->call->words[0] : "", *slash = strrchr(word, '/');

	return !r->is_shell && !r->options.skill &&
	       strcmp(slash ? slash + 1 : word, run_claude_program) == 0;
}

/* All parts of the file by which something is started. */
static void run_claude_print_started(const struct node *n, struct buffer *out)
{
	node_for_each(child, n) {
		if (child->key && (strcmp(child->key, "mcpServers") == 0 ||
					  strcmp(child->key, "hooks") == 0)) {
			json_print(out, child, JSON_COMPACT);
			buffer_addc(out, '\n');
		} else if (child->first) {
			run_claude_print_started(child, out);
		}
	}
}

static int run_claude_read(const char *path, struct buffer *out)
{
	auto_buffer text = { 0 };
	struct document d;
	int r = file_read(path, NODE_INPUT_MAX, &text);

	if (r < 0)
		return r;
	r = json_read(&d, NULL, buffer_text(&text), text.len, NULL);
	if (r < 0)
		return r;
	run_claude_print_started(d.root, out);
	document_deinit(&d);
	return out->failed ? -ENOMEM : 0;
}

/* Takes back a grant that will not be used. */
static void run_claude_forget(struct permissions *p)
{
	struct grant_list *list = &p->fs_write;
	size_t n = 0;

	for (size_t i = 0; i < list->n; i++) {
		if (strcmp(list->items[i].all[0], run_claude_grant) != 0)
			list->items[n++] = list->items[i];
	}
	list->n = n;
}

/* -errno of the file that could not be made. */
static int run_claude_make(const char *folder, const char *file)
{
	static const char empty[] = "{}\n";
	auto_fd fd = -1;

	if (mkdir(folder, S_IRWXU) < 0 && errno != EEXIST)
		return -errno;
	fd = open(file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR);
	if (fd < 0)
		return errno == EEXIST ? 0 : -errno;
	return write(fd, empty, sizeof(empty) - 1) < 0 ? -errno : 0;
}

void run_claude_watch(struct run *r, const char *file)
{
	r->claude.path = file;
	r->claude.error = run_claude_read(file, &r->claude.before);
}

int run_claude_begin(struct run *r)
{
	const char *home = r->load.variables.values[VARIABLE_HOME];
	const char *folder = home ? arena_printf(r->call->arena, "%s/.claude", home) : NULL;
	const char *file = home ? arena_printf(r->call->arena, "%s/.claude.json", home) : NULL;
	struct location where = { .file = r->mode->origin };

	if (!home || !folder || !file)
		return home ? error_no_memory(r->call->error) : 0;
	if (!run_claude_is_command(r)) {
		if (access(folder, F_OK) < 0 && errno == ENOENT)
			run_claude_forget(r->mode);
		return 0;
	}
	if (run_claude_make(folder, file) < 0)
		return 0; /* the plan says what is not there */
	run_claude_watch(r, file);
	return permissions_add(r->mode, &r->mode->fs_write, "$HOME/.claude.json", &where) < 0
		       ? error_no_memory(r->call->error)
		       : 0;
}

bool run_claude_is_changed(const struct run *r)
{
	auto_buffer after = { 0 };

	return r->claude.path &&
	       (r->claude.error < 0 || run_claude_read(r->claude.path, &after) < 0 ||
		       strcmp(buffer_text(&after), buffer_text(&r->claude.before)) != 0);
}

void run_claude_tell(const struct run *r, struct output *o)
{
	if (!run_claude_is_changed(r))
		return;
	output_note(o);
	output_foreign(o, r->claude.path);
	buffer_adds(
		&o->text, r->claude.error == 0
				  ? " names other servers or hooks than before, which claude "
				    "will start: look at it first\n"
				  : " could not be read before, so whether it names other servers "
				    "is not known: look at it first\n");
}

void run_claude_end(struct run *r)
{
	buffer_deinit(&r->claude.before);
}
