/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* The loopback interface of a new network namespace, which is down at first. */
int loopback_up(void);
