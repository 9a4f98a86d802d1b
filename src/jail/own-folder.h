/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Files of Corral's own in the private /dev of a tree that is being built: those of the host that a
 * plan names, each mounted by itself so that it can run. Commands see them through the mount of
 * /dev, which is read-only, so they can neither remove, rename nor replace any of them.
 */
#include "jail/ground.h"
#include "jail/plan/plan.h"

/*
 * Puts the file into the folder of that path, which `folder` is. -ESTALE: it is not what the plan
 * looked at, by device and inode.
 */
int own_folder_put(const struct ground *g, const struct plan_entry *file, int folder,
	const char *path, const char *name);
/* The folder of a WASM worker, with its files. Before /dev is finished. */
int own_folder_make_worker(const struct ground *g, const struct plan *plan);
