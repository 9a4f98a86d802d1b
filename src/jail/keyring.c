/* SPDX-License-Identifier: Apache-2.0 */
/*
 * KEYCTL_JOIN_SESSION_KEYRING finds a keyring by its name if its permissions let the caller search
 * it, and makes one otherwise. A new one cannot be found: only processes that have it may search
 * it. So it has the permissions of the shared one before any other process can find it. Two that
 * make one at the same time have one each, and later ones join the older of them. The kernel
 * removes it with the last process that has it.
 *
 * Any user may make a keyring of any name and let everybody search it. So the name has the number
 * of the user's own keyring in it, which is random and which others cannot see; and what was joined
 * is looked at.
 */
#include "jail/keyring.h"

#include <errno.h>
#include <linux/keyctl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Processes that have it and those of its user may view and search it. No process may write to it,
 * nor change this. A keyring of another user with these permissions cannot be found. */
static const unsigned long sealed = 0x09090000;
/* What the kernel gives to one that was not found. One that has these cannot be found. */
static const unsigned long fresh = 0x3f130000;

/* "keyring;UID;GID;PERMISSIONS;NAME" */
static unsigned long keyring_permissions(void)
{
	char text[128] = "";
	const char *at = text;

	if (syscall(SYS_keyctl, KEYCTL_DESCRIBE, KEY_SPEC_SESSION_KEYRING, text, sizeof(text) - 1) <
		0)
		return 0;
	for (int i = 0; at && i < 3; i++)
		at = (at = strchr(at, ';')) ? at + 1 : NULL;
	return at ? strtoul(at, NULL, 16) : 0;
}

static int keyring_seal(void)
{
	return syscall(SYS_keyctl, KEYCTL_SETPERM, KEY_SPEC_SESSION_KEYRING, sealed) < 0 ? -errno
											 : 0;
}

int keyring_leave(void)
{
	const long own = syscall(SYS_keyctl, KEYCTL_GET_KEYRING_ID, KEY_SPEC_USER_KEYRING, 1UL);
	unsigned long now;
	char name[32];

	/* Kernels without keys have none to take along. */
	if (own < 0)
		return errno == ENOSYS ? 0 : -errno;
	(void)snprintf(name, sizeof(name), "corral-%lx", own);
	if (syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, name) < 0)
		return -errno;
	now = keyring_permissions();
	if (now == sealed)
		return 0;
	/* Planted: one for this sandbox alone. */
	if (now != fresh && syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL) < 0)
		return -errno;
	return keyring_seal();
}
