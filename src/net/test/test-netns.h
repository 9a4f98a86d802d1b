/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * For tests: the process goes where commands are: a network namespace of its own, captured, and no
 * capabilities. It is the relay at the same time, so nothing has to wait for anybody.
 */
#include <netinet/in.h>
#include <stdbool.h>

#include "net/enter/capture.h"

union netns_name {
	struct sockaddr any;
	struct sockaddr_in6 v6;
	struct sockaddr_in v4;
};

/* What to capture, to be set before; and the sockets of the relay. */
extern struct capture_options netns_options;
extern int netns_relay[CAPTURE_COUNT];
/* One of capture_inner() for each family. */
extern int netns_inner[2];

/* To be set before: as on a kernel without nf_tables, by capture_open_lazy(). */
extern bool netns_without_rules;

/* false: the kernel can't, and TAP was told. Called first in main(). */
bool netns_enter(void);
/* An address and port as a socket's name; the length. */
socklen_t netns_name(const char *text, uint16_t port, union netns_name *ret);
struct address netns_address(const char *text);
/* A socket connected to there; blocking. */
int netns_connect(int type, const char *text, uint16_t port);
/* One bound there; TCP: listening. Port 0: *ret_port is the one it got. */
int netns_serve(int type, const char *text, uint16_t port, uint16_t *ret_port);
/* Waits until there is something to read, or fails the test. */
void netns_wait(int fd);
/* Takes the next connection. */
int netns_accept(int listener);
