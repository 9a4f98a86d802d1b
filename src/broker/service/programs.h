/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Programs that a section of services.yaml names. They run outside with all rights of the user, who
 * chose them: host/lookup.h is not asked about them. But what commands of this session may write is
 * no choice of the user's any more, so such a one is refused. Of lists of folders that
 * host/lookup.h let through, the same are left out: root may grant the system's own folders.
 */
#include "broker/service/config.h"
#include "policy/policy.h"

/*
 * The section may be NULL. -EACCES with a sentence: the policy of the session lets commands write
 * such a program, a link on the way to it, or something in such a folder, or has the user asked.
 */
int service_programs_check(
	const struct policy *p, const struct service_section *section, struct error *e);
/* Of a list like PATH, what commands may not write. */
void service_programs_filter(const struct policy *p, const char *list, struct buffer *out);
