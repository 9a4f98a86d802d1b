/* SPDX-License-Identifier: Apache-2.0 */
/* corral-inject: puts secrets into the requests of one sandbox (server.h). */
#include <sys/socket.h>

#include "inject/h2/h2.h"
#include "inject/server.h"
#include "process/program.h"

int main(int argc, char **argv)
{
	const struct program inject = {
		.role = PROCESS_INJECTOR,
		.name = "corral-inject",
		.version = h2_is_there() ? CORRAL_VERSION " (HTTP/2, HTTP/1.1)"
					 : CORRAL_VERSION " (HTTP/1.1)",
		.purpose = "puts secrets into the requests of one sandbox",
		.used_by = "corral run --secret",
		.sockets = "3 to 5",
		.takes_arguments = true,
		.types = { SOCK_SEQPACKET, SOCK_SEQPACKET, SOCK_SEQPACKET },
		.serve = inject_server_main,
	};

	return program_run(&inject, argc, argv);
}
