/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Secrets that the host has lent to the session (CONFIGURE_LENT): what their lender said
 * (wire/lend.h), which the host passes on as it came. The relay leads connections to their hosts to
 * those sockets, and the certificate joins the list of authorities that commands see.
 */
#include "base/error.h"
#include "jail/plan/plan.h"

struct warden_lent;

/* Waits for both frames. The caller's, for as long as there is a plan. */
int warden_lent_receive(struct warden_lent **ret, int control, struct error *e);
/* What the plan is to have of it, before it is made; and what it hands to the relay. */
void warden_lent_prepare(const struct warden_lent *l, struct plan_options *o);
void warden_lent_hand_over(const struct warden_lent *l, struct plan *p);
/* The relay has its sockets. */
void warden_lent_close(struct warden_lent *l);
