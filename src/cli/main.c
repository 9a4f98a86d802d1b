/* SPDX-License-Identifier: Apache-2.0 */
/*
 * corral: what may an agent, a tool or a skill do, and why; and the running of it. The words of the
 * command line find a verb (verb.h), the verb answers, and the answer is the exit status.
 */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "cli/agent.h"
#include "cli/output.h"
#include "cli/profile/profile.h"
#include "cli/verb.h"
#include "launch/source.h"
#include "warden/inherited.h"

static const struct verb *const verbs[] = {
	&verb_run,
	&verb_shell,
	&verb_learn,
	&verb_mcp,
	&verb_undo,
	&verb_policy,
	&verb_import,
	&verb_inspect,
	&verb_approve,
	&verb_skills,
	&verb_prompt,
	&verb_project,
	&verb_init,
	&verb_profile,
	&verb_audit,
	&verb_service,
	&verb_vault,
	&verb_link,
	&verb_tool,
	&verb_integrations,
	&verb_dashboard,
	&verb_ps,
	&verb_status,
	&verb_events,
	&verb_questions,
	&verb_grants,
	&verb_security,
	&verb_doctor,
	NULL,
};

static const struct verb corral = {
	.name = "corral",
	.synopsis = "COMMAND [OPTION]...  |  --help  |  --version",
	.description =
		"Runs agents, tools and skills in a sandbox with only the files, hosts, "
		"programs and variables that were granted. Reads policies in Corral's own format "
		"and in those of several other systems. Results go to standard output, messages "
		"to standard error.\n"
		"Exit status: 0 yes, 1 no, 3 ask the user, 2 an error; `run` and `shell` exit "
		"with the status of the command.",
	.examples = "corral run -- make test\n"
		    "corral policy check -p policy.yaml --op net.connect --target example.com:443\n"
		    "corral policy explain -p policy.yaml --op exec --target 'git push --force'\n"
		    "corral inspect ./weather-skill\n"
		    "corral audit tail -f\n"
		    "corral prompt --mode sandbox --data-dir ~/.agent\n",
	.verbs = verbs,
};

/* By the name that it was started by: a link in the same folder. */
static const struct verb *main_verb(const char *name)
{
	const char *slash = name ? strrchr(name, '/') : NULL;

	name = slash ? slash + 1 : name;
	return name && strcmp(name, verb_agentlink.name) == 0 ? &verb_agentlink : &corral;
}

int main(int argc, char **argv)
{
	/* Alone it is a question: what is this? */
	char *question[] = { (char[]){ "corral" }, (char[]){ "--help" } };
	auto_arena arena = { 0 };
	struct error error = { 0 };
	bool json = false;
	struct call c = {
		.verb = main_verb(argv[0]),
		.name = main_verb(argv[0])->name,
		.words = argc > 1 ? argv : question,
		.n = argc > 1 ? (size_t)argc : ROWS(question),
		.arena = &arena,
		.error = &error,
		.json = &json,
		.extend = profile_extend_file,
		.unread = launch_source_forget(),
	};
	auto_output version = { 0 };
	int r;

	inherited_words(argc, argv);
	if (argc > 1 && strcmp(argv[1], "--complete") == 0) {
		c.words = c.completes = argv + 1;
		c.n--;
	}
	buffer_adds(&version.text, "corral " CORRAL_VERSION "\n");
	if (argc == 2 && (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0))
		r = output_write(&version, STDOUT_FILENO, &error);
	else
		r = verb_dispatch(&c);
	if (r >= 0)
		return r;
	if (!error.text[0])
		(void)error_set(&error, r, NULL, "%s", strerror(-r));
	output_error(&error);
	if (json)
		output_error_json(&error, STATUS_ERROR);
	return STATUS_ERROR;
}
