/* SPDX-License-Identifier: Apache-2.0 */
#include "services/calendar/remote.h"

#include <errno.h>

int remote_open(struct store **ret, const struct remote_options *o, struct error *e)
{
	(void)ret;
	(void)o;
	(void)error_set(e, -ENOSYS, NULL, "this build of Corral has no CalDAV");
	error_hint(e, "build it with libcurl and libxml2, or name a folder in services.yaml");
	return -ENOSYS;
}
