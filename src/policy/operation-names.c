/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/operation-names.h"

const char *const operation_names[OPERATION_COUNT + 1] = {
	[OPERATION_FS_READ] = "fs.read",
	[OPERATION_FS_WRITE] = "fs.write",
	[OPERATION_NET_CONNECT] = "net.connect",
	[OPERATION_EXEC] = "exec",
	[OPERATION_ENV] = "env",
	[OPERATION_SERVICE] = "service",
	[OPERATION_SECRET] = "secret",
};
