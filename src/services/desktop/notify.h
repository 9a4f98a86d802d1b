/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * notifications.send, by org.freedesktop.Notifications on the bus of the user's session. The
 * process is connected to that one bus before it confines itself, and opens nothing after that.
 * Without libsystemd: notify-absent.c.
 */
#include "services/backend.h"

extern const struct backend_method notify_methods[];
int notify_begin(struct backend *b, struct error *why);
backend_handler notify_probe;
