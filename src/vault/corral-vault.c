/* SPDX-License-Identifier: Apache-2.0 */
/* corral-vault: the only process that opens the vault. It is started with its sockets (server.h).
 */
#include <sys/socket.h>

#include "process/program.h"
#include "vault/server.h"

static int serve(const char *const *args)
{
	(void)args;
	return vault_server_main();
}

int main(int argc, char **argv)
{
	static const struct program vault = {
		.role = PROCESS_VAULT,
		.name = "corral-vault",
		.version = CORRAL_VERSION,
		.purpose = "holds the user's secrets",
		.used_by = "corral vault",
		.sockets = "3 and 5",
		.types = { SOCK_SEQPACKET, 0, SOCK_SEQPACKET },
		.serve = serve,
	};

	return program_run(&vault, argc, argv);
}
