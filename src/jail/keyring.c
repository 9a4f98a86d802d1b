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
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Processes that have it and those of its user may view and search it. No process may write to it,
 * nor change this. */
static const unsigned long permissions = 0x09090000;

/* "keyring;UID;GID;PERMISSIONS;NAME". Returns the permissions; 0: it is another user's. */
static unsigned long keyring_look(void)
{
	static const char type[] = "keyring;";
	char text[128] = "";
	char *end = text;

	if (syscall(SYS_keyctl, KEYCTL_DESCRIBE, KEY_SPEC_SESSION_KEYRING, text, sizeof(text) - 1) <
			0 ||
		strncmp(text, type, sizeof(type) - 1) != 0 ||
		strtoul(text + sizeof(type) - 1, &end, 10) != getuid() || *end != ';')
		return 0;
	end = strchr(end + 1, ';');
	return end ? strtoul(end + 1, NULL, 16) : 0;
}

/* Whether the session keyring is the user's, and no process can write to it, from now on at least.
 */
static bool keyring_is_sealed(void)
{
	const unsigned long now = keyring_look();

	return now == permissions ||
	       (now != 0 && syscall(SYS_keyctl, KEYCTL_SETPERM, KEY_SPEC_SESSION_KEYRING,
				    permissions) == 0);
}

int keyring_leave(void)
{
	const long own = syscall(SYS_keyctl, KEYCTL_GET_KEYRING_ID, KEY_SPEC_USER_KEYRING, 1UL);
	char name[32];

	/* Kernels without keys have none to take along. */
	if (own < 0)
		return errno == ENOSYS ? 0 : -errno;
	(void)snprintf(name, sizeof(name), "corral-%lx", own);
	if (syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, name) < 0)
		return -errno;
	if (keyring_is_sealed())
		return 0;
	if (syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL) < 0)
		return -errno;
	return keyring_is_sealed() ? 0 : -EACCES;
}
