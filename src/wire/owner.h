/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * FRAME_OWNER: which program has a socket. The relay asks by the port that a connection came from,
 * the holder of the session asks the inits of its commands, and the answer goes back the same way.
 *
 *     relay -- id, struct owner_question --> holder -- of the command, the same --> init
 *     relay <-- id, name ------------------- holder <-- struct owner_answer ------- init
 *
 * The name is for records alone: a program can have any name, and no decision is made by it.
 *
 * With `wants_program` the answer is a struct owner_program, on the whole way: the program that has
 * a connection and is the only one (warden/socket-program.h). Secrets that are granted to programs
 * are lent by it.
 */
#include <stddef.h>
#include <stdint.h>

enum { OWNER_NAME_BYTES = 64 };

struct owner_question {
	uint64_t id; /* the relay's, not 0 */
	uint32_t port;
	uint32_t is_udp;
	uint32_t wants_program; /* TCP only: as struct owner_program */
	uint32_t peer_port;     /* with that: where the connection goes, as the program sees it */
};

struct owner_answer {
	uint64_t id;
	char name[OWNER_NAME_BYTES]; /* printable ASCII, the rest NUL; "": not found */
};

enum owner_found {
	OWNER_NOT_FOUND, /* no process has the connection */
	OWNER_UNSURE, /* text: why, after "because": "the process ssh-agent cannot be looked at" */
	OWNER_FOUND,  /* text: the absolute path of the program */
	OWNER_FOUND_END
};
enum { OWNER_TEXT_BYTES = 944 };

struct owner_program {
	uint64_t id;
	uint32_t found; /* enum owner_found */
	uint32_t unused;
	char name[OWNER_NAME_BYTES]; /* as of struct owner_answer */
	char text[OWNER_TEXT_BYTES]; /* without control characters, the rest NUL */
};

/* -EPROTO: not such a body, and *ret is untouched. An init is among a command's processes: what it
 * says is checked. */
int owner_question_decode(struct owner_question *ret, const void *body, size_t len);
int owner_answer_decode(struct owner_answer *ret, const void *body, size_t len);
int owner_program_decode(struct owner_program *ret, const void *body, size_t len);
/* The name alone, as the relay gets it: len bytes without a NUL. */
int owner_name_decode(char ret[OWNER_NAME_BYTES], const void *body, size_t len);
