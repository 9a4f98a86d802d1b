/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs of agents that run outside of all sandboxes, by /proc. An agent is known by the name of
 * its program, or by the package that an interpreter runs; names that other programs have as well
 * (goose, amp) count only as packages. A name can be chosen, so this finds what was forgotten, not
 * what hides.
 *
 * A process that may not be looked at is none: of another user's we know nothing, and one of our
 * own that is not dumpable is no agent. Its children are reported as processes of their own.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/buffer.h"
#include "base/fd.h"
#include "base/file.h"
#include "base/path.h"
#include "base/words.h"
#include "cli/output.h"
#include "cli/security/findings.h"
#include "host/account.h"
#include "host/marks.h"

enum { AGENTS_TEXT_MAX = 64 << 10, AGENTS_WORDS = 6, AGENTS_FOUND_MAX = 128, AGENTS_DEPTH = 8 };

static const char *const agents_programs[] = { "claude", "codex", "opencode", "aider",
	"cursor-agent", "openclaw", "gemini-cli", "copilot-cli", "qwen-code", NULL };

static const struct {
	const char *package, *agent;
} agents_packages[] = {
	{ "/@anthropic-ai/claude-code/", "claude" },
	{ "/@openai/codex/", "codex" },
	{ "/@google/gemini-cli/", "gemini" },
	{ "/@github/copilot/", "copilot" },
	{ "/@qwen-code/qwen-code/", "qwen" },
	{ "/@sourcegraph/amp/", "amp" },
	{ "/@charmland/crush/", "crush" },
	{ "/opencode-ai/", "opencode" },
	{ "/openclaw/", "openclaw" },
};

const char *const *security_agents(void)
{
	return agents_programs;
}

bool security_is_agent(const char *name)
{
	return words_find(agents_programs, name, strlen(name)) >= 0;
}

static const char *agents_last(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* python3.11, node, bun: what they run says who they are. */
static bool agents_is_interpreter(const char *name)
{
	static const char *const names[] = { "python", "pypy", "node", "nodejs", "bun", "deno",
		NULL };
	const size_t len = strcspn(name, "0123456789.-");

	return words_find(names, name, len) >= 0;
}

/* The agent that a path belongs to; NULL: none. */
static const char *agents_of_path(const char *path)
{
	static const char *const endings[] = { "", ".js", ".mjs", ".cjs", ".py" };
	const char *last = agents_last(path);

	for (size_t i = 0; i < ROWS(agents_packages); i++)
		if (strstr(path, agents_packages[i].package))
			return agents_packages[i].agent;
	for (size_t i = 0; agents_programs[i]; i++) {
		const size_t len = strlen(agents_programs[i]);

		if (strncmp(last, agents_programs[i], len) != 0)
			continue;
		for (size_t k = 0; k < ROWS(endings); k++)
			if (strcmp(last + len, endings[k]) == 0)
				return agents_programs[i];
	}
	return NULL;
}

/* What the process runs, as far as it can be seen. */
struct agents_process {
	pid_t pid, parent;
	uid_t uid;
	char number[16], name[32], program[PATH_BYTES];
	struct buffer line; /* words that end with NUL */
};

static const char *agents_judge(const struct agents_process *p)
{
	const char *end = buffer_text(&p->line) + p->line.len, *word = buffer_text(&p->line);
	const char *agent = agents_of_path(p->name), *program = agents_last(p->program);

	if (!agent)
		agent = agents_of_path(p->program);
	if (agent || !agents_is_interpreter(program))
		return agent;
	/* The first word that is no option is what it runs. */
	for (size_t i = 0; i < AGENTS_WORDS && word < end; i++, word += strlen(word) + 1)
		if (i > 0 && word[0] != '-')
			return agents_of_path(word);
	return NULL;
}

static void agents_read(const struct agents_process *p, const char *file, struct buffer *out)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%s/%s", p->number, file);
	/* More than that is no name of a program: what was read does. */
	(void)file_read(path, AGENTS_TEXT_MAX, out);
}

/* -ENOENT: it is gone, or not ours to look at. */
static int agents_look(struct agents_process *p, const char *number)
{
	auto_buffer stat_line = { 0 };
	const char *open, *close;
	char path[64];
	ssize_t n;

	*p = (struct agents_process){ .pid = (pid_t)strtol(number, NULL, 10) };
	(void)snprintf(p->number, sizeof(p->number), "%s", number);
	agents_read(p, "stat", &stat_line);
	open = strchr(buffer_text(&stat_line), '(');
	close = strrchr(buffer_text(&stat_line), ')');
	if (!open || !close || close < open || strlen(close) < 5)
		return -ENOENT;
	(void)snprintf(p->name, sizeof(p->name), "%.*s", (int)(close - open - 1), open + 1);
	p->parent = (pid_t)strtol(close + 4, NULL, 10);
	(void)snprintf(path, sizeof(path), "/proc/%s/exe", number);
	n = readlink(path, p->program, sizeof(p->program) - 1);
	if (n < 0)
		return -ENOENT;
	p->program[n] = '\0';
	if (agents_is_interpreter(agents_last(p->program)))
		agents_read(p, "cmdline", &p->line);
	return 0;
}

struct agents {
	struct security *s;
	struct marks own;
	pid_t found[AGENTS_FOUND_MAX];
	size_t n;
};

static bool agents_is_found(const struct agents *a, pid_t pid)
{
	for (size_t i = 0; i < a->n; i++)
		if (a->found[i] == pid)
			return true;
	return false;
}

static void agents_tell(struct agents *a, const struct agents_process *p, const char *agent)
{
	char user[ACCOUNT_NAME_BYTES], where[32];
	auto_buffer text = { 0 }, remedy = { 0 };

	if (account_name("/etc/passwd", p->uid, user) < 0)
		return;
	(void)snprintf(where, sizeof(where), "pid %d", (int)p->pid);
	buffer_printf(&text, "%s runs outside of a sandbox, with all rights of %s (%s, ", agent,
		user, where);
	buffer_add_visible(&text, p->program, strlen(p->program));
	buffer_addc(&text, ')');
	buffer_printf(&remedy,
		"end it, and start it again with `corral run --mode sandbox --data-dir ~/.agent "
		"-- %s`",
		agent);
	security_add(a->s, "agent_outside", SECURITY_HIGH, where, buffer_text(&text),
		buffer_text(&remedy));
}

static void agents_visit(struct agents *a, const char *number, uid_t uid)
{
	struct agents_process p;
	struct marks marks;
	const char *agent;

	if (agents_look(&p, number) == 0) {
		p.uid = uid;
		agent = agents_judge(&p);
		if (agent && marks_read(number, &marks) == 0 && !marks_differ(&a->own, &marks) &&
			a->n < AGENTS_FOUND_MAX) {
			a->found[a->n++] = p.pid;
			/* Of those that an agent starts as itself one is enough. */
			if (!agents_is_found(a, p.parent))
				agents_tell(a, &p, agent);
		}
	}
	buffer_deinit(&p.line);
}

void security_check_agents(struct security *s)
{
	struct agents a = { .s = s };
	DIR *proc = opendir("/proc");
	const struct dirent *entry;

	if (!proc || marks_read("self", &a.own) < 0) {
		security_add(s, "agent_outside", SECURITY_LOW, "/proc",
			"processes cannot be looked at",
			"mount /proc, so that agents outside of sandboxes are seen");
		if (proc)
			(void)closedir(proc);
		return;
	}
	/* In the order of their numbers, so mostly a parent comes before what it started. */
	while ((entry = readdir(proc))) {
		struct stat st;

		if (!isdigit((unsigned char)entry->d_name[0]) || strlen(entry->d_name) > 10 ||
			fstatat(dirfd(proc), entry->d_name, &st, 0) < 0)
			continue;
		if (s->is_system || st.st_uid == geteuid())
			agents_visit(&a, entry->d_name, st.st_uid);
	}
	(void)closedir(proc);
}
