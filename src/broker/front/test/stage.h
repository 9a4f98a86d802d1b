/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* A front between real sockets: a test is its clients and its monitor. */
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "broker/front/front.h"
#include "wire/frame.h"

enum { TURNS_MAX = 200000 };

struct stage {
	struct front *front;
	int listener, http, monitor, theirs; /* http: -1 without */
	uint16_t port;                       /* of http */
	int wait_ms;                         /* of a turn */
	struct sockaddr_un address;
	socklen_t len;
	struct frame frame;
};

#define TOKEN "0123456789abcdef0123456789abcdef"
#define PING "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}"
#define READ \
	"{\"jsonrpc\":\"2.0\",\"id\":\"r\",\"method\":\"fs.read\",\"params\":{\"path\":\"/a\"}}"

/* Setup and teardown of a test. Every one may have as many descriptors as the user may. */
int stage_make(void **state);
/* A client must go on within 300 ms. */
int stage_make_impatient(void **state);
/* The front serves HTTP, too; a client must go on within 200 ms. */
int stage_make_http(void **state);
int stage_make_http_impatient(void **state);
int stage_remove(void **state);
int stage_connect(const struct stage *s);
int stage_connect_http(const struct stage *s);
void stage_turn(struct stage *s);
/* All of it, with as many turns as that takes. */
void say(struct stage *s, int fd, const char *text);
/* The next line that it hears, until the next call; NULL: the front has closed it. */
const char *hear(struct stage *s, int fd);
void hears(struct stage *s, int fd, const char *part);
bool is_closed(struct stage *s, int fd);
/* The next frame for the monitor. */
struct frame *monitor_hears(struct stage *s);
/* To an fs.read. */
void monitor_answers(struct stage *s, uint64_t id, const char *content);
