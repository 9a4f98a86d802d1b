/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * A headless Chromium and the one page that it shows, by the two pipes of its
 * --remote-debugging-pipe. Chromium runs in a sandbox of its own (broker/monitor/chromium.h); this
 * side believes nothing that it says but what is shown to the caller anyway.
 *
 *     hangs          each question has a deadline. A page that does not answer after one is closed,
 *                    and a browser that does not close it is lost
 *     dialogs        are dismissed; a page with more than BROWSER_DIALOGS_MAX of them is closed
 *     windows        are stopped before they begin, and closed
 *     documents      of the page and its frames are asked about (`allows`), each redirect too
 *     answers        that were not asked for, or are longer than CDP_MESSAGE_MAX, are dropped
 *
 * One thread; one question at a time. Between questions browser_dispatch() handles what comes.
 */
#include <stdbool.h>
#include <stdint.h>

#include "services/browser/cdp.h"

enum {
	BROWSER_DIALOGS_MAX = 100,  /* of one page */
	BROWSER_WINDOWS_MAX = 1000, /* that one page tries to open */
	BROWSER_WRITE_MS = 2000,    /* Chromium takes a command within this time */
	BROWSER_CLOSE_MS = 3000,    /* and closes a page within this */
	BROWSER_URL_MAX = 8 << 10,
};

struct browser_page {
	char target[CDP_NAME_BYTES];  /* "": there is no page */
	char session[CDP_NAME_BYTES]; /* "": it is not attached yet */
	char frame[CDP_NAME_BYTES];   /* its main frame */
	char loader[CDP_NAME_BYTES];  /* of the document that the main frame shows */
	bool is_loaded;               /* that document */
	/* The world of its scripts, while Runtime is enabled. */
	char world[CDP_NAME_BYTES], origin[CDP_NAME_BYTES];
	bool is_making;  /* the next that is attached to is this page */
	bool is_broken;  /* it crashed, was closed, or did too much: it is closed */
	const char *why; /* in words */
	unsigned n_dialogs, n_windows;
	unsigned status;               /* of the main frame's last response; 0: not known */
	char refused[BROWSER_URL_MAX]; /* where the main frame may not go; "": nowhere yet */
};

struct browser {
	int to, from; /* pipes; non-blocking; the caller's */
	/* May a document of this URL be loaded? http and https only are asked about. */
	bool (*allows)(void *context, const char *url);
	void *context;
	bool is_lost; /* nothing more can be asked */
	struct browser_page page;
	char version[CDP_NAME_BYTES]; /* "Chrome/120.0" */
	/* private */
	struct cdp_stream stream;
	uint64_t last_id, awaited; /* 0: nothing is waited for */
	struct cdp_message answer;
	int answer_code;
	char error[256]; /* the browser's words for -EREMOTEIO */
};

/* It is http or https. */
bool browser_is_web(const char *url);
/* Milliseconds of CLOCK_MONOTONIC. */
uint64_t browser_now(void);

/* Waits until Chromium answers, and sets what holds for all pages. */
int browser_begin(struct browser *b, uint64_t until);
void browser_end(struct browser *b);

/*
 * Asks the browser, or its page, and waits for the answer, which is in b->answer until the next
 * question. -ETIMEDOUT; -ECONNRESET: the page is broken (page.why); -EPIPE: the browser is lost;
 * -EREMOTEIO: it refuses (b->error); -EMSGSIZE: the answer is too long; -EBADMSG: it is of no use.
 */
int browser_ask(struct browser *b, const char *method, const char *params, uint64_t until);
int browser_ask_page(struct browser *b, const char *method, const char *params, uint64_t until);
/* Handles what comes until `until`, or until the page has loaded or is broken. 0, or as above. */
int browser_await_load(struct browser *b, const char *old_loader, uint64_t until);
/* Handles what is there, without waiting. */
void browser_dispatch(struct browser *b);

/* Makes the page, if there is none. */
int browser_open_page(struct browser *b, uint64_t until);
/* Closes it, whatever it does. The browser is lost if it cannot. */
void browser_close_page(struct browser *b);
/* After a deadline: stops loading, and closes the page unless it answers soon. */
void browser_settle(struct browser *b);
