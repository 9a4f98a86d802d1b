/* SPDX-License-Identifier: Apache-2.0 */
#include "services/calendar/remote.h"

#include "services/calendar/caldav.h"
#include "services/calendar/dav-client.h"

int remote_open(struct store **ret, const struct remote_options *o, struct error *e)
{
	const struct dav_client_options options = { .url = o->url,
		.user = o->user,
		.password = o->password,
		.authorities = o->authorities };
	struct dav_client *client = NULL;
	int r = dav_client_new(&client, &options, e);

	if (r < 0)
		return r;
	r = caldav_new(ret, client, o->kind);
	return r < 0 ? error_no_memory(e) : 0;
}
