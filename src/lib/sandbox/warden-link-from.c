/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/sandbox/warden-link.h"

int warden_link_close_rest(posix_spawn_file_actions_t *a, int from)
{
	return posix_spawn_file_actions_addclosefrom_np(a, from);
}
