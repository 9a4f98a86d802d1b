/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* What is sent to corrald-http. */
#include <stdbool.h>

#include "daemon/message.h"

struct supervisor;

/* Something was put into the outbox of corrald-http. */
void http_link_flush(struct supervisor *s);
/* Whether it takes a connection at once. */
bool http_link_has_room(const struct supervisor *s);
int http_link_send_tab(struct supervisor *s, const struct message_tab *t);
/* A tab of the page from now on. */
int http_link_add_tab(struct supervisor *s, const struct message_tab *t);
