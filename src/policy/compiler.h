/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* What the parts of layer_compile() hand around. */
#include "policy/layer.h"

struct compiler {
	struct layer *layer;
	struct arena *arena;
	const struct permissions *from;
	const struct variables *vars;
	const struct resolver *resolver;
	struct error *error;
};

/* A path pattern with its variable replaced, parsed. */
int compiler_parse_path(
	struct compiler *c, const char *text, const struct location *where, struct glob *ret);
/* True if the glob covers every file there is. A program that is asked for by name is some file,
 * too. */
bool compiler_is_everything(const struct glob *g);
/* A glob that is just these bytes (copied), or the folder of that name with all below it. */
struct glob *compiler_literal(struct compiler *c, const char *bytes, size_t len, bool subtree);

/* Each puts one source, by its rank, into the set of its operation. */
int compiler_add_command(struct compiler *c, uint32_t rank);
int compiler_add_env(struct compiler *c, uint32_t rank);
