/* SPDX-License-Identifier: Apache-2.0 */
#include "process/starting-rest.h"

int starting_rest_close(posix_spawn_file_actions_t *a, int from)
{
	return posix_spawn_file_actions_addclosefrom_np(a, from);
}
