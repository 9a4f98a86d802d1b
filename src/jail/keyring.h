/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The session keyring of commands. Keyrings are not cut up by namespaces: a command that kept its
 * user's would be served with the user's keys, by file systems that look for them. A user may have
 * 200 keys, so commands of all sandboxes of a user share one keyring, which is empty and which no
 * process can write (docs/decisions/0099).
 */

/*
 * Replaces the session keyring of the calling process. The shared one is found by its name, which
 * the kernel looks up in the caller's user namespace: call it outside of the sandbox's. 0 where the
 * kernel has no keys.
 */
int keyring_leave(void);
