/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Lists and items on a CalDAV server (RFC 4791). Found from the URL that the user gave: a calendar,
 * the folder of calendars, or anything that names the user's principal. An item is written only
 * over the version that was read (If-Match), a new one only where nothing is (If-None-Match).
 */
#include "services/calendar/store.h"

struct dav_client;

/* The client is taken. kind: lists that can have such items. -ENOMEM. */
int caldav_new(struct store **ret, struct dav_client *client, enum item_kind kind);
