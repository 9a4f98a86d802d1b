/* SPDX-License-Identifier: Apache-2.0 */
/* without-nft PROGRAM ARGUMENT…: runs it as on a kernel without netfilter. */
#include <stdio.h>
#include <unistd.h>

#include "net/test/test-without-nft.h"

int main(int argc, char **argv)
{
	if (argc < 2 || without_nft() < 0) {
		perror("without-nft");
		return 2;
	}
	(void)execvp(argv[1], argv + 1);
	perror(argv[1]);
	return 2;
}
