/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* What programs read that others want, and how they send or run it: the tables of flow.c and
 * pipes.c. */
#include <stdbool.h>
#include <stddef.h>

/* What a name or a statement holds. */
enum source_mark {
	MARK_PATH = 1 << 0,        /* the path of a file with secrets */
	MARK_SECRET = 1 << 1,      /* what stands in it */
	MARK_ENVIRONMENT = 1 << 2, /* all variables */
	MARK_KEY = 1 << 3,         /* the key of a service that is known */
	MARK_SOME_KEY = 1 << 4,    /* a variable whose name is not written here */
	MARK_KEY_NAMES = 1 << 5,   /* names of such variables */
	MARK_FETCHED = 1 << 6,     /* came over the network */
	MARK_DECODED = 1 << 7,     /* came out of a blob */
	MARK_WATCHED = 1 << 8,     /* keys, screen, clipboard, cookies */
};

enum source_act {
	SOURCE_SENDS = 1 << 0,
	SOURCE_RUNS = 1 << 1,   /* text */
	SOURCE_STARTS = 1 << 2, /* a program with arguments */
	SOURCE_READS = 1 << 3,
	SOURCE_WRITES = 1 << 4,
};

/*
 * A dotted word of a program ("requests.post"). is_method: something precedes it with a dot.
 * False: nothing is known of it.
 */
bool sources_of_call(bool python, const char *word, bool is_method, bool is_call, unsigned *marks,
	unsigned *acts);
/* Marks of a text that holds the path of a file with secrets, or the name of a variable. */
unsigned sources_of_path(const char *text, size_t len);
/* The service whose key a variable holds ("openai"), or NULL. */
const char *sources_service(const char *variable);
/* Whether a host is that of the service. */
bool sources_is_service_host(const char *service, const char *host);
/* "Authorization", "x-api-key": the place where keys are sent to their own service. */
bool sources_is_header(const char *text, size_t len);
/* A command line, or a program, that talks to the network. */
bool sources_is_sender(const char *text, size_t len);
/* A word that is put together from pieces only to hide it. */
bool sources_is_loaded_word(const char *word);
