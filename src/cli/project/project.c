/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An approval is one of skill/approval.h, in a folder of its own: of the path of the file, with the
 * digest of its bytes and the bytes themselves beside it. Bytes that were approved in one folder
 * are not approved in another.
 */
#include "cli/project/project.h"

#include <errno.h>
#include <sodium.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "advice/describe/describe.h"
#include "base/array.h"
#include "base/fd.h"
#include "base/file.h"
#include "cli/diff.h"
#include "cli/output.h"
#include "cli/preset/preset.h"
#include "cli/profile/profile.h"
#include "cli/project/internal.h"

/* In the place of a skill's permissions: here they are in the bytes. */
static const char project_kind[] = "project";

static void project_digest(const struct buffer *text, struct skill_digest *ret)
{
	(void)crypto_hash_sha256(ret->bytes, (const unsigned char *)buffer_text(text), text->len);
}

/* What was approved, if what is kept is that. */
static int project_read_before(struct project *p, struct call *c)
{
	char hex[SKILL_DIGEST_HEX];
	struct skill_digest digest;
	int r = approval_read(&p->approval, c->arena, &p->record, c->error);

	if (r == 0)
		r = approval_read_entries(&p->approval, &p->before, c->error);
	if (r < 0)
		return r;
	project_digest(&p->before, &digest);
	skill_digest_hex(&digest, hex);
	if (r == 1 || strcmp(hex, p->record.digest ? p->record.digest : "") != 0)
		buffer_clear(&p->before);
	return 0;
}

static int project_check(struct project *p, struct call *c)
{
	const char *state = profile_state_folder(c);
	int r;

	if (!state)
		return error_set(c->error, -ENOENT, NULL,
			"no folder for approvals is known: HOME is not set");
	p->approval = (struct approval){ .folder = arena_printf(c->arena, "%s/projects", state),
		.skill = p->path,
		.permissions = project_kind };
	if (!p->approval.folder)
		return error_no_memory(c->error);
	project_digest(&p->text, &p->approval.digest);
	r = p->outcome = approval_check(&p->approval, c->error);
	return r > 0 ? project_read_before(p, c) : r;
}

/* In a folder that others can change: if a person once relied on it, it is not just left out. */
static int project_check_ignored(struct project *p, struct call *c)
{
	int r = project_check(p, c);

	if (r < 0)
		return r;
	if (!p->record.digest)
		return 0;
	(void)error_set(c->error, -EPERM, NULL,
		"%s was approved, and its folder %s now, so it is not trusted", p->path,
		p->ignored);
	error_hint(c->error,
		"make the folder yours alone, or withdraw the approval: corral project revoke %s",
		p->folder);
	return -EPERM;
}

static int project_check_passed(const struct project *p, struct call *c)
{
	auto_project nearer = {
		.path = p->passed, .folder = p->passed_folder, .ignored = p->passed_why
	};

	return nearer.path ? project_check_ignored(&nearer, c) : 0;
}

int project_open(struct project *p, struct call *c, const char *from, const char *home)
{
	auto_fd fd = -1;
	int r = project_find(p, c, from, home, &fd);

	if (r < 0 || !p->path)
		return r;
	if (p->ignored)
		return project_check_ignored(p, c);
	r = project_check_passed(p, c);
	if (r < 0)
		return r;
	r = file_read_fd(fd, PROJECT_BYTES_MAX, &p->text);
	if (r == -EFBIG)
		return error_set(c->error, r, NULL, "%s is larger than %d KiB", p->path,
			PROJECT_BYTES_MAX >> 10);
	if (r < 0)
		return error_set(c->error, r, NULL, "%s: %s", p->path, strerror(-r));
	r = project_check(p, c);
	if (r == 0)
		r = project_file_read(
			&p->file, p->path, buffer_text(&p->text), p->text.len, c->error);
	return r < 0 ? r : project_check_file(&p->file, c);
}

void project_deinit(struct project *p)
{
	project_file_deinit(&p->file);
	buffer_deinit(&p->text);
	buffer_deinit(&p->before);
	*p = (struct project){ 0 };
}

int project_approve(struct project *p, struct call *c)
{
	int r;

	p->approval.entries = &p->text;
	r = approval_store(&p->approval, c->error);
	if (r == 0)
		p->outcome = APPROVAL_CURRENT;
	return r;
}

int project_write(struct call *c, const char *folder, const char *home, const struct buffer *text)
{
	const char *path = arena_printf(c->arena, "%s/" PROJECT_NAME, folder);
	auto_project p = { 0 };
	int r = path ? file_replace(path, text->data, text->len, 0644) : -ENOMEM;

	if (r < 0)
		return error_set(c->error, r, NULL, "%s: %s", path ? path : "", strerror(-r));
	r = project_open(&p, c, folder, home);
	if (r < 0)
		return r;
	if (!p.path || p.ignored || strcmp(p.path, path) != 0 || p.text.len != text->len ||
		memcmp(p.text.data, text->data, text->len) != 0)
		return error_set(c->error, -ESTALE, NULL,
			"%s was changed meanwhile; it is not approved", path);
	return project_approve(&p, c);
}

int project_revoke(const struct project *p, struct call *c)
{
	return approval_remove(&p->approval, c->error);
}

const char *project_outcome(const struct project *p)
{
	if (p->outcome == APPROVAL_CURRENT)
		return "this content is approved";
	return p->outcome == APPROVAL_NONE ? "it was never approved"
					   : "it has changed since it was approved";
}

/* Showing */

void project_show_text(struct output *o, const char *text, size_t len)
{
	while (len) {
		const char *end = memchr(text, '\n', len);
		const size_t n = end ? (size_t)(end - text) : len;

		buffer_adds(&o->text, "  ");
		buffer_add_visible(&o->text, text, n);
		buffer_addc(&o->text, '\n');
		text += n + (end != NULL);
		len -= n + (end != NULL);
	}
}

static void project_show_words(struct output *o, const struct project_command *c)
{
	buffer_printf(&o->text, "  - %s:", c->name);
	for (size_t i = 0; i < c->n; i++) {
		auto_buffer word = { 0 };

		output_shell_word(&word, c->words[i]);
		buffer_addc(&o->text, ' ');
		buffer_add_visible(&o->text, buffer_text(&word), word.len);
		o->text.failed |= word.failed;
	}
	buffer_addc(&o->text, '\n');
}

static bool project_has_limits(const struct limits *l)
{
	for (size_t i = 0; i < LIMIT_COUNT; i++)
		if (l->values[i] != LIMIT_NONE)
			return true;
	return false;
}

/* What the grants are, in plain words; sections that say "nothing" are left out. */
static int project_show_grants(const struct project *p, struct call *c, struct output *o)
{
	struct description d = { 0 };
	int r = describe_permissions(p->file.permissions, NULL, c->arena, &d);

	if (r < 0)
		return error_no_memory(c->error);
	for (size_t i = 0; i < d.n; i++) {
		const struct description_lines *lines = &d.sections[i].lines;

		if (lines->n == 1 && strncmp(lines->items[0], "nothing", 7) == 0)
			continue;
		/* Without its own, those of the profile hold. */
		if (strcmp(d.sections[i].title, "Limits") == 0 &&
			!project_has_limits(&p->file.permissions->limits))
			continue;
		output_heading(o, d.sections[i].title);
		for (size_t k = 0; k < lines->n; k++)
			buffer_printf(&o->text, "  - %s\n", lines->items[k]);
	}
	return 0;
}

int project_show(const struct project *p, struct call *c, struct output *o)
{
	const struct project_file *f = &p->file;
	int r;

	output_styled(o, OUTPUT_BOLD, "Project");
	buffer_adds(&o->text, "  ");
	output_name(o, p->path);
	buffer_printf(&o->text, "\n         %s\n", project_outcome(p));
	if (p->outcome == APPROVAL_CONTENT_CHANGED && p->before.len) {
		output_heading(o, "What changed since it was approved");
		diff_print(
			o, "  ", p->before.data, p->before.len, buffer_text(&p->text), p->text.len);
	} else {
		output_heading(o, "What it says");
		project_show_text(o, buffer_text(&p->text), p->text.len);
	}
	output_heading(o, "What its commands get, from every folder below it");
	buffer_printf(&o->text, "  - the %s %s, with its limits, and ",
		f->preset && preset_find(f->preset) >= 0 ? "agent" : "profile",
		f->preset ? f->preset : "workspace");
	output_name(o, p->folder);
	buffer_adds(&o->text, " as the working folder\n");
	for (size_t i = 0; i < f->n_packs; i++)
		buffer_printf(&o->text, "  - the pack %s\n", f->packs[i]);
	if (f->asks_denied)
		buffer_adds(&o->text, "  - what is denied is asked about, as with --ask-denied\n");
	r = project_show_grants(p, c, o);
	if (f->n_commands)
		output_heading(o, "Commands (corral run NAME)");
	for (size_t i = 0; i < f->n_commands; i++)
		project_show_words(o, &f->commands[i]);
	buffer_addc(&o->text, '\n');
	return r;
}

bool project_ask(const char *question)
{
	auto_output o = output_for(STDERR_FILENO);
	char line[8] = "", ch;
	size_t n = 0;

	buffer_printf(&o.text, "%s [y/N] ", question);
	if (output_write(&o, STDERR_FILENO, NULL) < 0)
		return false;
	while (read(STDIN_FILENO, &ch, 1) == 1 && ch != '\n') {
		if (n + 1 < sizeof(line))
			line[n++] = ch;
	}
	return strcasecmp(line, "y") == 0 || strcasecmp(line, "yes") == 0;
}
