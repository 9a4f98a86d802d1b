/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/mcp/survey.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <corral/policy.h>

#include "base/fd.h"
#include "base/file.h"
#include "cli/output.h"
#include "host/account.h"
#include "mcp/gateway/result.h"

enum { SURVEY_FILE_MAX = 1 << 20 };

/* What is judged is what is read. */
static int survey_read(const char *path, struct buffer *out, struct error *e)
{
	auto_fd fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	struct stat st = { 0 };
	const char *why;
	int r = fd < 0 || fstat(fd, &st) < 0 ? -errno : 0;

	if (r == 0)
		r = S_ISREG(st.st_mode) ? file_read_fd(fd, SURVEY_FILE_MAX, out) : -EINVAL;
	if (r < 0)
		return error_set(e, r, NULL, "cannot read %s: %s", path, file_words(r));
	why = file_distrust(&st);
	if (!why)
		return 0;
	(void)error_set(e, -EPERM, NULL, "%s %s", path, why);
	error_hint(e, "it decides what runs: make it your own, and chmod go-w %s", path);
	return -EPERM;
}

int mcp_survey_load(struct mcp_survey *s, struct call *c, const char *file)
{
	const char *home = getenv("HOME");
	char real[PATH_MAX];
	auto_buffer text = { 0 };
	int r;

	*s = (struct mcp_survey){ 0 };
	if (!realpath(file, real))
		return error_set(
			c->error, -errno, NULL, "cannot read %s: %s", file, strerror(errno));
	if (snprintf(s->path, sizeof(s->path), "%s", real) >= (int)sizeof(s->path))
		return error_set(c->error, -ENAMETOOLONG, NULL, "%s: the name is too long", file);
	r = survey_read(s->path, &text, c->error);
	if (r < 0)
		return r;
	if (!home || home[0] != '/')
		(void)account_home("/etc/passwd", getuid(), c->arena, &home);
	r = gateway_config_read(&s->config, file, buffer_text(&text), text.len, home, c->error);
	if (r < 0)
		return r;
	buffer_adds(&s->command, "corral mcp approve ");
	output_shell_word(&s->command, file);
	return s->command.failed ? error_no_memory(c->error) : 0;
}

static bool survey_is_over(const struct gateway *g)
{
	for (size_t i = 0; i < g->n; i++)
		if (!g->members[i].is_listed && !g->members[i].has_ended)
			return false;
	return true;
}

int mcp_survey_look(struct mcp_survey *s, struct call *c,
	bool (*may_start)(void *context, const struct gateway_member *m), void *context)
{
	int r = loop_new(&s->loop);
	const struct gateway_options o = { .config = &s->config,
		.path = s->path,
		.command = buffer_text(&s->command),
		.version = corral_version(),
		.loop = s->loop,
		.is_survey = true,
		.may_start = may_start,
		.context = context };

	if (r < 0)
		return error_set(c->error, r, NULL, "%s", strerror(-r));
	r = gateway_new(&s->gateway, &o, c->error);
	if (r < 0)
		return r;
	(void)signal(SIGPIPE, SIG_IGN);
	gateway_start(s->gateway);
	while (r >= 0 && !survey_is_over(s->gateway))
		r = loop_turn(s->loop, -1);
	return r < 0 ? error_set(c->error, r, NULL, "%s", strerror(-r)) : 0;
}

/* All texts that a model gets to read, one below the other: its depth is that of a document. */
static void survey_gather(const struct node *n, struct buffer *out)
{
	if (n->type == NODE_STRING) {
		buffer_adds(out, n->text);
		buffer_addc(out, '\n');
	}
	node_for_each(child, n) {
		if (child->key) {
			buffer_adds(out, child->key);
			buffer_addc(out, '\n');
		}
		survey_gather(child, out);
	}
}

int mcp_survey_signs(struct skill_scanner *scanner, struct arena *a, const struct node *tool,
	struct skill_findings *ret)
{
	auto_buffer text = { 0 };

	survey_gather(tool, &text);
	return text.failed ? -ENOMEM
			   : skill_scanner_look(scanner, a, buffer_text(&text), text.len, ret);
}
void mcp_survey_print_signs(struct call *c, struct output *o, const struct gateway_member *m,
	const struct node *tool, const char *label)
{
	struct skill_findings found = { 0 };

	if (mcp_survey_signs(m->gateway->scanner, c->arena, tool, &found) < 0)
		o->text.failed = true;
	for (size_t i = 0; i < found.n; i++) {
		if (!gateway_is_sign(&found.items[i]))
			continue;
		buffer_adds(&o->text, "    ");
		output_styled(o, OUTPUT_RED, label);
		buffer_printf(&o->text, "%s: ", found.items[i].what);
		output_foreign(o, found.items[i].excerpt);
		buffer_addc(&o->text, '\n');
	}
}

void mcp_survey_deinit(struct mcp_survey *s)
{
	gateway_free(s->gateway);
	loop_free(s->loop);
	gateway_config_deinit(&s->config);
	buffer_deinit(&s->command);
}
