/* SPDX-License-Identifier: Apache-2.0 */
#include "services/desktop/own-tmp.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "jail/mount.h"
#include "jail/userns.h"

#define OWN_TMP "/tmp"

/* Names in the empty /tmp, up to the folder that is put there again. */
static int own_tmp_make_folders(char *path)
{
	for (char *end = path + sizeof(OWN_TMP); end;) {
		int r = 0;

		end = strchr(end, '/');
		if (end)
			*end = '\0';
		if (mkdir(path, 0700) < 0 && errno != EEXIST)
			r = -errno;
		if (end)
			*end++ = '/';
		if (r < 0)
			return r;
	}
	return 0;
}

static int own_tmp_mount(char *folder)
{
	static const char *const options[] = { "mode", "0700", "size", "8m", "nr_inodes", "64",
		NULL };
	const bool is_hidden = strncmp(folder, OWN_TMP "/", sizeof(OWN_TMP)) == 0;
	auto_fd root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	auto_fd source = is_hidden ? open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
	auto_fd copy = source < 0 ? -1 : mount_copy(source, MOUNT_WRITABLE);
	auto_fd tmp = mount_new("tmpfs", options, MOUNT_WRITABLE);
	int r;

	if (root < 0 || (is_hidden && copy < 0))
		return root < 0 || source < 0 ? -errno : copy;
	r = tmp < 0 ? tmp : mount_put(tmp, root, OWN_TMP);
	if (r < 0 || !is_hidden)
		return r;
	r = own_tmp_make_folders(folder);
	return r < 0 ? r : mount_put(copy, root, folder);
}

int own_tmp_make(const char *kept)
{
	const uid_t uid = geteuid();
	const gid_t gid = getegid();
	const char *slash = strrchr(kept, '/');
	char folder[PATH_BYTES];
	int r;

	if (!slash || slash == kept || strlen(kept) >= sizeof(folder))
		return -EINVAL;
	memcpy(folder, kept, (size_t)(slash - kept));
	folder[slash - kept] = '\0';
	if (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0)
		return -errno;
	r = userns_map(uid, gid);
	if (r == 0 && mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) < 0)
		r = -errno;
	return r < 0 ? r : own_tmp_mount(folder);
}
