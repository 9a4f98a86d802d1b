/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who agrees to a line. A round is enforced, but what it is given it has: a file that it may read
 * can leave by a host that it may reach. So
 *
 *     reading    by itself, as long as no host is granted or named by --net; else --read, --yes or
 * an answer hosts      --net or an answer, which is asked for beside the files that were granted by
 *                themselves
 *     writing    --write alone: a round must not change the host but for the project
 *     sockets    --net alone: what answers there is not confined
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/fd.h"
#include "base/file.h"
#include "cli/learn/internal.h"
#include "cli/load.h"
#include "policy/format/permissions-text.h"
#include "policy/match/glob.h"

/* As `run --read`: a folder includes all that is in it. */
static int consent_pattern(struct learn *l, const char *text, struct buffer *out)
{
	const char *path;
	struct stat st;
	int r;

	if (strpbrk(text, "*?[]{}\\$") || strncmp(text, "~/", 2) == 0) {
		buffer_adds(out, text);
		return 0;
	}
	r = load_absolute(l->call, text, &path);
	if (r < 0)
		return r;
	glob_print_literal(path, strlen(path), out);
	if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
		buffer_adds(out, "/**");
	return 0;
}

static int consent_add(struct learn *l, struct permissions *p, enum permission_list which,
	const char *option, const struct options_list *texts)
{
	struct location where = { .file = option };
	int r = 0;

	for (size_t i = 0; r == 0 && i < texts->n; i++) {
		auto_buffer text = { 0 };
		const char *pattern;

		if (which == LIST_NETWORK_ALLOW)
			buffer_adds(&text, texts->items[i]);
		else
			r = consent_pattern(l, texts->items[i], &text);
		if (r == 0)
			r = permissions_list_canonical(which, buffer_text(&text), l->call->arena,
				&pattern, &where, l->call->error);
		if (r == 0 && permissions_add(p, permissions_list(p, which), pattern, &where) < 0)
			r = error_no_memory(l->call->error);
	}
	return r;
}

int learn_consent_begin(struct learn *l)
{
	auto_load load = { 0 };
	struct policy_options options;
	struct permissions *p = permissions_new();
	const struct permissions *layers[] = { p };
	int r = p ? load_begin(&load, l->call) : error_no_memory(l->call->error);

	if (r == 0)
		r = consent_add(l, p, LIST_FS_READ, "--read", &l->read);
	if (r == 0)
		r = consent_add(l, p, LIST_FS_WRITE, "--write", &l->write);
	if (r == 0)
		r = consent_add(l, p, LIST_NETWORK_ALLOW, "--net", &l->net);
	options = load_options(&load);
	if (r == 0)
		r = policy_new(&l->consent, layers, ROWS(layers), &options, l->call->error);
	permissions_free(p);
	return r;
}

/* Asking */

static int consent_open_terminal(void)
{
	return open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
}

bool learn_can_ask(void)
{
	auto_fd fd = consent_open_terminal();

	return fd >= 0 && isatty(STDERR_FILENO);
}

bool learn_ask(const char *question)
{
	auto_fd fd = consent_open_terminal();
	char answer[64];
	ssize_t n;

	if (fd < 0 || !isatty(STDERR_FILENO) || file_write_all(fd, question, strlen(question)) < 0)
		return false;
	n = read(fd, answer, sizeof(answer) - 1);
	return n > 0 && (answer[0] == 'y' || answer[0] == 'Y');
}

/* An option names it. */
static bool consent_names(const struct learn *l, const struct denial *d)
{
	static const enum operation ops[] = { [DENIAL_READ] = OPERATION_FS_READ,
		[DENIAL_WRITE] = OPERATION_FS_WRITE,
		[DENIAL_EXEC] = OPERATION_FS_READ,
		[DENIAL_CONNECT] = OPERATION_NET_CONNECT };

	return d->kind < ROWS(ops) &&
	       policy_allows(
		       l->consent, &(struct request){ .op = ops[d->kind], .target = d->path });
}

/* Files that were granted by themselves, before a question about a host by which they could leave.
 */
static void consent_add_unasked(const struct learn *l, struct output *o)
{
	const struct denial *first = NULL;
	size_t n = 0;

	for (size_t i = 0; !l->yes && i < l->n; i++) {
		const struct denial *d = &l->sights[i].denial;

		if (!l->sights[i].is_accepted || d->kind == DENIAL_CONNECT || consent_names(l, d))
			continue;
		first = first ? first : d;
		n++;
	}
	if (!n)
		return;
	buffer_adds(&o->text, "corral: what it may read could be sent there: ");
	output_foreign(o, first->path);
	if (n > 1)
		buffer_printf(&o->text, " and %zu more", n - 1);
	buffer_addc(&o->text, '\n');
}

static bool consent_asks(const struct learn *l, const struct denial *line)
{
	static const char *const words[] = {
		[DENIAL_READ] = "read", [DENIAL_EXEC] = "run", [DENIAL_CONNECT] = "connect to"
	};
	auto_output o = { 0 };

	if (line->kind == DENIAL_CONNECT)
		consent_add_unasked(l, &o);
	buffer_printf(&o.text, "corral: let it %s ", words[line->kind]);
	output_foreign(&o, line->path);
	buffer_printf(&o.text, "%s from the next round on? [y/N] ", line->is_folder ? "/**" : "");
	return learn_ask(buffer_text(&o.text));
}

bool learn_consent_may(const struct learn *l, const struct denial *d)
{
	return d->state == DENIAL_OPEN || (d->state == DENIAL_LINKED && consent_names(l, d));
}

bool learn_agrees(const struct learn *l, const struct denial *line, bool has_hosts)
{
	if (consent_names(l, line))
		return true;
	if (l->is_named_only || line->kind == DENIAL_WRITE || strncmp(line->path, "unix:", 5) == 0)
		return false;
	if (line->kind == DENIAL_CONNECT)
		return consent_asks(l, line);
	return !has_hosts || l->yes || consent_asks(l, line);
}
