/* SPDX-License-Identifier: Apache-2.0 */
#include "host/runtime.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "base/path.h"
#include "host/resolver.h"

/* Programs that a runtime may be called, the best first. */
static const struct {
	const char *name;
	const char *programs[4];
} runtimes[] = {
	{ "python", { "python3", "python" } },
	{ "python3", { "python3" } },
	{ "node", { "node", "nodejs" } },
	{ "nodejs", { "node", "nodejs" } },
	{ "javascript", { "node", "nodejs" } },
	{ "shell", { "sh" } },
};

const char *runtime_program(const char *runtime)
{
	char found[PATH_BYTES];

	for (size_t i = 0; i < ROWS(runtimes); i++) {
		if (strcmp(runtimes[i].name, runtime) != 0)
			continue;
		for (size_t k = 0; runtimes[i].programs[k]; k++) {
			if (resolver_find(runtimes[i].programs[k], found) == 0)
				return runtimes[i].programs[k];
		}
		return runtimes[i].programs[0];
	}
	return runtime;
}

int runtime_imply(const struct manifest *m, const char *folder, struct permissions *p)
{
	const char *program;

	if (!p->exec_listed || !m->entry)
		return 0;
	if (m->runtime)
		program = runtime_program(m->runtime);
	else
		program = arena_printf(p->arena, "%s/%s", folder, m->entry);
	if (!program)
		return -ENOMEM;
	/* A pattern's special characters would make the entry more than itself. */
	if (!m->runtime && strpbrk(program, "*?[]{}\\: \t\n'\"$"))
		return 0;
	return permissions_add(p, &p->exec, program, NULL);
}
