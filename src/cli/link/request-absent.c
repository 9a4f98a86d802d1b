/* SPDX-License-Identifier: Apache-2.0 */
/* Built without libcurl: nothing makes requests. */
#include "cli/link/request.h"

#include <errno.h>

void requests_deinit(struct requests *r)
{
	(void)r;
}

void request_answer_deinit(struct request_answer *a)
{
	(void)a;
}

int request_make(struct requests *r, const struct request_of *of, struct request_answer *ret,
	struct error *e)
{
	(void)r;
	(void)of;
	(void)ret;
	return error_set(e, -EOPNOTSUPP, NULL,
		"this Corral was built without libcurl, which makes the requests of a login");
}
