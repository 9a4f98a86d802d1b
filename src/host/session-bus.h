/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* The desktop of the user, for who points to something there. */
#include <stdbool.h>

/* A bus of this machine is there, and a person who may look: not in CI. */
bool session_bus_is_watched(void);
