/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * A request, with the redirects that it leads to: each is judged by method and URL, counted, and
 * made by a corral-fetch of its own (broker/monitor/fetcher.h). What comes back is read as records
 * of a program that may have been taken over. Calls of a broker make requests (network.h), and so
 * does a tool of an MCP server (mcp/http.c).
 */
#include <corral/enclave.h>

#include "base/arena.h"
#include "broker/fetch/hop.h"
#include "broker/fetch/record.h"
#include "broker/rpc-refusal.h"
#include "event/loop.h"

struct fetcher;
struct fetching;
struct monitor_call;

/* Who makes it. What is here must outlive the request. */
struct fetching_owner {
	struct loop *loop;
	struct arena *arena; /* for its texts and state */
	struct corral_enclave *enclave;
	const struct corral_by *by;
	struct fetcher *fetcher;
	/* Runs work(f), which may take long, then done(f) in the loop's thread. Negative: neither.
	 */
	int (*run)(struct fetching *f, void (*work)(struct fetching *f),
		void (*done)(struct fetching *f));
	/* It was freed. */
	void (*freed)(void *context);
	/* It ends with this. Texts live in the arena, or for ever. */
	void (*refuse)(void *context, const struct rpc_refusal *why);
	/* What the enclave said of the first request; `e` is the owner's then. */
	void (*fail)(void *context, int code, struct corral_error *e);
	void *context;
};

/* What becomes of the response. All are called in the loop's thread. */
struct fetching_sink {
	/* The head of the last response is there. Not 0: the request ends with fetching_refuse().
	 */
	int (*head)(struct fetching *f);
	/* A piece of its body. The same. */
	int (*body)(struct fetching *f, const char *data, size_t len);
	/* All is there. Answers its owner, now or later, after fetching_free(). */
	void (*end)(struct fetching *f);
	/* Before it is freed, whatever happened, if there is a state. May be NULL. */
	void (*leave)(struct fetching *f);
};

struct fetching {
	struct fetching_owner owner;
	struct monitor_call *call; /* of the broker's; else NULL */
	const struct fetching_sink *sink;
	void *state; /* the sink's */
	struct hop hop;
	struct value body; /* of the request */
	uint64_t until_ms, max_bytes;
	uint64_t left_ms; /* for the request that is made now */
	unsigned flags;   /* FETCH_DECODES; FETCH_STOPS_AT_REDIRECT: redirects are followed */
	char origin[HOP_ORIGIN_BYTES];

	/* The response; texts are in the arena. */
	uint64_t status, length; /* length: UINT64_MAX if it is not known */
	struct value status_text, headers;
	const char *location;
	struct rpc_refusal why; /* by fetching_refuse(); message NULL: there is none */

	/* private */
	struct corral_process *process;
	struct watcher watcher;
	struct record_reader reader;
	bool has_failed; /* corral-fetch said so */
	enum record_cause cause;
	const char *message;
	int code; /* of starting it */
	/* The owner's: what run() was given. */
	void (*work)(struct fetching *f);
	void (*done)(struct fetching *f);
	struct corral_error *error;
};

/*
 * Checks url and headers, and makes the state; the rest has sensible values. NULL: it was refused.
 */
struct fetching *fetching_new(const struct fetching_owner *o, const struct fetching_sink *sink,
	const char *url, const struct value *headers, const struct value *timeout);
/* Judges the request and starts it. May refuse it, and free the state. */
void fetching_start(struct fetching *f);
/* Why head() or body() end it; returns -ECANCELED. The texts live in the arena. */
int fetching_refuse(struct fetching *f, enum rpc_class class, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* It ends with this, and the state is freed. */
void fetching_fail(struct fetching *f, enum rpc_class class, const char *message);
/* A header of the response; NULL: there is none. The name has small letters. */
const char *fetching_header(const struct fetching *f, const char *name);
/* Kills what runs. Its owner is not answered. */
void fetching_free(struct fetching *f);
