/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Sandboxes for corral-fetch, made when they are first needed and kept: one with the hosts of the
 * policy, and a few with one host more (broker/fetch/rights.h). Each request is a process of its
 * own in one of them. Any number of threads may use it.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <corral/sandbox.h>

#include "base/error.h"
#include "broker/value.h"
#include "wire/ledger.h"

struct fetcher;

struct fetcher_options {
	const char *program;     /* corral-fetch: an absolute path */
	const char *authorities; /* a file of certificates, an absolute path; NULL: the system's */
	const char *warden;      /* "": as the library finds it */
	const int *ledger;       /* which must outlive it; NULL: nothing counts with others */
	struct ledger *counts;   /* the same, mapped */
	const char *const *layers; /* permissions, as struct broker_setup has them */
	size_t n_layers;
};

/*
 * Sets program and authorities as the environment and the installation say: CORRAL_FETCH and
 * SSL_CERT_FILE of whoever started this program; no caller has a hand in them. -ENOENT …: there is
 * no program, with a sentence.
 */
int fetcher_find(struct fetcher_options *o, struct error *e);
/* Reads the layers; no sandbox is made yet. What the options point to must outlive it. */
int fetcher_new(struct fetcher **ret, const struct fetcher_options *o, struct error *e);
/* Ends all that runs in its sandboxes. */
void fetcher_free(struct fetcher *f);

/*
 * May there be one more request to "host:port", at that time (ms), with a body of so many bytes?
 * -EDQUOT: the policy's rate_limit, or its max_bytes, is used up; -EMSGSIZE: the body is larger
 * than max_request_size. reason is the sentence then. The connection is counted by its sandbox's
 * relay; without a ledger, here.
 */
int fetcher_admit(
	struct fetcher *f, const char *origin, uint64_t body, uint64_t now_ms, char reason[256]);
/* The policy's network.max_request_size; LIMIT_NONE: none. */
uint64_t fetcher_max_request(const struct fetcher *f);
/* The policy's limit of the size of a file. */
uint64_t fetcher_max_file(const struct fetcher *f);
/*
 * Starts corral-fetch with these values as its request, for a URL that was judged; its output comes
 * to the callback (corral/sandbox.h). May take as long as a sandbox takes to build.
 */
int fetcher_start(struct fetcher *f, const char *origin, const struct values *request,
	corral_output_callback *output, void *context, struct corral_process **ret,
	struct corral_error **e);

/* Whether the policy itself has this "host:port"; else an answer or a grant of this session has. */
bool fetcher_has(const struct fetcher *f, const char *origin);
/* Whether it has rules about methods or paths, which only hold where requests are seen. */
bool fetcher_is_narrow(const struct fetcher *f);

struct fetcher_socket {
	const char *origin; /* "host:port", which was judged */
	const char *host;
	unsigned port;
	uint64_t connect_ms, life_ms; /* it is killed after life_ms */
};
/* Starts corral-fetch as a socket (broker/fetch/socket.h), with stdin and stdout for
 * corral_process_take_fd(). */
int fetcher_connect(struct fetcher *f, const struct fetcher_socket *s, struct corral_process **ret,
	struct corral_error **e);
