/* SPDX-License-Identifier: Apache-2.0 */
/* daemon.json and daemon.yaml; the first byte says which. What is taken is within its bounds. */
#include <stdlib.h>
#include <string.h>

#include "daemon/config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct config c = config_default();
	struct error e = { 0 };

	if (size == 0)
		return 0;
	if (config_read(&c, data[0] & 1 ? "daemon.json" : "daemon.yaml", (const char *)data + 1,
		    size - 1, &e) < 0) {
		/* Nothing of it counts, and it is said why. */
		if (!e.text[0] || c.source[0])
			abort();
		return 0;
	}
	if (c.heartbeat_ms < 1000 || c.heartbeat_ms > 3600 * 1000 || c.level > CONFIG_DEBUG ||
		(c.log_file[0] && c.log_file[0] != '/'))
		abort();
	return 0;
}
