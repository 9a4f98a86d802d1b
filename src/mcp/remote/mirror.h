/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What 2026-07-28 has in headers of a request, beside its body: the version, the method, the name
 * of what is called, and the arguments that the tool's schema marks by `x-mcp-header`. A tool that
 * marks what cannot be a header is taken out of the list that the client gets.
 *
 * Names and values become one line each, whatever a server or a client wrote: names are tokens, and
 * a value that is not plain ASCII is encoded. Pure.
 */
#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/buffer.h"
#include "mcp/message.h"

#define MIRROR_META_VERSION "io.modelcontextprotocol/protocolVersion"

enum {
	MIRROR_TOOLS_MAX = 512,
	MIRROR_MARKS_MAX = 64, /* of one tool */
	MIRROR_DEPTH_MAX = 16, /* of an argument */
	MIRROR_BYTES_MAX = 8 << 20,
};

struct mirror {
	/* Private. */
	struct arena arena;
	struct mirror_tool *tools;
	size_t n;
};

/* The version that a request or notification says it is of, if it is one of those without a
 * handshake; NULL: it says none. */
const char *mirror_version(const struct mcp_message *m);

/* Appends the headers of such a message, each with a newline. out->failed: out of memory. */
void mirror_print(const struct mirror *mirror, const struct mcp_message *m, struct buffer *out);

/*
 * Remembers the marks of a result of tools/list; is_first: of its first page, which begins the list
 * anew. Tools that cannot be called are taken out of it, and named in `said`, a line each: how many
 * these are. -ENOMEM.
 */
int mirror_learn(struct mirror *mirror, struct node *result, bool is_first, struct buffer *said);
void mirror_deinit(struct mirror *mirror);
