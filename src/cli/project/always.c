/* SPDX-License-Identifier: Apache-2.0 */
/*
 * "Always, for this project": the answer to a question becomes a line of corral.yaml. The file on
 * disk must be the approved one, so that one answer approves no line that was added meanwhile. The
 * terminal may be raw while a question is open, so lines end with a carriage return, too.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "cli/output.h"
#include "cli/project/project.h"
#include "cli/run/run.h"
#include "policy/format/permissions-text.h"

/* The grant alone, as permissions. */
static struct permissions *always_grant(struct call *c, enum operation op, const char *pattern)
{
	const enum permission_list list = operation_rows[op].allow;
	struct permissions *more = permissions_new();
	const char *canonical = NULL;

	if (more && list != LIST_NONE &&
		permissions_list_canonical(list, pattern, c->arena, &canonical, NULL, c->error) ==
			0 &&
		permissions_add(more, permissions_list(more, list), canonical, NULL) == 0)
		return more;
	permissions_free(more);
	return NULL;
}

static void always_show(const struct project *p, enum operation op, const char *pattern)
{
	auto_output o = output_for(STDERR_FILENO);

	buffer_adds(&o.text, "\r\n");
	output_note(&o);
	buffer_adds(&o.text, "added to ");
	output_name(&o, p->path);
	buffer_printf(&o.text, ": %s ", operation_name(op));
	output_name(&o, pattern);
	buffer_adds(&o.text, "\r\n");
	(void)output_write(&o, STDERR_FILENO, NULL);
}

int project_add_grant(const struct project *now, struct call *c, const char *home, uint32_t op,
	const char *pattern)
{
	auto_permissions *more = NULL;
	auto_buffer text = { 0 };
	int ret;

	if (op >= OPERATION_COUNT || !now->path)
		return -EINVAL;
	if (now->ignored || now->outcome != APPROVAL_CURRENT)
		return error_set(c->error, -ESTALE, NULL,
			"%s was changed since it was approved: look at it with `corral project "
			"diff`",
			now->path);
	more = always_grant(c, (enum operation)op, pattern);
	if (!more)
		return c->error->text[0] ? -EINVAL : error_no_memory(c->error);
	ret = project_append(now, c, more, &text);
	return ret ? ret : project_write(c, now->folder, home, &text);
}

int project_always(void *run, uint32_t op, const char *pattern, struct error *e)
{
	struct run *r = run;
	const char *home = r->load.variables.values[VARIABLE_HOME];
	struct call c = *r->call;
	auto_project now = { 0 };
	int ret;

	c.error = e;
	ret = project_open(&now, &c, r->project.folder, home);
	if (ret < 0)
		return ret;
	if (!now.path || strcmp(now.path, r->project.path) != 0)
		return error_set(e, -ESTALE, NULL, "%s is not there any more", r->project.path);
	ret = project_add_grant(&now, &c, home, op, pattern);
	if (ret == 0) {
		r->project.is_written = true;
		always_show(&now, (enum operation)op, pattern);
	}
	return ret < 0 ? ret : 0;
}
