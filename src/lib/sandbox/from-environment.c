/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A policy that whoever started the host program hands over. The environment is not changed:
 * another thread may be reading it, and no lock would keep it from that. So the variables stay
 * where they are, for the host and what it starts by itself; commands of a sandbox never see them
 * (host/environment.h).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "codec/node.h"
#include "host/environment.h"
#include "launch/source.h"
#include "lib/api/handles.h"
#include "lib/sandbox/sandbox.h"

static int from_environment_text(struct corral_builder **ret, const char *name, const char *text,
	size_t len, struct corral_error **e)
{
	struct corral_permissions *p = NULL;
	const struct error none = { 0 };
	int r = corral_permissions_parse(&p, name, text, len, e);

	if (r < 0)
		return r;
	r = corral_builder_from_permissions(ret, p);
	corral_permissions_free(p);
	return r < 0 ? handles_error(e, &none, r) : 0;
}

static int from_environment_file(
	struct corral_builder **ret, const char *path, struct corral_error **e)
{
	struct error error = { 0 };

	if (path[0] == '/')
		return corral_builder_from_manifest(ret, path, e);
	(void)error_set(&error, -EINVAL, NULL,
		ENVIRONMENT_POLICY_FILE ": `%.100s` is not an absolute path", path);
	return handles_error(e, &error, -EINVAL);
}

int corral_builder_from_environment(struct corral_builder **ret, struct corral_error **e)
{
	const char *number = secure_getenv(ENVIRONMENT_POLICY_FD);
	const char *path = secure_getenv(ENVIRONMENT_POLICY_FILE);
	const char *text = secure_getenv(ENVIRONMENT_POLICY);
	auto_buffer read = { 0 };
	char file[PATH_BYTES] = "";
	struct error error = { 0 };
	int r;

	if (!number && path)
		return from_environment_file(ret, path, e);
	if (!number && text)
		return from_environment_text(ret, ENVIRONMENT_POLICY, text, strlen(text), e);
	r = number ? launch_source_read(
			     ENVIRONMENT_POLICY_FD, number, NODE_INPUT_MAX, &read, file, &error)
		   : corral_builder_new(ret);
	if (r < 0)
		return handles_error(e, &error, r);
	if (!number)
		return 0;
	r = from_environment_text(ret, ENVIRONMENT_POLICY_FD, buffer_text(&read), read.len, e);
	if (r < 0 || !*file)
		return r;
	r = sandbox_builder_set_source(*ret, file);
	if (r < 0) {
		corral_builder_free(*ret);
		*ret = NULL;
		return handles_error(e, &error, r);
	}
	return 0;
}
