/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* How a zygote comes about. */
#include "warden/zygote.h"

/*
 * Starts it, a child of the caller, without the keys of the caller's session (jail/keyring.h),
 * which the caller keeps. The zygote waits for FRAME_PLAN and sends FRAME_READY or FRAME_FAILED.
 *
 * -ENOKEY: the keys cannot be left behind, *ret_error says why; other errors are those of clone().
 */
int zygote_begin(const struct zygote *z, pid_t *ret, int *ret_pidfd, int *ret_error);
