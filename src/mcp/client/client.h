/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Clients of MCP and the files in which their users name servers. What an install makes of such a
 * file, and what an uninstall leaves, are pure functions: text in, text and a list of changes out.
 */
#include "base/buffer.h"
#include "mcp/client/places.h"

enum { CLIENT_PATH_MAX = 2, CLIENT_FILES_MAX = 3, CLIENT_NAME_MAX = 64 };

/* How a client has the command of a server. */
enum client_shape {
	CLIENT_COMMAND_AND_ARGS, /* command: text, args: list */
	CLIENT_COMMAND_LIST,     /* command: list */
};

/* A file below a folder that a variable names; HOME is always one. */
struct client_file {
	const char *variable, *below;
	const char *also; /* the name to use where that file is there, and the first is not */
};

struct mcp_client {
	const char *name, *title;
	enum places_dialect dialect;
	enum client_shape shape;
	const char *path[CLIENT_PATH_MAX + 1]; /* the keys of the map of servers */
	const char *deeper;    /* a map of that name in it has the servers, in newer files; NULL */
	const char *type;      /* what a server of ours has as its type, or NULL */
	const char *variables; /* the key of a server's variables */
	bool says_enabled;
	struct client_file files[CLIENT_FILES_MAX + 1]; /* the first whose variable is set */
	struct client_file project; /* below the project's folder; .below NULL: there is none */
	const char *note;           /* what its user does next */
};

/* All of them; the last has no name. */
extern const struct mcp_client clients[];
const struct mcp_client *client_find(const char *name);

enum client_change_kind {
	CLIENT_ADDED,
	CLIENT_UPDATED,
	CLIENT_SAME,
	CLIENT_WRAPPED,
	CLIENT_LEFT,
	CLIENT_REMOVED,
	CLIENT_UNWRAPPED,
};

/* Words end with NULL; no words: the server has, or had, none. */
struct client_change {
	enum client_change_kind kind;
	const char *server, *why;
	const char **before, **after;
};

struct client_changes {
	struct client_change *items;
	size_t n, cap;
};

struct client_install {
	const struct mcp_client *client;
	const char *name, *program;      /* of our server; the program's path */
	const char *const *options;      /* of `mcp serve`, ending with NULL */
	bool has_options;                /* else a server of ours keeps those that it has */
	bool is_ours;                    /* a server of that name was installed by us */
	bool wraps;                      /* the servers that are there are to be wrapped */
	const char *const *wrap_options; /* of `mcp wrap`, ending with NULL */
};

struct client_text {
	const char *file; /* for messages */
	const char *text;
	size_t len;
};

/*
 * Appends the new text to *out, and the changes to *ret, which has none yet. 0; -EEXIST: a server
 * of that name is not ours; what places_read() returns; -EINVAL, if the text is not of the shape
 * that the client reads. *e is filled.
 */
int client_install(const struct client_install *in, struct arena *a, const struct client_text *old,
	struct buffer *out, struct client_changes *ret, struct error *e);

/* What an install did to a file. */
struct client_installed {
	const struct mcp_client *client;
	const char *name;            /* of our server */
	const char *const *wrapped;  /* names of servers, ending with NULL */
	struct client_text original; /* the text before it */
	bool existed;                /* there was a file */
};

/*
 * Takes back what an install did to a text that was changed since, by cutting out what is ours. As
 * client_install().
 */
int client_uninstall(const struct client_installed *in, struct arena *a,
	const struct client_text *now, struct buffer *out, struct client_changes *ret,
	struct error *e);
