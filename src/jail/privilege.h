/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* Capabilities, and what could bring them back. */
#include <stdint.h>

/*
 * For the zygote: no_new_privs, no capabilities by being root, an empty bounding set. Those that it
 * has over its own namespaces stay; no program that it started would get any.
 */
int privilege_bound(void);
/* Of these only the one to mount and to make pid namespaces stays. */
int privilege_reduce(void);
/* For a command: none at all. */
int privilege_drop(void);
/* For the warden, which may be root's or an ordinary user's: none, and none to get. */
int privilege_renounce(void);
/*
 * For the time in which a plan looks at the host's files: the calling thread gives up the rights to
 * pass by their modes, which root has outside and its commands do not have. Returns which it had,
 * for privilege_resume(). Where that fails, a plan may have mounts that cannot be made.
 */
uint32_t privilege_suspend(void);
void privilege_resume(uint32_t suspended);
/* No process of the same user may look into this one: no /proc/PID/fd, no memory. */
int privilege_hide(void);
