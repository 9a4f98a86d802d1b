/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "daemon/peers/peers.h"
#include "daemon/peers/sandboxes.h"
#include "daemon/supervisor/supervisor.h"

struct sandbox *peers_find(const struct supervisor *s, const char *id)
{
	sandboxes_for_each(b, s)
	{
		if (b->who.id && strcmp(b->who.id, id) == 0)
			return b;
	}
	return NULL;
}
