/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * For processes of Corral's own that read foreign bytes and act by frames alone: no file, no
 * program, no new socket, no process of others, no capability, and no other process looks into it.
 * What is left is to accept, to read and to write what it holds already. For good; all threads, so
 * before the first is made. Negative errno: it must not go on.
 */
#include "jail/seccomp/seccomp.h"

int inert_enter(void);
/*
 * The last step of each such process, also of those that keep some files: without privilege, in
 * these rules of Landlock and behind this filter.
 */
int inert_close(int rules, const struct seccomp_options *filter);
