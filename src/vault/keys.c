/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A key that was only added may be read by processes that possess it: those whose session keyring
 * leads to it. What that is differs between logins, so the user gets the right to read it, which
 * only who possesses a key can give. So it is added to the keyring of this thread first.
 */
#include "vault/keys.h"

#include <errno.h>
#include <linux/keyctl.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "vault/secret.h"

enum { KEYS_NAME_BYTES = 64 };
/* Possessor: all. User: view, read, write, search, link, set attributes. Others: none. */
static const unsigned long keys_permissions = 0x3f3f0000;

static void keys_name(const struct stat *folder, char out[KEYS_NAME_BYTES])
{
	(void)snprintf(out, KEYS_NAME_BYTES, "corral:vault:%llx:%llx",
		(unsigned long long)folder->st_dev, (unsigned long long)folder->st_ino);
}

static long keys_find(const struct stat *folder)
{
	char name[KEYS_NAME_BYTES];

	keys_name(folder, name);
	return syscall(SYS_keyctl, KEYCTL_SEARCH, KEY_SPEC_USER_KEYRING, "user", name, 0UL);
}

static uint64_t keys_now_s(void)
{
	return clock_ms(CLOCK_REALTIME) / 1000;
}

int keys_load(const struct stat *folder, struct keys_entry *ret)
{
	struct keys_entry e = { 0 };
	const long key = keys_find(folder);
	bool is_good;
	long n;

	if (key < 0)
		return errno == EKEYEXPIRED || errno == EKEYREVOKED || errno == EACCES ? -ENOKEY
										       : -errno;
	n = syscall(SYS_keyctl, KEYCTL_READ, key, &e, sizeof(e));
	is_good = n == (long)sizeof(e) && e.until_s > keys_now_s();
	if (is_good)
		*ret = e;
	secret_wipe(&e, sizeof(e));
	return is_good ? 0 : -ENOKEY;
}

int keys_save(const struct stat *folder, const struct keys_entry *e)
{
	const uint64_t now = keys_now_s();
	char name[KEYS_NAME_BYTES];
	long key;

	if (e->until_s <= now)
		return -EKEYEXPIRED;
	keys_name(folder, name);
	key = syscall(SYS_add_key, "user", name, e, sizeof(*e), KEY_SPEC_THREAD_KEYRING);
	if (key < 0 || syscall(SYS_keyctl, KEYCTL_SETPERM, key, keys_permissions) < 0 ||
		syscall(SYS_keyctl, KEYCTL_SET_TIMEOUT, key, (unsigned long)(e->until_s - now)) <
			0 ||
		/* Takes the place of one of the same name. */
		syscall(SYS_keyctl, KEYCTL_LINK, key, KEY_SPEC_USER_KEYRING) < 0)
		return -errno;
	return 0;
}

void keys_drop(const struct stat *folder)
{
	const long key = keys_find(folder);

	if (key < 0)
		return;
	/* Another process may have it in the keyring of a thread. */
	(void)syscall(SYS_keyctl, KEYCTL_REVOKE, key);
	(void)syscall(SYS_keyctl, KEYCTL_UNLINK, key, KEY_SPEC_USER_KEYRING);
}
