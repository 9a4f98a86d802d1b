/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What can be done with the browser's page: go somewhere, read its text, take its picture, run a
 * script in it. Everything that comes back is bounded. Codes are those of browser_ask(), and:
 *
 *     -EACCES        the page may not be where the URL, or a redirect of it, leads (page.refused)
 *     -EHOSTUNREACH  nothing came from there; b->error has Chromium's word
 *     -ENOTSUP       it is a download
 *     -ENODATA       there is no page, or one that is not of the web: go somewhere first
 *     -ESTALE        the page went elsewhere meanwhile
 *     -EMSGSIZE      the result is too large
 *
 * After -ETIMEDOUT the page may hang: browser_settle().
 */
#include "base/arena.h"
#include "services/browser/browser.h"

enum {
	PAGE_WIDTH = 1280,
	PAGE_HEIGHT = 720,
	PAGE_WIDTH_MAX = 4096,
	PAGE_HEIGHT_MAX = 16384,
	PAGE_TEXT_MAX = 256 << 10,   /* UTF-16 units */
	PAGE_TITLE_MAX = 1024,       /* bytes */
	PAGE_SCRIPT_MAX = 256 << 10, /* bytes */
	PAGE_RESULT_MAX = 1 << 20,   /* bytes of JSON */
	PAGE_IMAGE_MAX = 4 << 20,    /* bytes of PNG */
};

/* Where the page is: as the browser says, not the page. Texts are in the arena. */
struct page_place {
	const char *url;   /* http or https */
	const char *title; /* cut to PAGE_TITLE_MAX */
	unsigned status;   /* of the response; 0: not known */
};
int page_place(struct browser *b, struct arena *a, uint64_t until, struct page_place *ret);

int page_navigate(struct browser *b, const char *url, uint64_t until);

/* Each of these says of which URL the document is that it was done with: the page may have gone
 * elsewhere while it was asked for. Whether that URL was granted is the caller's matter. */

struct page_text {
	const char *url, *title, *text; /* in the arena */
	bool is_cut;
};
int page_text(struct browser *b, struct arena *a, uint64_t until, struct page_text *ret);

struct page_image {
	unsigned width, height; /* 0: as they are; then: as they came out */
	bool is_full;           /* all of the page, not what a window shows */
	const char *url;        /* in the arena */
	const char *data;       /* PNG, in the arena */
	size_t len;
};
int page_screenshot(struct browser *b, struct arena *a, uint64_t until, struct page_image *io);

struct page_script {
	const char *text;
	/* May it run in a document of this origin? Asked before it runs, and it runs in no other.
	 */
	bool (*allows)(void *context, const char *origin);
	void *context;
	/* What came of it, in the arena. */
	const char *origin;    /* -EACCES: that was not allowed */
	const char *json;      /* the value; "null" if it has none */
	const char *exception; /* what the script threw; or NULL */
};
int page_eval(struct browser *b, struct arena *a, uint64_t until, struct page_script *io);
