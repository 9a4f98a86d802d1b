/* SPDX-License-Identifier: Apache-2.0 */
#include "wasm/skill.h"

#include <errno.h>

#include "codec/json.h"
#include "wasm/guest.h"

/* {"success": true, …}: 0; false: FAILURE_REPORTED. Anything else is no answer. */
static int skill_judge(const struct buffer *answer, struct error *e)
{
	const struct node_bounds bounds = { GUEST_TEXT_MAX, GUEST_TEXT_MAX };
	struct error why = { 0 };
	struct document d;
	bool success = false;
	int r = json_read_within(&d, NULL, buffer_text(answer), answer->len, &bounds, &why);

	if (r == 0 && node_boolean(node_get(d.root, "success"), &success) < 0)
		r = error_set(&why, -EINVAL, NULL, "it has no `success` that is true or false");
	if (r == 0)
		document_deinit(&d);
	if (r == 0)
		return success ? 0 : FAILURE_REPORTED;
	(void)error_set(e, r, NULL, "the module's answer is no SkillOutput: %s", why.text);
	error_hint(e, "`handle` returns JSON such as {\"success\": true, \"result\": 1}");
	return FAILURE_STOPPED;
}

int skill_call_export(
	struct loaded *l, const void *input, size_t len, struct buffer *answer, struct error *e)
{
	int r = instance_call(l, input, len, answer, e), status;

	if (r != 0)
		return r;
	status = skill_judge(answer, e);
	if (status == FAILURE_STOPPED)
		return status;
	if (answer->data[answer->len - 1] != '\n')
		buffer_addc(answer, '\n');
	return answer->failed ? (error_no_memory(e), FAILURE_WORKER) : status;
}
