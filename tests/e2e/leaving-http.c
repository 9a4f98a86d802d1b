/* SPDX-License-Identifier: Apache-2.0 */
/*
 * leaving-http: stands for corrald-http. It makes one call, which is so long that it is in a file
 * in memory, and ends before corrald has read it.
 */
#include <string.h>

#include "base/buffer.h"
#include "daemon/route.h"
#include "process/child.h"
#include "wire/frame.h"

enum { POLICY = 2 * FRAME_BODY_MAX };

static void set(struct route_call *c, const char *name, const char *value)
{
	for (size_t i = 0; c->route->fields[i].name; i++)
		if (strcmp(c->route->fields[i].name, name) == 0)
			c->values[i] = value;
}

int main(void)
{
	static char policy[POLICY + 1];
	static struct frame setup;
	struct route_call c = { .route = &routes[ROUTE_POLICY_CHECK] };
	auto_buffer body = { 0 };

	memset(policy, '#', POLICY);
	set(&c, "policy", policy);
	set(&c, "operation", "fs.read");
	set(&c, "target", "/srv/x");
	return frame_receive(CHILD_SOCKET, &setup) != 1 || route_call_encode(&c, &body) < 0 ||
	       frame_send(CHILD_SOCKET, FRAME_API_CALL, 1, body.data, body.len, NULL, 0) < 0;
}
