/* SPDX-License-Identifier: Apache-2.0 */
/* The modes of whole agents, for host programs: their names and their words (policy/format/mode.h).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/api/handles.h"
#include "lib/sandbox/sandbox.h"
#include "policy/format/mode.h"

_Static_assert((int)CORRAL_MODE_SANDBOX == AGENT_MODE_SANDBOX &&
		       (int)CORRAL_MODE_RX == AGENT_MODE_RX &&
		       (int)CORRAL_MODE_RWX == AGENT_MODE_RWX,
	"modes");

int sandbox_check_mode(enum corral_mode mode, const char *data_dir, struct error *e)
{
	if ((unsigned)mode > CORRAL_MODE_RWX)
		return error_set(e, -EINVAL, NULL, "there is no mode %d", (int)mode);
	if (!data_dir && mode != CORRAL_MODE_RWX)
		return error_set(e, -EINVAL, NULL, "mode %s needs a data folder",
			agent_mode_name((enum agent_mode)mode));
	if (data_dir && !agent_mode_is_printable(data_dir))
		return error_set(e, -EINVAL, NULL,
			"the data folder holds control characters or is not UTF-8");
	return 0;
}

const char *corral_mode_name(enum corral_mode mode)
{
	return (unsigned)mode > CORRAL_MODE_RWX ? NULL : agent_mode_name((enum agent_mode)mode);
}

int corral_mode_parse(const char *name, enum corral_mode *ret)
{
	enum agent_mode mode;
	int r = name ? agent_mode_parse(name, &mode) : -EINVAL;

	if (r == 0)
		*ret = (enum corral_mode)mode;
	return r;
}

int corral_mode_prompt(
	enum corral_mode mode, const char *data_dir, char **ret, struct corral_error **e)
{
	auto_arena a = { 0 };
	struct error error = { 0 };
	char *text = NULL;
	int r = sandbox_check_mode(mode, data_dir, &error);

	if (r == 0) {
		const char *prompt =
			mode == CORRAL_MODE_RWX
				? ""
				: agent_mode_prompt((enum agent_mode)mode, data_dir, &a);

		text = prompt ? strdup(prompt) : NULL;
		r = text ? 0 : error_no_memory(&error);
	}
	if (r < 0)
		return handles_error(e, &error, r);
	*ret = text;
	return 0;
}
