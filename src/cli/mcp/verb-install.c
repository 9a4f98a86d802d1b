/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `corral mcp install` and `uninstall`: what is to be in the file is made by pure functions
 * (mcp/client/client.h); here it is found, shown, and written. What the file was is kept before it
 * is changed, so that whatever fails on the way can be taken back.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"
#include "base/ascii.h"
#include "base/fd.h"
#include "cli/mcp/client-show.h"
#include "cli/mcp/verbs.h"
#include "cli/options.h"
#include "process/starting.h"

void mcp_offer_clients(struct call *c, struct buffer *out)
{
	(void)c;
	for (const struct mcp_client *client = clients; client->name; client++)
		buffer_printf(out, "%s\t%s\n", client->name, client->title);
}

/* Install */

/* Our own file, as the client will start it. */
static int clients_program(struct call *c, const char **ret)
{
	static const char gone[] = " (deleted)";
	char self[PATH_BYTES];
	const ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	const size_t len = n < 0 ? 0 : (size_t)n;

	if (n < 0)
		return error_set(
			c->error, -errno, NULL, "cannot tell where corral is: %s", strerror(errno));
	self[len] = '\0';
	if (len > strlen(gone) && strcmp(self + len - strlen(gone), gone) == 0)
		return error_set(c->error, -ENOENT, NULL,
			"the program corral was replaced while it ran: try again");
	*ret = arena_strdup(c->arena, self);
	return *ret ? 0 : error_no_memory(c->error);
}

/* Starts the server once, with its input at an end: whether its options hold is its own matter. */
static int clients_try(struct call *c, const char *program, const char *const *options)
{
	const char **argv;
	int input[2] = { -1, -1 }, status = 0;
	struct starting s = { .program = "/proc/self/exe", .env = (const char *const *)environ };
	size_t n = 0;
	pid_t pid;
	int r;

	while (options[n])
		n++;
	argv = arena_calloc(c->arena, n + 4, sizeof(*argv));
	if (!argv)
		return error_no_memory(c->error);
	argv[0] = program;
	argv[1] = "mcp";
	argv[2] = "serve";
	memcpy(argv + 3, options, n * sizeof(*argv));
	if (pipe2(input, O_CLOEXEC) < 0)
		return error_set(c->error, -errno, NULL, "pipe: %s", strerror(errno));
	fd_close(&input[1]);
	s.argv = argv;
	s.fds = (const int[]){ input[0], -1, STDERR_FILENO };
	s.n = 3;
	r = starting_program(&s, &pid);
	fd_close(&input[0]);
	while (r == 0 && waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			r = -errno;
	if (r < 0)
		return error_set(c->error, r, NULL, "cannot start the server: %s", strerror(-r));
	if (status == 0)
		return 0;
	(void)error_set(c->error, -EINVAL, NULL,
		"with these options the server does not start: nothing was written");
	error_hint(c->error, "its message is above; `corral mcp serve --help` lists the options");
	return -EINVAL;
}

static int clients_check_name(struct mcp_clients *m)
{
	const size_t n = strlen(m->name);
	size_t i = 0;

	while (i < n && (ascii_is_alnum(m->name[i]) || strchr("-_", m->name[i])))
		i++;
	return n && i == n && n <= CLIENT_NAME_MAX ? 0
						   : options_misused(m->call,
							     "`%s` is no name of a server: "
							     "letters, digits, - and _, at most %d",
							     m->name, (int)CLIENT_NAME_MAX);
}

static int clients_check_install(struct mcp_clients *m)
{
	const struct call *c = m->call;

	for (size_t i = 0; i < m->wrap_options.n; i++)
		if (strcmp(m->wrap_options.items[i], "--") == 0)
			return options_misused(m->call, "--wrap-option takes no --");
	if (m->wrap_options.n && !m->wraps)
		return options_misused(m->call, "--wrap-option needs --wrap-existing");
	if (c->n > 1 && c->words[1][0] != '-')
		return options_misused(m->call,
			"`%s` is too much: after CLIENT stand -- and options of `corral mcp serve`",
			c->words[1]);
	return clients_check_name(m);
}

/*
 * The text to go back to, if a server of ours is there already: what was kept, or, if the file was
 * changed since, the file without what is ours.
 */
static int clients_original(struct mcp_clients *m, struct client_installed *is)
{
	struct client_changes undone = { 0 };
	auto_buffer text = { 0 };
	struct call *c = m->call;
	const char *kept;
	int r;

	if (!m->has_record || !m->place.exists)
		return 0;
	if (!m->record.was_changed) {
		is->original = m->record.is.original;
		is->existed = m->record.is.existed;
		return 0;
	}
	r = client_uninstall(&m->record.is, c->arena, &is->original, &text, &undone, c->error);
	if (r < 0)
		return r;
	kept = arena_strndup(c->arena, buffer_text(&text), text.len);
	is->original = (struct client_text){ m->place.path, kept, text.len };
	return kept ? 0 : error_no_memory(c->error);
}

/* The servers that are wrapped then: those of before, and the new ones. */
static int clients_wrapped(struct mcp_clients *m, struct client_installed *is)
{
	const char **names = NULL;
	size_t n = 0, cap = 0;
	struct arena *a = m->call->arena;

	for (size_t i = 0; m->has_record && m->record.is.wrapped[i]; i++)
		if (ARENA_PUSH(a, names, n, cap, m->record.is.wrapped[i]) < 0)
			return error_no_memory(m->call->error);
	for (size_t i = 0; i < m->changes.n; i++)
		if (m->changes.items[i].kind == CLIENT_WRAPPED &&
			ARENA_PUSH(a, names, n, cap, m->changes.items[i].server) < 0)
			return error_no_memory(m->call->error);
	if (ARENA_PUSH(a, names, n, cap, NULL) < 0)
		return error_no_memory(m->call->error);
	is->wrapped = names;
	return 0;
}

static int clients_write_install(struct mcp_clients *m)
{
	struct client_installed is = { .client = m->place.client,
		.name = m->name,
		.original = { m->place.path, buffer_text(&m->place.text), m->place.text.len },
		.existed = m->place.exists };
	int r = clients_original(m, &is);

	r = r < 0 ? r : clients_wrapped(m, &is);
	/* First what leads back. */
	r = r < 0 ? r : client_record_write(&is, &m->place, &m->text, m->call);
	if (r < 0)
		return r;
	r = client_place_put(&m->place, &m->text, m->call);
	if (r < 0)
		client_record_restore(m->has_record ? &m->record : NULL, &m->place);
	return r;
}

static bool clients_is_same(const struct mcp_clients *m)
{
	return m->place.exists && m->text.len == m->place.text.len &&
	       memcmp(buffer_text(&m->text), buffer_text(&m->place.text), m->text.len) == 0;
}

/* The same words, ending with NULL. */
static const char *const *clients_words(struct call *c, const char *const *words, size_t n)
{
	const char **copy = arena_calloc(c->arena, n + 1, sizeof(*copy));

	if (copy && n)
		memcpy(copy, words, n * sizeof(*copy));
	return copy;
}

static int clients_install(struct mcp_clients *m)
{
	struct call *c = m->call;
	const struct client_text old = { m->place.path, buffer_text(&m->place.text),
		m->place.text.len };
	struct client_install in = { .client = m->place.client,
		.name = m->name,
		.has_options = c->n > 1,
		.is_ours = m->has_record,
		.wraps = m->wraps };
	int r = clients_program(c, &in.program);

	in.options = clients_words(c, (const char *const *)c->words + 1, c->n - 1);
	in.wrap_options = clients_words(c, m->wrap_options.items, m->wrap_options.n);
	if (!in.options || !in.wrap_options)
		return error_no_memory(c->error);
	if (r == 0 && m->has_record && strcmp(m->record.is.name, m->name) != 0 && m->place.exists) {
		(void)error_set(c->error, -EEXIST, NULL, "a server of ours is there, named `%s`",
			m->record.is.name);
		error_hint(c->error, "corral mcp uninstall %s, and install it again",
			m->place.client->name);
		r = -EEXIST;
	}
	r = r < 0 ? r : client_install(&in, c->arena, &old, &m->text, &m->changes, c->error);
	if (r == 0 && in.has_options)
		r = clients_try(c, in.program, in.options);
	if (r < 0)
		return r;
	if (m->prints || clients_is_same(m))
		return client_show(m, false);
	r = clients_write_install(m);
	return r < 0 ? r : client_show(m, true);
}

/* Uninstall */

/* 1: the file is as the install left it. */
static int clients_uninstall_text(struct mcp_clients *m)
{
	const struct client_text now = { m->place.path, buffer_text(&m->place.text),
		m->place.text.len };
	const struct client_installed *is = &m->record.is;
	auto_buffer cut = { 0 };
	int r;

	/* For the list of changes, too. */
	r = client_uninstall(is, m->call->arena, &now, &cut, &m->changes, m->call->error);
	if (r < 0)
		return r;
	if (m->record.was_changed) {
		m->note = "The file was changed since the install: what is ours was taken out, and "
			  "the rest is as it is now.";
		buffer_add(&m->text, buffer_text(&cut), cut.len);
	} else {
		m->removes = !is->existed;
		buffer_add(&m->text, is->original.text, is->original.len);
	}
	return m->text.failed ? error_no_memory(m->call->error) : 0;
}

static int clients_uninstall(struct mcp_clients *m)
{
	struct call *c = m->call;
	int r = 0;

	if (!m->has_record) {
		(void)error_set(c->error, -ENOENT, NULL, "`corral mcp install` did not change %s",
			m->place.path);
		error_hint(c->error, "--project or --file names another file; servers that were "
				     "added by hand are removed by hand");
		return verb_refuse(c, m->json, STATUS_ABSENT);
	}
	if (m->place.exists)
		r = clients_uninstall_text(m);
	else
		m->note = "The file is gone.";
	if (r < 0)
		return r;
	if (m->prints)
		return client_show(m, false);
	if (m->place.exists && (m->removes || !clients_is_same(m)))
		r = client_place_put(&m->place, m->removes ? NULL : &m->text, c);
	r = r < 0 ? r : client_record_remove(&m->place, c);
	return r < 0 ? r : client_show(m, true);
}

/* Both */

static int clients_unknown(struct call *c)
{
	struct schema_names names = { 0 };

	for (const struct mcp_client *k = clients; k->name; k++)
		schema_names_add(&names, k->name);
	(void)error_set(
		c->error, -EINVAL, NULL, "`%s` is no client that is known here", c->words[0]);
	schema_names_hint(&names, c->words[0], "known clients: ", c->error);
	return -EINVAL;
}

static int clients_run(struct mcp_clients *m)
{
	struct call *c = m->call;
	const struct mcp_client *client = client_find(c->words[0]);
	auto_fd lock = -1;
	int r;

	if (!client)
		return clients_unknown(c);
	r = m->prints ? 0 : client_record_lock(c, &lock);
	if (r < 0)
		return r;
	r = client_place_open(&m->place, client, m->file, m->is_project, c);
	if (r == 0) {
		r = client_record_read(&m->record, &m->place, c);
		m->has_record = r == 0;
		r = r == -ENOENT ? 0 : r;
	}
	if (r == 0)
		r = m->is_install ? clients_install(m) : clients_uninstall(m);
	client_record_deinit(&m->record);
	client_place_close(&m->place);
	buffer_deinit(&m->text);
	return r;
}

#define CLIENTS_OPTIONS(m)                                                                       \
	{ { "project", SCHEMA_FLAG, .help = "the file of the project in the current folder" },   \
		.target = &(m)->is_project },                                                    \
		{ { "file", SCHEMA_PATH, .help = "another file that the client reads" }, 0,      \
			"FILE", .target = &(m)->file, .take = options_text },                    \
		{ { "print", SCHEMA_FLAG, .help = "show what would be written, write nothing" }, \
			.target = &(m)->prints },                                                \
		OPTIONS_JSON(&(m)->json)

int mcp_install_main(struct call *c)
{
	struct mcp_clients m = { .call = c, .name = "corral", .is_install = true };
	const struct options_row rows[] = {
		{ { "wrap-existing", SCHEMA_FLAG,
			  .help = "run the servers that are there by `corral mcp wrap`" },
			.target = &m.wraps },
		{ { "wrap-option", SCHEMA_TEXT, .many = true,
			  .help = "a word for `corral mcp wrap`, such as --net=HOST:PORT" },
			0, "WORD", .target = &m.wrap_options },
		{ { "name", SCHEMA_TEXT, .help = "what the client calls the server (corral)" }, 0,
			"NAME", .target = &m.name },
		CLIENTS_OPTIONS(&m),
	};
	int r = options_parse(c, rows, ROWS(rows));

	if (r != 0)
		return r < 0 ? r : STATUS_YES;
	r = clients_check_install(&m);
	return r < 0 ? r : clients_run(&m);
}

int mcp_uninstall_main(struct call *c)
{
	struct mcp_clients m = { .call = c };
	const struct options_row rows[] = { CLIENTS_OPTIONS(&m) };
	int r = options_parse(c, rows, ROWS(rows));

	if (r != 0)
		return r < 0 ? r : STATUS_YES;
	return clients_run(&m);
}
