/* SPDX-License-Identifier: Apache-2.0 */
/* corral-ssh-agent: lets the user's ssh agent sign for what a sandbox was granted (server.h). */
#include <sys/socket.h>

#include "process/program.h"
#include "sshagent/server.h"

static int serve(const char *const *args)
{
	(void)args;
	return sshagent_server_main();
}

int main(int argc, char **argv)
{
	static const struct program agent = {
		.role = PROCESS_SSH_AGENT,
		.name = "corral-ssh-agent",
		.version = CORRAL_VERSION,
		.purpose = "lets your ssh agent sign for the logins that a sandbox was granted",
		.used_by = "corral run --ssh-agent",
		.sockets = "3 to 5",
		.types = { SOCK_SEQPACKET, SOCK_STREAM, SOCK_STREAM },
		.serve = serve,
	};

	return program_run(&agent, argc, argv);
}
