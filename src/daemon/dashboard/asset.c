/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/dashboard/asset.h"

#include <string.h>

const struct asset *asset_find(const char *path)
{
	for (size_t i = 0; i < assets_count; i++)
		if (strcmp(assets[i].path, path) == 0)
			return &assets[i];
	return NULL;
}
