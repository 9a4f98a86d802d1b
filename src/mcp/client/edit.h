/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Changes of a text by its places. They are gathered first, each with the offset in the old text,
 * and applied at once, so that no offset moves.
 */
#include "mcp/client/client.h"

enum { EDIT_UNIT_MAX = 16 };

struct edit_cut {
	size_t at, length; /* what goes */
	const char *text;  /* what comes in its place */
	size_t order;
};

struct client_edit {
	struct arena *arena;
	const struct mcp_client *client;
	struct client_text old;
	struct text_place *root; /* NULL: the text is blank */
	struct edit_cut *cuts;
	size_t n, cap;
	const char *line;             /* how lines end */
	char unit[EDIT_UNIT_MAX + 1]; /* one more level is indented by this */
	bool failed;                  /* out of memory */
};

/* Reads the text. As places_read(); -EINVAL also if its root is no map. */
int edit_open(struct client_edit *x, struct arena *a, const struct mcp_client *client,
	const struct client_text *old, struct error *e);
/* text is used as it is, and must stay. */
void edit_cut(struct client_edit *x, size_t at, size_t length, const char *text);
/* One more of the changes that are reported. */
void edit_note(struct client_edit *x, struct client_changes *ret, const struct client_change *c);
/* -ENOMEM. */
int edit_apply(struct client_edit *x, struct buffer *out, struct error *e);

/* The map of servers. 0: *ret, or NULL and *missing is the place of the first missing key in
 * client->path. */
int edit_servers(struct client_edit *x, struct text_place **ret, size_t *missing, struct error *e);
/* The command of a server with its arguments, ending with NULL; NULL: it has none that is text. */
const char **edit_words(struct client_edit *x, const struct text_place *server);
/* words[0] is corral, and it runs this verb of `corral mcp`. */
bool edit_is_ours(const char *const *words, const char *verb);

/* corral, its verb and options, more of them, and two dashes if a command follows; ends with NULL.
 */
const char **edit_command(struct client_edit *x, const char *program, const char *verb,
	const char *const *options, const char *const *more, bool has_dashes);

/* A text in quotes, as the client's dialect has it. */
void edit_put_text(struct buffer *out, const char *text);
/* Texts with commas between them. */
void edit_put_words(struct buffer *out, const char *const *words);
/* Keeps a buffer's text in the arena. */
const char *edit_keep(struct client_edit *x, struct buffer *text);

/* An entry of a map with brackets: `text` is key, colon and value. */
void edit_add_member(struct client_edit *x, const struct text_place *map, const char *text);
/* How such an entry is indented; is_flat: the map is in one line. */
const char *edit_member_indent(struct client_edit *x, const struct text_place *map, bool *is_flat);
/* inside: what a map has in its brackets that is empty then. */
void edit_remove_member(struct client_edit *x, const struct text_place *map,
	const struct text_place *member, const char *inside);
/* Puts items before the first of a list, and takes the first n away again. */
void edit_add_front(struct client_edit *x, const struct text_place *list, const char *items);
void edit_remove_front(struct client_edit *x, const struct text_place *list, size_t n);
