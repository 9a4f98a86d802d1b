/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A client of a broker in C, without any library: sends each line of standard input to the socket
 * that SANDBOX_SOCKET names, and prints the line that comes back.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

int main(void)
{
	static char line[1 << 16];
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	const char *path = getenv("SANDBOX_SOCKET");
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	FILE *out, *in;

	if (!path || strlen(path) >= sizeof(to.sun_path))
		return 1;
	memcpy(to.sun_path, path, strlen(path) + 1);
	if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof(to)) < 0)
		return 1;
	out = fdopen(fd, "w");
	in = fdopen(dup(fd), "r");
	while (out && in && fgets(line, sizeof(line), stdin)) {
		if (fputs(line, out) < 0 || fflush(out) != 0 || !fgets(line, sizeof(line), in))
			return 1;
		(void)fputs(line, stdout);
	}
	return 0;
}
