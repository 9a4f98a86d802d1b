/* SPDX-License-Identifier: Apache-2.0 */
/* corral.yaml: what is accepted is bounded, and every command has a program. */
#include <stdint.h>
#include <stdlib.h>

#include "policy/format/project.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	auto_project_file p = { 0 };
	struct error e = { 0 };
	int r = project_file_read(&p, "corral.yaml", (const char *)data, size, &e);

	if (r < 0) {
		if (!e.text[0] || p.permissions)
			abort();
		return 0;
	}
	if (p.n_commands > PROJECT_COMMANDS_MAX || p.n_packs > PROJECT_PACKS_MAX ||
		size > PROJECT_BYTES_MAX || p.permissions->dangerously_allow.n ||
		p.permissions->extends || p.permissions->n_all_of)
		abort();
	for (size_t i = 0; i < p.n_commands; i++) {
		const struct project_command *c = &p.commands[i];

		if (!c->n || c->n > PROJECT_WORDS_MAX || !c->words[0][0] || c->words[c->n] ||
			project_file_find(&p, c->name) != c)
			abort();
	}
	project_file_cut_network(&p);
	return p.permissions->network_allow.n || p.permissions->listen.n ? abort(), 0 : 0;
}
