/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * A request that a call makes, with the redirects that it leads to: each is judged by method and
 * URL, counted, and made by a corral-fetch of its own (broker/monitor/fetcher.h). What comes back
 * is read as records of a program that may have been taken over.
 */
#include "broker/fetch/hop.h"
#include "broker/fetch/record.h"
#include "broker/monitor/monitor.h"

struct fetching;

/* What becomes of the response. All are called in the loop's thread. */
struct fetching_sink {
	/* The head of the last response is there. Not 0: the request ends with fetching_refuse().
	 */
	int (*head)(struct fetching *f);
	/* A piece of its body. The same. */
	int (*body)(struct fetching *f, const char *data, size_t len);
	/* All is there. Answers the call, now or later, after fetching_free(). */
	void (*end)(struct fetching *f);
	/* Before it is freed, whatever happened, if there is a state. May be NULL. */
	void (*leave)(struct fetching *f);
};

struct fetching {
	struct monitor_call *call;
	const struct fetching_sink *sink;
	void *state; /* the sink's */
	struct hop hop;
	struct value body; /* of the request */
	uint64_t until_ms, max_bytes;
	uint64_t left_ms; /* for the request that is made now */
	unsigned flags;   /* FETCH_DECODES; FETCH_STOPS_AT_REDIRECT: redirects are followed */
	char origin[HOP_ORIGIN_BYTES];

	/* The response; texts are in the call's arena. */
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
	struct corral_error *error;
};

/*
 * Checks url and headers of the call, and makes the state; the rest has sensible values. NULL: the
 * call was refused.
 */
struct fetching *fetching_new(struct monitor_call *c, const struct fetching_sink *sink,
	const char *url, const struct value *headers, const struct value *timeout);
/* Judges the request and starts it. May refuse the call, and free the state. */
void fetching_start(struct fetching *f);
/* Why head() or body() end it; returns -ECANCELED. The texts live in the call's arena. */
int fetching_refuse(struct fetching *f, enum rpc_class class, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* The call ends with this, and the state is freed. */
void fetching_fail(struct fetching *f, enum rpc_class class, const char *message);
/* A header of the response; NULL: there is none. The name has small letters. */
const char *fetching_header(const struct fetching *f, const char *name);
/* Kills what runs. The call stays. */
void fetching_free(struct fetching *f);
