/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that may run, and what it cannot run without: the interpreter that a script names in
 * its first line, and the companions of data/companions.conf. Those may have some of their own, so
 * what was added once is not added again, and there is a bound.
 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "jail/companions.h"
#include "jail/plan/internal.h"

/* Far more than anybody lists; each is a mount. */
enum { PROGRAMS_MAX = 4096, HEAD_BYTES = 256 };

static bool plan_programs_has(const struct planner *p, const char *path, enum plan_runs runs)
{
	for (size_t i = 0; i < p->n; i++) {
		const struct plan_place *place = &p->places[i];

		if (place->origin == PLAN_FROM_EXEC && place->runs == runs &&
			strcmp(place->path, path) == 0)
			return true;
	}
	return false;
}

static int jail_plan_programs_add(struct planner *p, struct plan_place place, const char *path)
{
	place.path = arena_strdup(&p->arena, path);
	if (!place.path)
		return plan_no_memory(p);
	if (++p->n_programs > PROGRAMS_MAX)
		return error_set(p->error, -E2BIG, place.where, "too many programs are listed");
	return plan_add_place(p, place);
}

int plan_programs_deny(
	struct planner *p, const char *path, const struct location *where, const char *text)
{
	struct plan_place place = {
		.origin = PLAN_FROM_EXEC, .runs = PLAN_RUNS_NOT, .where = where, .text = text
	};

	return plan_programs_has(p, path, PLAN_RUNS_NOT) ? 0
							 : jail_plan_programs_add(p, place, path);
}

int plan_programs_add_essential(struct planner *p, const char *path)
{
	struct plan_place place = { .origin = PLAN_FROM_ESSENTIALS, .runs = PLAN_RUNS };

	return jail_plan_programs_add(p, place, path);
}

int plan_programs_add_folder(struct planner *p, const char *path)
{
	struct plan_place place = { .origin = PLAN_FROM_EXEC, .runs = PLAN_RUNS };

	return plan_programs_has(p, path, PLAN_RUNS) ? 0 : jail_plan_programs_add(p, place, path);
}

/* What comes along with a program is left out where a rule denies it by name. */
bool plan_programs_is_denied(const struct planner *p, const char *path)
{
	struct request r = { .op = OPERATION_EXEC, .target = path };

	for (size_t i = 0; i < policy_layers(p->policy); i++) {
		struct decision d;

		if (policy_decide_layer(p->policy, i, &r, &d) < 0 ||
			(d.verdict != VERDICT_ALLOW && d.why == DECISION_RULE))
			return true;
	}
	return false;
}

static int add_implied(void *data, const char *path)
{
	struct planner *p = data;

	return plan_programs_is_denied(p, path) ? 0 : plan_programs_add(p, path);
}

static int add_by_name(struct planner *p, const char *name)
{
	const struct resolver *resolver = p->options->resolver;
	int r = resolver ? resolver->programs(resolver->context, name, add_implied, p) : 0;

	return r == -ENOENT ? 0 : r;
}

/* Scripts */

/* The next word of a line; NULL at its end. The line is cut into words. */
static char *plan_programs_next_word(char **line)
{
	char *word;

	*line += strspn(*line, " \t");
	word = *line;
	*line += strcspn(*line, " \t");
	if (**line)
		*(*line)++ = '\0';
	return *word ? word : NULL;
}

static bool is_env(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && strcmp(slash, "/env") == 0;
}

/* "env -S NAME=value program": the program. */
static char *word_behind_env(char *line)
{
	char *word = plan_programs_next_word(&line);

	while (word && (word[0] == '-' || strchr(word, '=')))
		word = plan_programs_next_word(&line);
	return word;
}

static int add_interpreter(struct planner *p, const char *path)
{
	char head[HEAD_BYTES + 1], *line = head + 2, *word;
	auto_fd fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	ssize_t n = fd < 0 ? -1 : read(fd, head, HEAD_BYTES);
	int r;

	if (n < 3 || head[0] != '#' || head[1] != '!')
		return 0;
	head[n] = '\0';
	head[strcspn(head, "\n")] = '\0';
	word = plan_programs_next_word(&line);
	if (!word || word[0] != '/')
		return 0;
	r = add_by_name(p, word);
	if (r < 0 || !is_env(word))
		return r;
	word = word_behind_env(line);
	return word ? add_by_name(p, word) : 0;
}

/* Companions */

/* "python" in "python3.11", "gcc" in "gcc-12". */
static size_t plan_programs_stem(const char *name)
{
	size_t len = strlen(name);

	while (len > 1 && (isdigit((unsigned char)name[len - 1]) || strchr(".-", name[len - 1])))
		len--;
	return len;
}

static bool is_called(const char *name, const char *program)
{
	size_t len = plan_programs_stem(name);

	return strcmp(name, program) == 0 ||
	       (strlen(program) == len && memcmp(name, program, len) == 0);
}

static int plan_programs_add_found(void *data, const char *path, bool subtree)
{
	struct planner *p = data;

	(void)subtree;
	return plan_programs_is_denied(p, path) ? 0 : plan_programs_add_folder(p, path);
}

static int add_companion(struct planner *p, const char *what)
{
	struct glob g;
	int r;

	if (what[0] != '/')
		return add_by_name(p, what);
	r = glob_parse(&g, &p->arena, what, NULL, p->error);
	return r < 0 ? r : plan_globs_expand(p, &g.alternatives[0], plan_programs_add_found, p);
}

static int add_companions(struct planner *p, const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	int r = 0;

	for (size_t i = 0; r == 0 && i < companions_n; i++) {
		if (is_called(name, companions[i].program))
			r = add_companion(p, companions[i].what);
	}
	return r;
}

int plan_programs_add(struct planner *p, const char *path)
{
	struct plan_place place = {
		.origin = PLAN_FROM_EXEC, .runs = PLAN_RUNS, .is_program = true
	};
	int r;

	if (plan_programs_has(p, path, PLAN_RUNS))
		return 0;
	r = jail_plan_programs_add(p, place, path);
	if (r == 0)
		r = add_interpreter(p, path);
	return r < 0 || !p->plan->exec_listed ? r : add_companions(p, path);
}
