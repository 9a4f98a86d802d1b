/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the kernel opens by itself when it runs a file, so that no call names it: the program in the
 * first line of a script, the loader of a dynamic program. If one is missing, running the file
 * fails as if the file were not there.
 */
#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/shebang.h"
#include "cli/explain/internal.h"

enum { HEADERS_MAX = 64 };

/* Both architectures have 64 bits. */
static bool of_program(int fd, char out[PATH_BYTES])
{
	Elf64_Phdr headers[HEADERS_MAX];
	Elf64_Ehdr head;
	size_t size;

	if (pread(fd, &head, sizeof(head), 0) != sizeof(head) ||
		memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 ||
		head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_phentsize != sizeof(headers[0]) ||
		head.e_phnum > HEADERS_MAX)
		return false;
	size = head.e_phnum * sizeof(headers[0]);
	if (pread(fd, headers, size, (off_t)head.e_phoff) != (ssize_t)size)
		return false;
	for (const Elf64_Phdr *h = headers; h < headers + head.e_phnum; h++)
		if (h->p_type == PT_INTERP)
			return h->p_filesz >= 2 && h->p_filesz <= PATH_BYTES &&
			       pread(fd, out, h->p_filesz, (off_t)h->p_offset) ==
				       (ssize_t)h->p_filesz &&
			       out[0] == '/' && out[h->p_filesz - 1] == '\0';
	return false;
}

/*
 * What lies at the path was a plain file when it was looked at, but the command may have put
 * another thing there: a link to what it must not touch, a device or a pipe, where opening is an
 * act. So it is only named first, and what was named is opened if it is a plain file indeed.
 */
static int open_plain(const char *path)
{
	auto_fd named = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	char link[64];
	struct stat st;

	if (named < 0 || fstat(named, &st) < 0 || !S_ISREG(st.st_mode))
		return -1;
	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", named);
	return open(link, O_RDONLY | O_CLOEXEC);
}

enum explain_interpreter run_explain_interpreter(const char *path, char out[PATH_BYTES])
{
	auto_fd fd = open_plain(path);
	struct shebang s;

	if (fd < 0)
		return EXPLAIN_NO_INTERPRETER;
	if (shebang_read(&s, fd) == 0 && s.program[0] == '/') {
		memcpy(out, s.program, sizeof(s.program));
		return EXPLAIN_SCRIPT;
	}
	return of_program(fd, out) ? EXPLAIN_LOADER : EXPLAIN_NO_INTERPRETER;
}
