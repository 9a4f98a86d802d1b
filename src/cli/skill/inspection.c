/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/skill/inspection.h"

#include <string.h>
#include <unistd.h>

#include "host/runtime.h"
#include "launch/command.h"
#include "policy/format/permissions-text.h"

/* With its own permissions alone; where these cannot be compiled, they grant nothing. */
static int inspection_find_needs(struct skill_inspection *i, struct call *c)
{
	auto_permissions *own = permissions_copy(i->skill.manifest.permissions);
	auto_permissions *nothing = permissions_new();
	const struct permissions *layers[] = { own, nothing };
	struct policy_options options = load_options(&i->load);
	struct environment_options o = { .host_env = (const char *const *)environ,
		.home = i->load.variables.values[VARIABLE_HOME],
		.cwd = "/" };
	auto_policy *policy = NULL;
	const char *const *env = NULL;
	size_t n;
	int r;

	if (!own || !nothing || runtime_imply(&i->skill.manifest, i->skill.path, own) < 0)
		return error_no_memory(c->error);
	r = policy_new(&policy, layers, 1, &options, NULL);
	if (r < 0)
		r = policy_new(&policy, layers + 1, 1, &options, c->error);
	o.policy = policy;
	if (r == 0)
		r = launch_environment(o, &i->load.variables, c->arena, &env, &n, c->error);
	if (r == 0 && launch_needs_find(&i->skill, policy, env, "/", c->arena, &i->needs) < 0)
		r = error_no_memory(c->error);
	return r;
}

/* Adds one at the start. */
static int inspection_add(struct skill_inspection *i, struct call *c, struct skill_finding finding)
{
	struct skill_findings *f = &i->findings;

	for (size_t k = 0; k < skill_rules_count(); k++) {
		if (strcmp(skill_rules_at(k).id, finding.id) == 0)
			finding.check = skill_rules_at(k).check;
	}
	if (!finding.file || !finding.what || !finding.check ||
		ARENA_PUSH(c->arena, f->items, f->n, f->cap, finding) < 0)
		return error_no_memory(c->error);
	memmove(f->items + 1, f->items, (f->n - 1) * sizeof(*f->items));
	f->items[0] = finding;
	return 0;
}

/* What is wrong with the manifest is one finding among the others, and comes first. */
static int inspection_add_fault(struct skill_inspection *i, struct call *c)
{
	const struct error *fault = &i->skill.fault;
	const char *slash = strrchr(fault->file, '/');

	if (!fault->text[0])
		return 0;
	return inspection_add(i, c,
		(struct skill_finding){ .id = "manifest-fault",
			.severity = SKILL_LOW,
			.file = arena_strdup(c->arena, fault->line && slash ? slash + 1 : "."),
			.line = fault->line,
			.what = arena_printf(c->arena, "%s%s%s", fault->text,
				fault->hint[0] ? "; " : "", fault->hint),
			.excerpt = "" });
}

static bool inspection_says(const char *text, const char *const *words)
{
	for (; *words; words++) {
		if (strcasestr(text, *words))
			return true;
	}
	return false;
}

/* Permissions that what the skill says of itself does not need: sums need no network. */
static int inspection_add_purpose(struct skill_inspection *i, struct call *c)
{
	static const char *const offline[] = { "calculat", "adds ", "multiplies", "converts units",
		"unit convert", "counts words", "word count", "formats json", "format json", "dice",
		"flips a coin", "haiku", "rot13", "regular expression", "sorts lines", "palindrome",
		"ascii art", "roman numeral", NULL };
	static const char *const online[] = { "fetch", "download", " api", "web", "internet",
		"online", "sync", "http", "search", "mail", "upload", "cloud", "server", NULL };
	const struct permissions *p = i->skill.manifest.permissions;
	const char *about = i->skill.manifest.description ? i->skill.manifest.description
							  : i->skill.about.description;
	const bool wants_net = p->network_allow.n > 0 || p->network_private.n > 0;
	const bool wants_env = !(i->description.denies & SKILL_STOP_ENV);

	if (!about || !inspection_says(about, offline) || inspection_says(about, online) ||
		(!wants_net && !wants_env))
		return 0;
	return inspection_add(i, c,
		(struct skill_finding){ .id = "purpose",
			.severity = SKILL_MEDIUM,
			.file = ".",
			.what = arena_printf(c->arena,
				"asks for %s, which what it says it is for does not need",
				wants_net ? "the network" : "secret variables"),
			.excerpt = "" });
}

int inspection_open(
	struct skill_inspection *i, struct call *c, const char *folder, enum launch_skill_use use)
{
	int r = launch_skill_open(&i->skill, folder, use, c->arena, c->error);

	if (r == 0)
		r = load_begin(&i->load, c);
	if (r == 0)
		r = load_absolute(c, folder, &i->load.variables.values[VARIABLE_SKILL_DIR]);
	if (r == 0)
		r = skill_scan(i->skill.fd, &i->skill.lives, c->arena, &i->findings, c->error);
	if (r == 0)
		r = inspection_add_fault(i, c);
	if (r < 0)
		return r;
	r = inspection_find_needs(i, c);
	if (r < 0)
		return r;
	i->shown = i->load.variables;
	if (i->is_anywhere)
		i->shown.values[VARIABLE_WORK_DIR] = NULL;
	if (describe_permissions(
		    i->skill.manifest.permissions, &i->shown, c->arena, &i->description) < 0 ||
		(i->skill.unreadable && describe_unknown(&i->description, c->arena) < 0))
		return error_no_memory(c->error);
	r = inspection_add_purpose(i, c);
	if (r < 0)
		return r;
	/* Nothing may have changed since the digest was taken. */
	return launch_skill_unchanged(&i->skill, c->error);
}

void inspection_deinit(struct skill_inspection *i)
{
	launch_skill_deinit(&i->skill);
	load_deinit(&i->load);
}

/* Whether the permissions keep a finding from doing harm. */
static bool inspection_is_stopped(const struct skill_inspection *i, const struct skill_finding *f)
{
	return (f->stops & i->description.denies) != 0;
}

int inspection_rate(struct skill_inspection *i, struct call *c)
{
	size_t all[SKILL_HIGH + 1] = { 0 }, left[SKILL_HIGH + 1] = { 0 };

	for (size_t k = 0; k < i->findings.n; k++) {
		const struct skill_finding *f = &i->findings.items[k];

		all[f->severity] += !f->reason;
		left[f->severity] += !f->reason && !inspection_is_stopped(i, f);
	}
	if (describe_rate(&i->description, all, c->arena) < 0)
		return error_no_memory(c->error);
	describe_confine(&i->description, left);
	return 0;
}

bool inspection_is_risky(const struct skill_inspection *i, enum skill_severity level)
{
	for (size_t k = 0; k < i->findings.n; k++) {
		if (i->findings.items[k].severity >= level && !i->findings.items[k].reason)
			return true;
	}
	return i->findings.more;
}

/* Where the words after a severity, and after a label, start. */
enum { TEXT_COLUMN = 10 };

/* Foreign text, made visible and broken into lines. */
static void inspection_print_foreign(struct output *o, const char *text)
{
	auto_buffer visible = { 0 };

	buffer_add_visible(&visible, text, strlen(text));
	output_line(o, buffer_text(&visible));
}

/* verb: what the heading has said already; NULL: nothing. */
static void inspection_print_bullets(
	struct output *o, const struct description_lines *lines, const char *verb)
{
	const char *said = verb ? verb : "";
	size_t len = strlen(said);

	for (size_t k = 0; k < lines->n; k++) {
		const char *line = lines->items[k];

		buffer_adds(&o->text, "  - ");
		inspection_print_foreign(o, strncmp(line, said, len) == 0 ? line + len : line);
	}
}

static const char *inspection_verb(const char *title)
{
	static const char *const rows[][2] = {
		{ "What it could read", "read " },
		{ "What it could run", "run " },
		{ "Variables it sees", "see " },
		{ "Services it could use", "use " },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if (strcmp(title, rows[i][0]) == 0)
			return rows[i][1];
	return NULL;
}

static void inspection_print_label(struct output *o, const char *label)
{
	output_styled(o, OUTPUT_BOLD, label);
	output_pad(o, TEXT_COLUMN);
}

const char *inspection_name(const struct skill_inspection *i)
{
	return i->skill.manifest.name ? i->skill.manifest.name : i->skill.about.name;
}

const char *inspection_description(const struct skill_inspection *i)
{
	const char *own = i->skill.manifest.description;

	return own ? own : i->skill.about.description;
}

static void print_head(const struct skill_inspection *i, struct output *o)
{
	const struct manifest *m = &i->skill.manifest;
	const char *text = inspection_description(i);
	auto_buffer name = { 0 };

	if (inspection_name(i))
		buffer_add_visible(&name, inspection_name(i), strlen(inspection_name(i)));
	output_styled(o, OUTPUT_BOLD, name.len ? buffer_text(&name) : "(a skill without a name)");
	if (m->version) {
		buffer_addc(&o->text, ' ');
		output_foreign(o, m->version);
	}
	if (m->author) {
		buffer_adds(&o->text, ", by ");
		output_foreign(o, m->author);
	}
	buffer_addc(&o->text, '\n');
	if (text)
		inspection_print_foreign(o, text);
	output_foreign(o, m->permissions->origin ? m->permissions->origin : i->skill.path);
	buffer_addc(&o->text, '\n');
}

/* What to add to its manifest, as a list of the permissions. */
static const char *inspection_need_list(const struct launch_need *n)
{
	return n->is_program ? "exec" : "env";
}

static void inspection_print_needs(const struct skill_inspection *i, struct output *o)
{
	if (i->needs.n)
		output_heading(o, "What it requires");
	for (size_t k = 0; k < i->needs.n; k++) {
		const struct launch_need *n = &i->needs.items[k];
		auto_buffer line = { 0 };

		buffer_adds(&o->text, "  - ");
		buffer_adds(&line, n->is_program ? "" : "the variable ");
		buffer_add_visible(&line, n->name, strlen(n->name));
		if (n->state == LAUNCH_NEED_MET)
			buffer_adds(&line, n->is_program ? ": it may run" : ": it is passed on");
		else
			buffer_printf(&line, ", %s", launch_need_fault(n));
		if (n->state == LAUNCH_NEED_DENIED) {
			buffer_printf(&line, ": add %s: [", inspection_need_list(n));
			buffer_add_visible(&line, n->name, strlen(n->name));
			buffer_adds(&line, "] to its permissions");
		}
		output_line(o, buffer_text(&line));
	}
}

static void inspection_print_finding(
	const struct skill_inspection *i, const struct skill_finding *f, struct output *o)
{
	static const enum output_style styles[] = {
		[SKILL_LOW] = OUTPUT_DIM,
		[SKILL_MEDIUM] = OUTPUT_YELLOW,
		[SKILL_HIGH] = OUTPUT_RED,
	};
	auto_buffer text = { 0 };

	buffer_adds(&o->text, "  ");
	output_styled(o, styles[f->severity], skill_severity_name(f->severity));
	output_pad(o, TEXT_COLUMN);
	buffer_add_visible(&text, f->file, strlen(f->file));
	if (f->line)
		buffer_printf(&text, ":%u", f->line);
	buffer_printf(&text, ": %s; check %s (%s)", f->what, f->check, f->id);
	if (f->reason) {
		buffer_adds(&text, "; suppressed: ");
		buffer_add_visible(&text, f->reason, strlen(f->reason));
	} else if (inspection_is_stopped(i, f)) {
		buffer_adds(&text, "; its permissions stop this");
	}
	output_line(o, buffer_text(&text));
	if (f->excerpt[0]) {
		output_pad(o, TEXT_COLUMN);
		output_cut(o, OUTPUT_DIM, f->excerpt, OUTPUT_WIDE - TEXT_COLUMN);
		buffer_addc(&o->text, '\n');
	}
}

/* What is shown here is not all that is in the folder: that has to be said beside the digest. */
static void inspection_print_digest(const struct skill_inspection *i, struct output *o)
{
	char hex[SKILL_DIGEST_HEX];

	skill_digest_hex(&i->skill.content.digest, hex);
	inspection_print_label(o, "Digest");
	buffer_printf(&o->text, "%s\n", hex);
	for (size_t k = 0; k < i->skill.lives.n; k++) {
		const struct skill_live *live = &i->skill.lives.items[k];
		auto_buffer line = { 0 };

		output_pad(o, TEXT_COLUMN);
		buffer_add_visible(&line, live->path, strlen(live->path));
		buffer_printf(&line,
			"%s is excluded: the skill may write there, nothing there is executed, "
			"and its content was not checked",
			live->subtree ? "/" : "");
		output_line(o, buffer_text(&line));
	}
	if (i->skill.fault.text[0]) {
		inspection_print_label(o, "Fault");
		inspection_print_foreign(o, i->skill.fault.text);
	}
}

void inspection_print(const struct skill_inspection *i, struct output *o)
{
	static const enum output_style styles[] = {
		[RISK_LOW] = OUTPUT_GREEN,
		[RISK_MEDIUM] = OUTPUT_YELLOW,
		[RISK_HIGH] = OUTPUT_RED,
		[RISK_CRITICAL] = OUTPUT_RED,
	};
	const struct description *d = &i->description;

	print_head(i, o);
	for (size_t k = 0; k < d->n; k++) {
		output_heading(o, d->sections[k].title);
		inspection_print_bullets(
			o, &d->sections[k].lines, inspection_verb(d->sections[k].title));
	}
	inspection_print_needs(i, o);
	output_heading(o, "Signs of risk in its files");
	for (size_t k = 0; k < i->findings.n; k++)
		inspection_print_finding(i, &i->findings.items[k], o);
	if (i->findings.more)
		buffer_adds(&o->text, "  … and more than can be listed\n");
	if (i->findings.n == 0)
		buffer_adds(&o->text, "  - none were found (this is not a proof)\n");
	buffer_addc(&o->text, '\n');
	inspection_print_label(o, "Risk");
	output_styled(o, styles[d->risk], describe_risk_name(d->risk));
	buffer_addc(&o->text, '\n');
	inspection_print_bullets(o, &d->reasons, NULL);
	if (d->confined != d->risk) {
		inspection_print_label(o, "Confined");
		output_styled(o, styles[d->confined], describe_risk_name(d->confined));
		buffer_adds(&o->text, ", where Corral enforces its permissions\n");
	}
	buffer_addc(&o->text, '\n');
	inspection_print_digest(i, o);
	inspection_print_label(o, "Approved");
	buffer_printf(&o->text, "%s: %s\n", i->skill.outcome == APPROVAL_CURRENT ? "yes" : "no",
		launch_skill_outcome(i->skill.outcome));
}

static void inspection_put_lines(struct json_tree *t, struct node *map, const char *key,
	const struct description_lines *lines)
{
	struct node *list = tree_put_list(t, map, key);

	for (size_t k = 0; k < lines->n; k++)
		tree_append_text(t, list, lines->items[k]);
}

static void inspection_put_findings(
	const struct skill_inspection *i, struct json_tree *t, struct node *root)
{
	struct node *list = tree_put_list(t, root, "findings");

	for (size_t k = 0; k < i->findings.n; k++) {
		const struct skill_finding *f = &i->findings.items[k];
		struct node *finding = tree_append_map(t, list);

		tree_put_text(t, finding, "severity", skill_severity_name(f->severity));
		tree_put_text(t, finding, "id", f->id);
		tree_put_text(t, finding, "file", f->file);
		tree_put_number(t, finding, "line", f->line);
		tree_put_text(t, finding, "text", f->what);
		tree_put_text(t, finding, "excerpt", f->excerpt);
		tree_put_text(t, finding, "check", f->check);
		tree_put_flag(t, finding, "stopped", inspection_is_stopped(i, f));
		tree_put_text(t, finding, "suppressed", f->reason);
	}
}

struct node *inspection_tree(const struct skill_inspection *i, struct json_tree *t)
{
	const struct manifest *m = &i->skill.manifest;
	const struct description *d = &i->description;
	struct node *root = tree_map(t),
		    *permissions = permissions_to_node(m->permissions, t->arena);
	struct node *list;
	char hex[SKILL_DIGEST_HEX];

	skill_digest_hex(&i->skill.approval.digest, hex);
	tree_put_text(t, root, "name", inspection_name(i));
	tree_put_text(t, root, "version", m->version);
	tree_put_text(t, root, "description", inspection_description(i));
	tree_put_text(t, root, "author", m->author);
	tree_put_text(t, root, "path", i->skill.path);
	tree_put_text(t, root, "manifest", m->permissions->origin);
	t->failed = t->failed || !permissions;
	tree_put(t, root, "permissions", permissions);
	list = tree_put_list(t, root, "sections");
	for (size_t k = 0; k < d->n; k++) {
		struct node *section = tree_append_map(t, list);

		tree_put_text(t, section, "title", d->sections[k].title);
		inspection_put_lines(t, section, "lines", &d->sections[k].lines);
	}
	list = tree_put_list(t, root, "requires");
	for (size_t k = 0; k < i->needs.n; k++) {
		const struct launch_need *n = &i->needs.items[k];
		struct node *need = tree_append_map(t, list);

		tree_put_text(t, need, "kind", n->is_program ? "bin" : "env");
		tree_put_text(t, need, "name", n->name);
		tree_put_text(t, need, "state", launch_need_state_name(n->state));
	}
	inspection_put_findings(i, t, root);
	tree_put_flag(t, root, "more_findings", i->findings.more);
	tree_put_text(t, root, "risk", describe_risk_name(d->risk));
	tree_put_text(t, root, "risk_confined", describe_risk_name(d->confined));
	inspection_put_lines(t, root, "reasons", &d->reasons);
	tree_put_text(t, root, "digest", hex);
	list = tree_put_list(t, root, "outside_digest");
	for (size_t k = 0; k < i->skill.lives.n; k++)
		tree_append_text(t, list, i->skill.lives.items[k].path);
	if (i->skill.fault.text[0])
		tree_put_text(t, root, "fault", i->skill.fault.text);
	tree_put_flag(t, root, "approved", i->skill.outcome == APPROVAL_CURRENT);
	tree_put_text(t, root, "approval", launch_skill_outcome(i->skill.outcome));
	return root;
}
