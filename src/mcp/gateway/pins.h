/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What the user approved of a server: its command or URL, and options as the file of the gateway
 * has them, and its tools and prompts, all of them, each as it was defined. Clients see these
 * definitions and no others.
 *
 * One file for each server in corral/mcp-pins of the state folder (host/state-cache.h), named by
 * the path of the gateway's file and the server's name. It begins with a mark, made with the
 * folder's key: a file that was changed, cut or put there by who cannot read the key counts as
 * missing. It is replaced at once.
 */
#include <stdbool.h>

#include "mcp/gateway/config.h"

/* What is pinned: tools and prompts. */
enum { PIN_DIGEST_BYTES = 65, PIN_KINDS = GATEWAY_PROMPT + 1 };

struct pins {
	bool exists;
	bool is_damaged; /* there is a file that is none */
	bool is_other;   /* the command or the options were others */
	struct document document;
	const struct node *command, *url, *options; /* lists of words, as they were approved */
	const struct node *defined[PIN_KINDS];      /* lists of definitions; NULL: none */
};

enum pin_state {
	PIN_APPROVED,
	PIN_NEW,     /* the server has it, and had it not when it was approved */
	PIN_CHANGED, /* it is defined otherwise */
	PIN_GONE,    /* it was approved, and the server has it no more */
};

/* config_path: absolute, without links. 0, with nothing if there is nothing; -ENOTSUP: a newer
 * Corral wrote it; -ENOMEM. */
int pins_read(
	struct pins *p, const char *config_path, const struct gateway_server *s, struct error *e);
/* Lists of definitions; NULL: there are none. Negative errno. */
int pins_write(const char *config_path, const struct gateway_server *s,
	const struct node *const defined[PIN_KINDS]);
void pins_deinit(struct pins *p);

/* The first definition of a kind; NULL: nothing was approved. */
const struct node *pins_first(const struct pins *p, enum gateway_kind kind);
/* The definition that was approved; NULL: none of that name was. */
const struct node *pins_find(const struct pins *p, enum gateway_kind kind, const char *name);
/* Of one as the server has it now. */
enum pin_state pins_compare(
	const struct pins *p, enum gateway_kind kind, const struct node *definition);
const char *pin_state_name(enum pin_state s);
/* SHA-256 of the definition (mcp/canonical.h), as digits. false: out of memory. */
bool pin_digest(const struct node *tool, char ret[PIN_DIGEST_BYTES]);
/* A definition for people: a line for each value. */
void pin_print(const struct node *tool, struct buffer *out);
