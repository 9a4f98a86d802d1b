/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/api/handles.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/path.h"
#include "lib/process/denial.h"

int handles_error(struct corral_error **ret, const struct error *e, int code)
{
	struct corral_error *copy = ret ? calloc(1, sizeof(*copy)) : NULL;
	auto_buffer text = { 0 };

	if (ret)
		*ret = copy;
	if (!copy)
		return code;
	copy->e = *e;
	if (!copy->e.text[0])
		error_set(&copy->e, code, NULL, code == -ENOMEM ? "out of memory" : "error %d",
			-code);
	error_print(&copy->e, &text);
	copy->message = buffer_take(&text);
	return code;
}

int handles_denied(
	struct corral_error **ret, const struct error *e, int code, const struct corral_denial *d)
{
	(void)handles_error(ret, e, code);
	if (ret && *ret && d)
		(*ret)->denial = denial_copy(d);
	return code;
}

int handles_variables(
	struct variables *ret, const struct corral_variable *from, size_t n, struct error *e)
{
	*ret = (struct variables){ 0 };
	for (size_t i = 0; i < n; i++) {
		enum variable v;

		if (!from[i].name || variable_parse(from[i].name, strlen(from[i].name), &v) < 0)
			return error_set(e, -EINVAL, NULL, "unknown variable %s",
				from[i].name ? from[i].name : "(null)");
		if (!from[i].value || !path_is_normal(from[i].value, strlen(from[i].value)))
			return error_set(e, -EINVAL, NULL,
				"the value of %s must be an absolute path without . or ..",
				from[i].name);
		ret->values[v] = from[i].value;
	}
	return 0;
}
