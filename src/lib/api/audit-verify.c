/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "audit/store/verify.h"
#include "lib/api/audit-handle.h"
#include "lib/api/handles.h"

static struct corral_audit_verdict api_audit_verify_show(const struct audit_verdict *v)
{
	struct corral_audit_verdict ret = { .size = sizeof(ret),
		.fault = audit_fault_name(v->fault),
		.number = v->number,
		.records = v->records,
		.signed_up_to = v->signed_up_to };

	(void)sodium_bin2hex(ret.key, sizeof(ret.key), v->key, sizeof(v->key));
	(void)snprintf(ret.text, sizeof(ret.text), "%s", v->text);
	return ret;
}

int corral_audit_verify(const char *path, const char *public_path, const char *head_path,
	struct corral_audit_verdict *ret, struct corral_error **e)
{
	struct audit_verdict verdict = { 0 };
	struct corral_audit_verdict shown;
	struct audit_log *log = NULL;
	struct error error = { 0 };
	const size_t size = ret->size;
	int r = size < sizeof(size) ? error_set(&error, -EINVAL, NULL,
					      "struct corral_audit_verdict has no size")
				    : audit_log_open(&log, path, &error);

	if (r == 0)
		r = audit_log_verify(log, public_path, head_path, &verdict, &error);
	audit_log_close(log);
	if (r < 0)
		return handles_error(e, &error, r);
	shown = api_audit_verify_show(&verdict);
	shown.size = size;
	memcpy(ret, &shown, size < sizeof(shown) ? size : sizeof(shown));
	return verdict.fault == AUDIT_FINE;
}
