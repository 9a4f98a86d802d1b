/* SPDX-License-Identifier: Apache-2.0 */
/* Without nghttp2: clients are offered HTTP/1.1 alone. */
#include "inject/h2/h2.h"

#include <errno.h>

bool h2_is_there(void)
{
	return false;
}

int h2_new(struct h2 **ret, const struct h2_options *o)
{
	(void)ret;
	(void)o;
	return -ENOSYS;
}

void h2_free(struct h2 *h)
{
	(void)h;
}

int h2_receive(struct h2 *h, enum h2_side from, const uint8_t *data, size_t len, uint64_t now)
{
	(void)h;
	(void)from;
	(void)data;
	(void)len;
	(void)now;
	return -ENOSYS;
}

int h2_send(struct h2 *h, enum h2_side to, struct buffer *out, size_t most)
{
	(void)h;
	(void)to;
	(void)out;
	(void)most;
	return -ENOSYS;
}

void h2_host_ended(struct h2 *h)
{
	(void)h;
}

bool h2_is_over(const struct h2 *h)
{
	(void)h;
	return true;
}

uint64_t h2_rest(struct h2 *h, uint64_t now)
{
	(void)h;
	(void)now;
	return UINT64_MAX;
}

bool h2_flush(struct h2 *h, uint64_t now)
{
	(void)h;
	(void)now;
	return false;
}

size_t h2_masked(const struct h2 *h)
{
	(void)h;
	return 0;
}
