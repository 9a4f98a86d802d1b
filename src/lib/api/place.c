/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/api/place.h"

#include <stdlib.h>
#include <string.h>

#include "base/path.h"

#define HOME_DEFAULT "/home/user"

const char *place_home(void)
{
	const char *home = secure_getenv("HOME");

	return home && path_is_normal(home, strlen(home)) ? home : HOME_DEFAULT;
}
