/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What a question was about when it was asked. An answer may come a day later, and be used a day
 * after that. Meanwhile a file may have become a folder, which an option grants with all that is in
 * it, or a link on the way may lead elsewhere. So both are kept with the question and compared: at
 * the answer, and by the run that uses it.
 *
 * What is compared is the kind and the path behind all links. The content may change.
 */
#include <stdbool.h>

#include "base/arena.h"

enum ask_kind {
	ASK_KIND_NONE,    /* not known: it equals nothing */
	ASK_KIND_MISSING, /* nothing is there, or it may not be seen */
	ASK_KIND_FILE,    /* a file, or anything else that is no folder */
	ASK_KIND_FOLDER,
	ASK_KIND_PROGRAM, /* the name of a program, wherever that is found */
	ASK_KIND_COUNT,
};

enum { ASK_DIGEST = 33 /* hexadecimal, with its NUL */ };

struct ask_subject {
	enum ask_kind kind;
	char leads[ASK_DIGEST]; /* a digest of the path behind all links; of a name, of that */
};

/* "file", "folder" …, as they are kept. */
extern const char *const ask_kind_names[ASK_KIND_COUNT];

/* A digest of texts, each with its NUL, so that no two lists are the same bytes. */
void ask_digest(const char *const *parts, size_t n, char ret[ASK_DIGEST]);
/*
 * Looks at what an option's value names now. The kind is NONE if the value is a pattern of more
 * than one path, or its links lead nowhere.
 */
struct ask_subject ask_subject_look(struct arena *a, const char *option, const char *value);
bool ask_subject_is_same(const struct ask_subject *a, const struct ask_subject *b);
/* "it was a file when the command asked, and is a folder now": where they are not the same. */
const char *ask_subject_difference(
	struct arena *a, const struct ask_subject *was, const struct ask_subject *is);
