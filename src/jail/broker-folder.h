/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The folder of a broker (PLAN_BROKER_FOLDER) in the private /dev of a tree that is being built:
 * the socket that commands connect to, and sandbox-call, the host's. Commands see it through the
 * mount of /dev, which is read-only, so they can neither remove, rename nor replace anything in it.
 */
#include "jail/ground.h"
#include "jail/plan/plan.h"

/*
 * Before /dev is finished. Returns the socket, which listens; or a negative errno. -ESTALE:
 * sandbox-call was replaced. Changes the working directory.
 */
int broker_folder_make(const struct ground *g, const struct plan *plan);
