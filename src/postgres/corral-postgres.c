/* SPDX-License-Identifier: Apache-2.0 */
/* corral-postgres: logs in to databases for one sandbox (server.h). */
#include <sys/socket.h>

#include "postgres/server.h"
#include "process/program.h"

int main(int argc, char **argv)
{
	static const struct program postgres = {
		.role = PROCESS_POSTGRES,
		.name = "corral-postgres",
		.version = CORRAL_VERSION,
		.purpose = "logs in to databases with the passwords of one sandbox",
		.used_by = "corral run --secret",
		.sockets = "3 to 5",
		.takes_arguments = true,
		.types = { SOCK_SEQPACKET, SOCK_SEQPACKET, SOCK_SEQPACKET },
		.serve = postgres_server_main,
	};

	return program_run(&postgres, argc, argv);
}
