/* SPDX-License-Identifier: Apache-2.0 */
/*
 * corral-desktop: what a sandbox may do on the user's desktop. Each process of it serves one of
 * these, and is confined to what that needs.
 */
#include "services/backend.h"
#include "services/desktop/clipboard.h"
#include "services/desktop/notify.h"
#include "services/desktop/open.h"

int main(int argc, char **argv)
{
	static const struct backend_service services[] = {
		{ .name = "notifications",
			.begin = notify_begin,
			.methods = notify_methods,
			.probe = notify_probe },
		{ .name = "clipboard",
			.begin = clipboard_begin,
			.methods = clipboard_methods,
			.probe = clipboard_probe },
		{ .name = "browser-open",
			.begin = open_begin,
			.methods = open_methods,
			.probe = open_probe },
		{ 0 },
	};
	static const struct backend_program program = { "corral-desktop", services };

	return backend_main(argc, argv, &program);
}
