/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/policy/canonical.h"

#include <string.h>
#include <unistd.h>

#include "cli/output.h"
#include "policy/format/permissions-text.h"

int canonical_format(struct call *c, const struct options_row *row, const char *value)
{
	static const char *const known[] = { "yaml", "json" };
	struct canonical *how = row->target;

	how->json = how->json || strcmp(value, "json") == 0;
	if (how->json || strcmp(value, "yaml") == 0)
		return 0;
	return options_unknown_word(c, row, value, known, 2);
}

int canonical_print(const struct canonical *how, struct call *c, const struct permissions *p)
{
	auto_output o = output_for(STDOUT_FILENO);

	if (how->json) {
		permissions_print_json(p, &o.text);
		buffer_addc(&o.text, '\n');
	} else {
		permissions_print_yaml(p, &o.text);
	}
	return output_write(&o, STDOUT_FILENO, c->error);
}
