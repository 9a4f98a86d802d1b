/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The second pass of layer_compile(): each source of a layer goes into the set that matches its
 * operation. One function per kind of target; operation_rows says which.
 */
#include "policy/layer.h"

struct compiler {
	struct layer *layer;
	struct arena *arena;
	const struct permissions *from;
	const struct variables *vars;
	const struct resolver *resolver;
	struct error *error;
};

operation_compile compiler_add_path, compiler_add_host, compiler_add_command, compiler_add_env;
/* One entry of dangerously_allow. */
int compiler_add_dangerous(struct compiler *c, const struct grant *g);
