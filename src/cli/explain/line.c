/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The line that would allow something. An option joins every layer of the base, so it helps unless
 * the ceiling denies as well; where the base is a profile it is the shortest way, and where it is a
 * policy in a file, that file is the place for a line that is to stay. What a rule or the baseline
 * forbids is not talked away: then it is said what stands in the way.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/utf8.h"
#include "cli/explain/internal.h"
#include "cli/profile/profile.h"
#include "codec/json.h"
#include "host/links.h"
#include "host/own.h"
#include "host/resolver.h"
#include "policy/match/command.h"
#include "policy/explain.h"
#include "policy/match/glob.h"
#include "threat/threat.h"

enum { LEAVES_MAX = 256 };

const struct denial_row run_explain_kinds[] = {
	[DENIAL_READ] = { "--read", "read", NULL, OPERATION_FS_READ, AUDIT_FS_READ },
	[DENIAL_WRITE] = { "--write", "write", NULL, OPERATION_FS_WRITE, AUDIT_FS_WRITE },
	[DENIAL_EXEC] = { "--exec", "run", NULL, OPERATION_EXEC, AUDIT_EXEC },
	[DENIAL_CONNECT] = { "--net", "connect", NULL, OPERATION_NET_CONNECT, AUDIT_NET_CONNECT },
	[DENIAL_SANDBOX] = { NULL, "sandbox", "namespace", OPERATION_EXEC, AUDIT_EXEC },
};

void run_explain_words_deinit(struct denial_words *w)
{
	buffer_deinit(&w->option);
	buffer_deinit(&w->word);
	buffer_deinit(&w->real);
	buffer_deinit(&w->line);
	buffer_deinit(&w->reason);
	buffer_deinit(&w->rule);
}

/* Who denies it */

struct blame {
	bool base, ceiling;
	const struct layer *layer; /* the one to change: of the ceiling, if that denies */
	unsigned n;
};

static void find_blame(const struct run *r, const struct request *request, struct blame *ret)
{
	const struct permissions *leaves[LEAVES_MAX];
	size_t n_base = 0; /* layers of the policy that are of the base: they come first */

	for (size_t i = 0; i < r->n_base; i++) {
		int n = permissions_layers(r->base[i], leaves, LEAVES_MAX);

		n_base += n > 0 ? (size_t)n : 0;
	}
	for (size_t i = 0; i < policy_layers(r->policy); i++) {
		struct decision d;

		if (policy_decide_layer(r->policy, i, request, &d) == 0 &&
			d.verdict == VERDICT_ALLOW)
			continue;
		if (i < n_base ? !ret->base : !ret->ceiling)
			ret->layer = policy_layer(r->policy, i);
		*(i < n_base ? &ret->base : &ret->ceiling) = true;
		ret->n++;
	}
}

/* Words */

/* Characters that are more than themselves in a pattern: wildcards, and the '$' of variables. */
static const char special[] = "*?[]{}\\$";

/* A program by its name, where the name is enough. */
static void add_program(struct buffer *out, const char *path)
{
	const char *name = strrchr(path, '/');
	char found[PATH_BYTES];
	auto_buffer pattern = { 0 };
	struct command_pattern p = { .more = true };

	p.is_name = name && resolver_find(name + 1, found) == 0 && strcmp(found, path) == 0;
	if (!p.is_name)
		glob_print_literal(path, strlen(path), &pattern);
	p.program = p.is_name ? name + 1 : buffer_text(&pattern);
	command_pattern_print(&p, out);
}

/* A path that has such characters in it must not mean more than itself. */
static void explain_line_add_word(const struct denial *d, const char *path, struct buffer *out)
{
	if (d->kind == DENIAL_CONNECT || !strpbrk(path, special)) {
		buffer_adds(out, path);
	} else {
		glob_print_literal(path, strlen(path), out);
		buffer_adds(out, d->is_folder ? "/**" : "");
	}
}

/* A link that an earlier command could have made is no grant of what it leads to. */
static void explain_line_find_real(
	const struct run *r, const struct denial *d, struct denial_words *w)
{
	struct request request = { .op = run_explain_kinds[d->kind].op };
	char real[PATH_BYTES];

	if ((d->kind != DENIAL_READ && d->kind != DENIAL_WRITE) ||
		!utf8_valid(d->path, strlen(d->path), NULL) ||
		!run_explain_is_planted(r, d->path, real))
		return;
	request.target = real;
	if (!policy_allows(r->policy, &request))
		explain_line_add_word(d, real, &w->real);
}

static void set_option(const struct denial *d, struct denial_words *w)
{
	/* It cannot be typed, and no policy can have it. */
	if (!utf8_valid(d->path, strlen(d->path), NULL))
		return;
	buffer_adds(&w->option, run_explain_kinds[d->kind].option);
	if (d->kind == DENIAL_EXEC)
		add_program(&w->word, d->path);
	else
		explain_line_add_word(d, d->path, &w->word);
}

static void add_option(struct denial_words *w)
{
	if (w->real.len) {
		buffer_printf(&w->line, "%s ", buffer_text(&w->option));
		output_shell_word(&w->line, buffer_text(&w->real));
		buffer_addc(&w->line, ' ');
	}
	buffer_printf(&w->line, "%s ", buffer_text(&w->option));
	output_shell_word(&w->line, buffer_text(&w->word));
}

/* The line of a policy file. */
static void add_policy_line(const struct denial *d, const struct request *request,
	const struct decision *decision, const struct denial_words *w, struct buffer *out)
{
	auto_buffer pattern = { 0 };
	char real[PATH_BYTES];

	if (d->kind == DENIAL_EXEC) {
		add_program(&pattern, d->path);
		buffer_adds(out, "exec: [");
		json_print_string(out, buffer_text(&pattern), pattern.len);
		buffer_addc(out, ']');
		return;
	}
	if (d->kind == DENIAL_CONNECT || (!d->is_folder && !w->real.len)) {
		explain_line(request, decision, out);
		return;
	}
	buffer_printf(out, "fs: {%s: [", d->kind == DENIAL_READ ? "read" : "write");
	if (w->real.len && links_follow(d->path, NULL, NULL, real) == 0) {
		glob_print_literal(real, strlen(real), &pattern);
		buffer_adds(&pattern, d->is_folder ? "/**" : "");
		json_print_string(out, buffer_text(&pattern), pattern.len);
		buffer_adds(out, ", ");
		buffer_clear(&pattern);
	}
	glob_print_literal(d->path, strlen(d->path), &pattern);
	buffer_adds(&pattern, d->is_folder ? "/**" : "");
	json_print_string(out, buffer_text(&pattern), pattern.len);
	buffer_adds(out, "]}");
}

/* The base is not made of files that a user wrote. */
static bool is_profile(const struct run *r)
{
	return r->load.n == 0 && !r->options.skill;
}

/*
 * A secret needs both: a grant, and the baseline's protection lifted. True: it is one. It is not
 * among the options (w->option) that a caller may apply by itself.
 */
static bool explain_line_add_secret(const struct run *r, const struct denial *d,
	const struct decision *decision, struct denial_words *w)
{
	auto_buffer word = { 0 };

	if (decision->why != DECISION_BASELINE || decision->baseline_never || r->ceiling.n ||
		(d->kind != DENIAL_READ && d->kind != DENIAL_WRITE) ||
		!utf8_valid(d->path, strlen(d->path), NULL))
		return false;
	explain_line_add_word(d, d->path, &word);
	buffer_printf(&w->line, "the baseline protects it; if you mean it: %s ",
		run_explain_kinds[d->kind].option);
	output_shell_word(&w->line, buffer_text(&word));
	buffer_adds(&w->line, " --dangerously-allow ");
	output_shell_word(&w->line, buffer_text(&word));
	return true;
}

static void explain_line_add_line(const struct run *r, const struct denial *d,
	const struct request *request, const struct decision *decision, struct denial_words *w)
{
	struct blame blame = { 0 };
	auto_buffer line = { 0 };

	/* A socket is granted by its path as it is written, without any way to spell these. */
	if (strncmp(d->path, "unix:", 5) == 0 && strpbrk(d->path, special))
		return;
	find_blame(r, request, &blame);
	if (!blame.ceiling)
		set_option(d, w);
	if (!blame.ceiling && is_profile(r) && w->word.len) {
		add_option(w);
		return;
	}
	add_policy_line(d, request, decision, w, &line);
	if (!line.len)
		return;
	/* What is built in has no file: then options are all there is. */
	if (blame.layer && blame.layer->line_place == LINE_NOWHERE && w->word.len) {
		add_option(w);
		return;
	}
	explain_where(blame.layer, buffer_text(&line), &w->line);
	if (blame.n > 1)
		buffer_printf(&w->line, " (%u layers do not allow it)", blame.n);
	if (w->word.len) {
		buffer_adds(&w->line, ", or use ");
		add_option(w);
	}
}

/* Kept from being written by a profile or a mode, because others run it later; an option that names
 * it lifts that (profile/runs-later.h). */
static bool is_run_later(
	const struct run *r, const struct denial *d, const struct decision *decision)
{
	const struct permissions *to = r->later.to;

	return d->kind == DENIAL_WRITE && to && decision->layer && decision->source &&
	       is_profile(r) && run_later_has(r, d->path) &&
	       strcmp(decision->layer->origin ? decision->layer->origin : "", to->origin) == 0;
}

/* A skill runs as it was approved, and no grant changes that. True: it was about that. */
static bool explain_line_is_of_skill(
	const struct run *r, const struct denial *d, struct denial_words *w)
{
	enum explain_skill part = run_explain_skill(r, d->path);
	const char *manifest = part ? r->skill.manifest.permissions->origin : NULL;

	if (d->kind == DENIAL_WRITE && part == EXPLAIN_SKILL_COPY) {
		buffer_adds(&w->reason, "it is part of the skill, which cannot change itself");
		buffer_printf(&w->line,
			"add fs: {write: [\"$SKILL_DIR/data/**\"]} to %s, create that folder, "
			"and write there",
			manifest);
		return true;
	}
	if (d->kind != DENIAL_EXEC || part != EXPLAIN_SKILL_LIVE)
		return false;
	buffer_adds(&w->reason,
		"the skill may write it, and files that it may write cannot be executed");
	buffer_printf(&w->line, "move it to a folder that fs.write in %s does not grant", manifest);
	return true;
}

/* A socket of the host is never offered without what stands behind it. */
static void explain_line_add_behind(const struct denial *d, struct denial_words *w)
{
	const char *what = NULL;

	if (strncmp(d->path, "unix:", 5) != 0 || !w->line.len)
		return;
	for (size_t i = 0; !what && i < threat_sockets_n; i++)
		if (glob_match_text(threat_name(&threat_sockets[i]), d->path + 5))
			what = threat_what(&threat_sockets[i]);
	if (what)
		buffer_printf(&w->line, " (%s; no policy holds behind it)", what);
	else
		buffer_adds(&w->line, " (the program behind it is not confined, and does for the "
				      "command what it does for you)");
}

void run_explain_words(const struct run *r, const struct denial *d, struct denial_words *w)
{
	struct request request = { .op = run_explain_kinds[d->kind].op, .target = d->path };
	const struct plan_entry *entry;
	struct decision decision;

	*w = (struct denial_words){ 0 };
	if (d->kind == DENIAL_SANDBOX) {
		run_explain_sandbox_words(d, w);
		return;
	}
	if (explain_line_is_of_skill(r, d, w))
		return;
	explain_line_find_real(r, d, w);
	if (policy_decide(r->policy, &request, &decision) < 0)
		return;
	/* The relay had reasons of its own: an address, a name in the stream. */
	if (d->is_exact && decision.verdict == VERDICT_ALLOW) {
		buffer_adds(&w->reason, d->said);
		buffer_adds(&w->line, d->remedy);
		return;
	}
	/* Granted, but in a folder that is hidden as a whole. */
	entry = decision.verdict == VERDICT_ALLOW && d->kind == DENIAL_READ
			? plan_find(r->plan, d->path)
			: NULL;
	if (entry && entry->kind == PLAN_MASK) {
		buffer_printf(&w->reason, "%s is hidden as a whole, and this with it", entry->path);
		return;
	}
	/* Granted, but by another name: what is missing is a link. */
	if (decision.verdict == VERDICT_ALLOW) {
		buffer_adds(&w->reason, "the path used to reach it is not granted");
		set_option(d, w);
		add_option(w);
		return;
	}
	if (d->is_replaced)
		buffer_adds(&w->reason,
			"a file in it is granted by itself, which can be changed but not replaced");
	else
		explain_reason(&request, &decision, &w->reason);
	explain_rule(&decision, &w->rule);
	if (d->kind != DENIAL_CONNECT && run_explain_is_protected(r, d->path))
		buffer_adds(&w->reason, "; this folder is too broad to be granted as a whole");
	else if (is_run_later(r, d, &decision) ||
		 !(decision.why == DECISION_BASELINE || decision.source))
		explain_line_add_line(r, d, &request, &decision, w);
	else if (d->kind == DENIAL_CONNECT && decision.source &&
		 profile_is_origin(decision.source->grant->where.file))
		buffer_printf(&w->line, "the %s never has a network: use another --profile",
			decision.source->grant->where.file);
	else if (!explain_line_add_secret(r, d, &decision, w))
		explain_remedy(&request, &decision, &w->line);
	explain_line_add_behind(d, w);
}

/* Only a path through a link that no command can have made means the same tomorrow. */
static bool explain_line_is_linked(const struct run *r, const struct denial *d)
{
	char real[PATH_BYTES];

	return d->is_linked || run_explain_is_planted(r, d->path, real);
}

/*
 * The link leads to what the policy grants anyway, such as a virtual environment's python3: a line
 * with its name gives nothing. It grants nothing else either once it is changed, since what a
 * planted link leads to has to be granted by its own name (host/planted.h).
 */
static bool explain_line_is_given(const struct run *r, const struct denial *d)
{
	struct request request = { .op = run_explain_kinds[d->kind].op };
	char real[PATH_BYTES];

	if (!run_explain_is_planted(r, d->path, real))
		return false;
	request.target = real;
	return policy_allows(r->policy, &request);
}

/* Corral's own state and settings, wherever they are: what a jail hides, and what it only keeps
 * from being written. */
static bool explain_line_is_own(const struct run *r, const char *path)
{
	static const char *const folders[] = { ".config/corral", ".cache/corral",
		".local/share/corral", ".local/state/corral" };
	const char *home = r->load.variables.values[VARIABLE_HOME];
	char folder[PATH_BYTES];
	bool is = own_has(path, true);

	for (size_t i = 0; !is && home && i < ROWS(folders); i++)
		is = snprintf(folder, sizeof(folder), "%s/%s", home, folders[i]) < PATH_BYTES &&
		     path_is_below(path, folder);
	return is;
}

static bool explain_line_is_named(const struct denial *d)
{
	return utf8_valid(d->path, strlen(d->path), NULL) &&
	       !(strncmp(d->path, "unix:", 5) == 0 && strpbrk(d->path, special));
}

enum denial_state run_explain_state(const struct run *r, const struct denial *d)
{
	const bool is_file = d->kind == DENIAL_READ || d->kind == DENIAL_WRITE;
	struct request request = { .op = run_explain_kinds[d->kind].op, .target = d->path };
	struct blame blame = { 0 };
	struct decision decision;

	if (d->kind == DENIAL_SANDBOX)
		return DENIAL_UNKNOWN;
	if (!explain_line_is_named(d))
		return DENIAL_UNNAMED;
	if (d->kind != DENIAL_CONNECT && explain_line_is_own(r, d->path))
		return DENIAL_OWN;
	if (policy_decide(r->policy, &request, &decision) < 0)
		return DENIAL_UNKNOWN;
	if (decision.why == DECISION_BASELINE)
		return decision.baseline_never ? DENIAL_NEVER : DENIAL_SECRET;
	if (is_file && run_explain_is_protected(r, d->path))
		return DENIAL_BROAD;
	if (is_file && run_later_has(r, d->path) && decision.source &&
		decision.verdict != VERDICT_ALLOW)
		return DENIAL_LATER;
	/* The relay had reasons of its own, or it is hidden with the folder around it. */
	if (decision.verdict == VERDICT_ALLOW && !is_file)
		return DENIAL_UNKNOWN;
	if (decision.verdict != VERDICT_ALLOW && decision.source)
		return DENIAL_RULE;
	if (is_file && explain_line_is_linked(r, d) && !explain_line_is_given(r, d))
		return DENIAL_LINKED;
	find_blame(r, &request, &blame);
	return blame.ceiling ? DENIAL_CEILING : DENIAL_OPEN;
}
