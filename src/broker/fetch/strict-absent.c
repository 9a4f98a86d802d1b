/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/fetch/strict.h"

/* Built without OpenSSL: no such request is made. */
CURLcode strict_set_up(CURL *curl, const char *authorities, size_t len)
{
	(void)curl;
	(void)authorities;
	(void)len;
	return CURLE_NOT_BUILT_IN;
}
