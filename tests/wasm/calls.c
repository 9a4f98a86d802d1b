/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A skill that calls what its input names, {"params": {"f": "FUNCTION", "t": ARGUMENT}}, or
 * {"steps": [{"f": "FUNCTION", "t": ARGUMENT}, …]}, just so, and answers with a list of what it
 * got. `log` is called as well.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define IMPORT(module, name) __attribute__((import_module(module), import_name(name)))

IMPORT("env", "host_http_request") void *http_request(const char *text, uint32_t len);
IMPORT("corral", "send_email") void *send_email(const char *text, uint32_t len);
IMPORT("env", "browser_navigate") void *browser_navigate(const char *text, uint32_t len);
IMPORT("corral", "browser_screenshot") void *browser_screenshot(const char *text, uint32_t len);
IMPORT("env", "host_browser_eval_js") void *browser_eval_js(const char *text, uint32_t len);
IMPORT("env", "socket_open") void *socket_open(const char *text, uint32_t len);
IMPORT("env", "host_socket_read") void *socket_read(const char *text, uint32_t len);
IMPORT("corral", "socket_write") void *socket_write(const char *text, uint32_t len);
IMPORT("corral", "host_socket_close") void *socket_close(const char *text, uint32_t len);
IMPORT("corral", "host_call") void *call(const char *text, uint32_t len);
IMPORT("env", "log") void host_log(const char *text, uint32_t len);

static const struct {
	const char *name;
	void *(*function)(const char *text, uint32_t len);
} rows[] = {
	{ "http_request", http_request },
	{ "send_email", send_email },
	{ "browser_navigate", browser_navigate },
	{ "browser_screenshot", browser_screenshot },
	{ "browser_eval_js", browser_eval_js },
	{ "socket_open", socket_open },
	{ "socket_read", socket_read },
	{ "socket_write", socket_write },
	{ "socket_close", socket_close },
	{ "call", call },
};

__attribute__((export_name("allocate"))) void *allocate(uint32_t size)
{
	return malloc(size);
}

static const char *call_one(char *name, const char *text, uint32_t len)
{
	*strchr(name, '"') = '\0';
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (strcmp(rows[i].name, name) == 0)
			return rows[i].function(text, len);
	return NULL;
}

/* Each step of a text, into the answer. Returns false where a step has no answer, or no room. */
static bool call_all(char *all, uint32_t len, uint32_t tail, char *out)
{
	char *at = out + 4 + sprintf(out + 4, "{\"success\": true, \"result\": [");
	size_t size = 0;

	for (char *step = strstr(all, "\"f\": \""); step; step = strstr(step, "\"f\": \"")) {
		char *name = step + 6, *text = strstr(name, "\"t\": ") + 5;
		char *next = strstr(text, "}, {\"f\": \"");
		char *end = next ? next : all + len - tail;
		const char *answer = call_one(name, text, (uint32_t)(end - text));
		uint32_t n;

		if (!answer)
			return false;
		memcpy(&n, answer, 4);
		if (n > (1 << 20) - 1000 - (size_t)(at - out))
			return false;
		at += sprintf(at, "%s%.*s", size++ ? ", " : "", (int)n, answer + 4);
		step = end;
	}
	at += sprintf(at, "]}");
	size = (size_t)(at - out) - 4;
	memcpy(out, &size, 4);
	return true;
}

__attribute__((export_name("handle"))) void *handle(char *input, uint32_t len)
{
	const uint32_t tail = memcmp(input, "{\"steps\"", 8) == 0 ? 3 : 2;
	char *all = malloc(len + 1), *out = malloc(4 + (1 << 20));
	bool is_done = all && out;

	host_log("calling\x1b[1m", 11);
	if (is_done) {
		memcpy(all, input, len);
		all[len] = '\0';
		is_done = call_all(all, len, tail, out);
	}
	free(all);
	if (is_done)
		return out;
	free(out);
	return NULL;
}
