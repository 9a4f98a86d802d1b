/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The file of a gateway: which servers there are, how each is confined, and what may be called.
 *
 *     servers:
 *       notes:                                       a-z, 0-9 and -
 *         command: [mcp-server-filesystem, ~/notes]  as it is started, without a shell
 *         options: [--read, ~/notes]                 those of `corral mcp wrap`, or `remote`
 *         timeout: 2m                                of a call
 *         start_timeout: 30s
 *         result_max: 1M
 *         tools:
 *           allow: [read_*, {name: search, arguments: {…}}]
 *           ask: [write_file]
 *           deny: [move_file]
 *         prompts: true                              or such a map; not given: none
 *         resources: {allow: [notes://*]}            the same, by URI
 *       issues:
 *         url: https://mcp.example.com/mcp           of a server over HTTP, in place of a command
 *         secret: ISSUES_TOKEN                       of the vault, for its requests
 *         headers: {X-Project: notes}                that are no secrets
 *
 * deny beats ask, and ask beats allow. Without a list `allow`, what no list names is allowed, if
 * the user approved it (mcp/gateway/pins.h); with one, it is denied. Prompts are as tools are;
 * resources are not approved one by one. Both are denied where the file does not have them.
 */
#include <stdint.h>

#include "codec/node.h"
#include "policy/verdict.h"

enum {
	GATEWAY_SERVERS_MAX = 64,
	GATEWAY_NAME_MAX = 24,   /* bytes of a server's name */
	GATEWAY_WORDS_MAX = 256, /* of a command, and of options */
	GATEWAY_HEADERS_MAX = 32,
	GATEWAY_RULES_MAX = 1024,      /* of one server, and kind */
	GATEWAY_TEXT_MAX = 1024 * 1024 /* bytes of an argument that patterns look at */
};

/* What rules are about. */
enum gateway_kind { GATEWAY_TOOL, GATEWAY_PROMPT, GATEWAY_RESOURCE, GATEWAY_KINDS };

struct gateway_rule {
	enum verdict verdict;
	const char *name;             /* or URI, with * and ? */
	const struct node *arguments; /* a schema (shape.h); NULL: any */
	uint32_t line;
};

struct gateway_rules {
	struct gateway_rule *items;
	size_t n, cap;
	bool is_on; /* there is any of this kind: of tools always */
	bool has_allow;
	bool has_patterns; /* in a schema of a rule */
};

struct gateway_server {
	const char *name;
	/* End with NULL. Of one over HTTP: the URL, and what stands behind it. */
	const char *const *command, *const *options;
	bool is_remote; /* over HTTP */
	uint64_t timeout_ms, start_ms, result_max;
	struct gateway_rules rules[GATEWAY_KINDS];
};

struct gateway_config {
	struct document document; /* all texts are in it, or in its arena */
	struct gateway_server *servers;
	size_t n;
};

/* *c need not be initialised; on failure it is empty. -EINVAL, -E2BIG, -ENOMEM. home: for ~/;
 * NULL: there is none. */
int gateway_config_read(struct gateway_config *c, const char *file, const char *text, size_t len,
	const char *home, struct error *e);
void gateway_config_deinit(struct gateway_config *c);

/* What is denied is so for this. */
struct gateway_decision {
	enum verdict verdict;
	const struct gateway_rule *rule; /* NULL: none matches */
	const char *reason;              /* never NULL */
};
/* Of a tool or prompt that the user approved, or of a resource by its URI. arguments: a map; NULL:
 * none. */
struct gateway_decision gateway_decide(const struct gateway_server *s, enum gateway_kind kind,
	const char *name, const struct node *arguments);
/* Of one whatever its arguments: the best that a call may come to. */
enum verdict gateway_best(const struct gateway_server *s, enum gateway_kind kind, const char *name);
/* "tool", "prompt", "resource". */
const char *gateway_kind_name(enum gateway_kind kind);
