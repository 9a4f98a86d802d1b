/* SPDX-License-Identifier: Apache-2.0 */
/* corral-vault: the only process that opens the vault. It is started with its sockets (server.h).
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "process/confinement.h"
#include "vault/server.h"
#include "process/child.h"

static int explain(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "--version") == 0)
		return printf("corral-vault %s\n", CORRAL_VERSION) < 0;
	if (argc == 2 && strcmp(argv[1], "--help") == 0)
		return printf("corral-vault: holds the user's secrets.\n"
			      "It is started by corral, with sockets as descriptors 3 and 5; there "
			      "is "
			      "nothing to\nstart by hand. See corral-vault(8) and `corral "
			      "vault`.\n") < 0;
	(void)fprintf(stderr,
		"corral-vault: descriptor 3 is not a socket of corral; this program is "
		"started by corral, see corral-vault(8)\n");
	return 2;
}

static bool is_packet_socket(int fd)
{
	int type = 0;
	socklen_t len = sizeof(type);

	return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) == 0 && type == SOCK_SEQPACKET &&
	       fcntl(fd, F_SETFD, FD_CLOEXEC) == 0;
}

int main(int argc, char **argv)
{
	int r;

	if (argc != 1 || !is_packet_socket(CHILD_SOCKET) || !is_packet_socket(CHILD_FDS + 1) ||
		fcntl(CHILD_FDS, F_SETFD, FD_CLOEXEC) < 0)
		return explain(argc, argv);
	r = confinement_begin(PROCESS_VAULT);
	if (r == 0)
		r = vault_server_main();
	return r < 0 && r != -EPIPE;
}
