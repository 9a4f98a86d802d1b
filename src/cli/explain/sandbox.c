/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs that make a sandbox of their own: they ask for new namespaces, which no command gets,
 * and most of them fail with a message that says nothing of that. What to do instead is known for
 * some, by the name of the process that asks, or of one that started it.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "cli/explain/internal.h"

enum { ANCESTORS_MAX = 8 };

struct sandbox_row {
	const char *start;  /* of the name of a process, which has 15 bytes at most */
	bool starts_others; /* it counts before the programs that it starts */
	const char *line;
};

static const char instead[] = "start it with --no-sandbox: Corral is its sandbox";
static const char outside[] = "run it outside of Corral: there are no containers inside";

static const struct sandbox_row rows[] = {
	{ "codex", true, "start codex with --sandbox danger-full-access: Corral is its sandbox" },
	{ "claude", true,
		"set {\"sandbox\": {\"enabled\": false}} in ~/.claude/settings.json: Corral is its "
		"sandbox" },
	{ "bazel", true, "start bazel with --spawn_strategy=local: Corral is its sandbox" },
	{ "nix", true, "start nix with --option sandbox false: Corral is its sandbox" },
	{ "chrome", false, instead },
	{ "chromium", false, instead },
	{ "headless_shell", false, instead },
	{ "electron", false, instead },
	{ "msedge", false, instead },
	{ "brave", false, instead },
	{ "code", false, instead },
	{ "podman", false, outside },
	{ "buildah", false, outside },
	{ "docker", false, outside },
	{ "containerd", false, outside },
	{ "runc", false, outside },
	{ "crun", false, outside },
	{ "rootlesskit", false, outside },
};

static const struct sandbox_row *sandbox_row_of(const char *name)
{
	for (size_t i = 0; i < ROWS(rows); i++) {
		if (strncmp(name, rows[i].start, strlen(rows[i].start)) == 0)
			return &rows[i];
	}
	return NULL;
}

/* The name of a process, which it chose itself; and who started it, 0 if that is not known. */
static long sandbox_look(long pid, char name[PATH_BYTES])
{
	char file[64], status[4096];
	const char *parent;

	(void)snprintf(file, sizeof(file), "/proc/%ld/comm", pid);
	explain_read(file, name, 64);
	name[strcspn(name, "\n")] = '\0';
	(void)snprintf(file, sizeof(file), "/proc/%ld/status", pid);
	explain_read(file, status, sizeof(status));
	parent = strstr(status, "\nPPid:");
	return parent ? strtol(parent + 6, NULL, 10) : 0;
}

int run_explain_sandbox(const struct sight *s, struct denial *ret, char path[PATH_BYTES])
{
	char name[PATH_BYTES];
	long pid = sandbox_look(s->pid, path);
	const struct sandbox_row *row = sandbox_row_of(path);

	for (int i = 0; pid > 1 && i < ANCESTORS_MAX && !(row && row->starts_others); i++) {
		const struct sandbox_row *above;

		pid = sandbox_look(pid, name);
		above = sandbox_row_of(name);
		if (above && (above->starts_others || !row)) {
			row = above;
			memcpy(path, name, strlen(name) + 1);
		}
	}
	if (!path[0])
		return EXPLAIN_NOTHING;
	*ret = (struct denial){ .kind = DENIAL_SANDBOX, .path = path };
	return EXPLAIN_DENIED;
}

const char *run_explain_sandbox_line(const char *program)
{
	const struct sandbox_row *row = sandbox_row_of(program);

	return row ? row->line
		   : "it wants namespaces, and gets none: turn its own sandbox off, or run it "
		     "outside of Corral";
}

void run_explain_sandbox_words(const struct denial *d, struct denial_words *w)
{
	buffer_adds(&w->reason, "it wanted namespaces for a sandbox of its own, and gets none");
	buffer_adds(&w->line, run_explain_sandbox_line(d->path));
}
