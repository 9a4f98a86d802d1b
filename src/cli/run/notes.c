/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a person probably did not mean, said in one line each before the command starts: options
 * that have less effect than they seem to have, or more. None of it changes what is granted. With
 * --json nothing of it is printed.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/output.h"
#include "cli/run/run.h"
#include "cli/explain/explain.h"
#include "policy/explain.h"
#include "policy/network/host.h"

/* --env NAME of a variable that is not set here. */
static void notes_variables(const struct run *r, struct output *o)
{
	for (size_t i = 0; i < r->options.env.n; i++) {
		const char *text = r->options.env.items[i];

		if (strpbrk(text, "=*?") || getenv(text))
			continue;
		output_note(o);
		buffer_adds(&o->text, "--env ");
		output_foreign(o, text);
		buffer_adds(&o->text, ": this variable is not set here, so the command does not "
				      "have it; --env ");
		output_foreign(o, text);
		buffer_adds(&o->text, "=VALUE sets it\n");
	}
}

/* A host without a port is all of its ports, as in a policy; that is seldom meant. */
static void notes_ports(const struct run *r, struct output *o)
{
	for (size_t i = 0; i < r->options.net.n; i++) {
		const char *text = r->options.net.items[i];
		auto_arena scratch = { 0 };
		struct host_pattern h;

		if (host_pattern_parse(&h, &scratch, text, NULL, NULL) < 0 ||
			h.kind == HOST_SOCKET || h.kind == HOST_ANY || h.port_lo != 1 ||
			h.port_hi != HOST_PORT_MAX || strstr(text, ":*"))
			continue;
		output_note(o);
		buffer_adds(&o->text, "--net ");
		output_foreign(o, text);
		buffer_adds(&o->text, " grants every port of it; --net ");
		output_foreign(o, text);
		buffer_adds(&o->text, ":443 grants one, and :* says that all are meant\n");
	}
}

/* With the host's own network a list of hosts takes nothing away. */
static void notes_open_network(const struct run *r, struct output *o)
{
	const struct options_list *net =
		r->options.net.n ? &r->options.net : &r->options.net_private;

	if (r->plan->network != PLAN_NETWORK_HOST || !net->n)
		return;
	output_note(o);
	buffer_printf(&o->text,
		"%s has no effect: %s%s has the whole network of this machine; without it only "
		"hosts that are listed can be reached\n",
		net == &r->options.net ? "--net" : "--net-private", r->mode ? "--mode " : "",
		r->mode ? agent_mode_name(r->options.agent.mode) : "the policy");
}

/* The command starts in another folder, where the paths in its arguments lead elsewhere. */
static void notes_folder(struct run *r, struct output *o)
{
	const char *here = NULL, *word = NULL;

	if (r->options.cwd || r->options.work_dir || r->options.skill ||
		load_absolute(r->call, ".", &here) < 0 || strcmp(here, r->cwd) == 0)
		return;
	for (size_t i = 1; i < r->n_argv && !word; i++) {
		const char *text = r->argv[i];

		if (*text && *text != '/' && *text != '-' && access(text, F_OK) == 0)
			word = text;
	}
	if (!word)
		return;
	output_note(o);
	output_foreign(o, here);
	buffer_adds(&o->text, " is not granted, so the command starts in ");
	output_foreign(o, r->cwd);
	buffer_adds(&o->text, ", where ");
	output_foreign(o, word);
	buffer_adds(&o->text, " is another path: add --read ");
	output_shell_word(&o->text, here);
	buffer_addc(&o->text, '\n');
}

/* Its interpreter would only say that there is no such file. */
static int notes_entry(struct run *r)
{
	const char *entry =
		r->options.skill && !r->options.is_command ? r->skill.manifest.entry : NULL;
	const char *path =
		entry ? arena_printf(r->call->arena, "%s/%s", r->skill.path, entry) : NULL;
	struct request request = { .op = OPERATION_FS_READ, .target = path };
	auto_buffer reason = { 0 }, remedy = { 0 };
	struct decision d;

	if (entry && !path)
		return error_no_memory(r->call->error);
	if (!entry || (policy_decide(r->policy, &request, &d) == 0 && d.verdict == VERDICT_ALLOW))
		return 0;
	explain_reason(&request, &d, &reason);
	explain_remedy(&request, &d, &remedy);
	(void)error_set(r->call->error, -EACCES, NULL,
		"the policy does not allow reading the entry of the skill, %s: %s", path,
		buffer_text(&reason));
	error_hint(r->call->error, "%s", buffer_text(&remedy));
	run_explain_refused(r->explain, OPERATION_FS_READ, path);
	return RUN_FORBIDDEN;
}

int run_notes(struct run *r)
{
	auto_output o = output_for(STDERR_FILENO);
	int ret = notes_entry(r);

	if (ret != 0 || r->options.json)
		return ret;
	ask_note(r, &o);
	notes_variables(r, &o);
	notes_ports(r, &o);
	notes_open_network(r, &o);
	notes_folder(r, &o);
	if (o.text.len)
		(void)output_write(&o, STDERR_FILENO, NULL);
	return 0;
}
