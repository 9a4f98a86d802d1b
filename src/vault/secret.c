/* SPDX-License-Identifier: Apache-2.0 */
#include "vault/secret.h"

#include <errno.h>
#include <sodium.h>
#include <string.h>

int secret_begin(void)
{
	return sodium_init() < 0 ? -EIO : 0;
}

int secret_lock(void *object, size_t len)
{
	return sodium_mlock(object, len) < 0 ? (errno ? -errno : -ENOMEM) : 0;
}

int secret_refuse(int r, struct error *e)
{
	(void)error_set(e, r, NULL, "cannot lock memory for secrets: %s", strerror(-r));
	error_hint(e, "let the user lock 8 MiB: `ulimit -l`, LimitMEMLOCK=");
	return r;
}

int secret_new(struct secret *ret, size_t len)
{
	uint8_t *data = sodium_malloc(len > 0 ? len : 1);
	int r;

	if (!data)
		return -ENOMEM;
	/* sodium_malloc() tries to lock it, too, and does not say whether it could. */
	r = secret_lock(data, len > 0 ? len : 1);
	if (r < 0) {
		sodium_free(data);
		return r;
	}
	memset(data, 0, len > 0 ? len : 1);
	*ret = (struct secret){ data, len };
	return 0;
}

int secret_copy(struct secret *ret, const void *data, size_t len)
{
	int r = secret_new(ret, len);

	if (r == 0 && len > 0)
		memcpy(ret->data, data, len);
	return r;
}

void secret_free(struct secret *s)
{
	sodium_free(s->data);
	*s = (struct secret){ 0 };
}

void secret_wipe(void *object, size_t len)
{
	sodium_memzero(object, len);
}
