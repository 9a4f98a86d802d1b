/* SPDX-License-Identifier: Apache-2.0 */
/* Where Corral was built without libsystemd. */
#include <errno.h>

#include "services/desktop/notify.h"

const struct backend_method notify_methods[] = { { 0 } };

int notify_begin(struct backend *b, struct error *why)
{
	(void)b;
	(void)error_set(why, -EOPNOTSUPP, NULL,
		"this Corral was built without libsystemd, which notifications need");
	error_hint(why, "build it with -Dnotifications=enabled");
	return -EOPNOTSUPP;
}

void notify_probe(struct backend_call *c)
{
	backend_refuse(c, RPC_SERVICE, NULL, "notifications are not built in");
}
