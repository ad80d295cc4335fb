#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/input.h"
#include "base/memory.h"

bool file_write_all(int fd, const void *bytes, size_t count)
{
	const char *at = bytes;

	while (count > 0) {
		ssize_t n = write(fd, at, count);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			errno = n == 0 ? ENOSPC : errno;
			return false;
		}
		at += n;
		count -= (size_t)n;
	}
	return true;
}

enum status file_output_open(struct file_output *o, const char *path, struct error *err)
{
	struct stat there;
	mode_t mask;

	*o = (struct file_output){ .fd = -1, .synced = true };
	/* A device or a pipe is written to: never replace /dev/null by a file. */
	if (stat(path, &there) == 0 && !S_ISREG(there.st_mode)) {
		o->path = xstrdup(path);
		o->fd = open(path, O_WRONLY | O_CLOEXEC);
	} else {
		/* Replaces the target of a symbolic link, not the link. */
		if (lstat(path, &there) == 0 && S_ISLNK(there.st_mode))
			o->path = realpath(path, NULL);
		o->path = o->path ? o->path : xstrdup(path);
		o->temporary = xasprintf("%s.XXXXXX", o->path);
		o->fd = mkostemp(o->temporary, O_CLOEXEC);
		/* Default permissions: mkostemp() alone denies access to other users. */
		mask = umask(0);
		umask(mask);
		if (o->fd >= 0)
			fchmod(o->fd, 0666 & ~mask);
	}
	if (o->fd >= 0)
		return STATUS_OK;
	error_errno(err, "%s", path);
	free(o->path);
	free(o->temporary);
	return STATUS_IO;
}

void file_output_add(struct file_output *o, const char *data, size_t length)
{
	if (!o->failure.status && !file_write_all(o->fd, data, length))
		error_errno(&o->failure, "cannot write");
}

enum status file_output_close(struct file_output *o, struct error *err)
{
	struct error *failure = &o->failure;

	if (o->temporary && o->synced && !failure->status && fsync(o->fd) != 0)
		error_errno(failure, "fsync");
	if (close(o->fd) != 0)
		error_errno(failure, "close");
	if (o->temporary && !failure->status && rename(o->temporary, o->path) != 0)
		error_errno(failure, "rename");
	if (o->temporary && failure->status)
		unlink(o->temporary);
	if (failure->status)
		error_set(err, failure->status, "%s: %s", o->path, failure->message);
	free(o->path);
	free(o->temporary);
	return failure->status;
}

static enum status file_write_once(const char *path, const char *data, size_t length, bool synced,
				   struct error *err)
{
	struct file_output output;

	if (file_output_open(&output, path, err) != STATUS_OK)
		return STATUS_IO;
	output.synced = synced;
	file_output_add(&output, data, length);
	return file_output_close(&output, err);
}

enum status file_write(const char *path, const char *data, size_t length, struct error *err)
{
	return file_write_once(path, data, length, true, err);
}

enum status file_publish(const char *path, const char *data, size_t length, struct error *err)
{
	if (input_refuse_output(path, err) != STATUS_OK)
		return err->status;
	return file_write(path, data, length, err);
}

enum status file_replace(const char *path, const char *data, size_t length, struct error *err)
{
	return file_write_once(path, data, length, false, err);
}

bool file_has_no_locks(const char *path)
{
	static atomic_flag told = ATOMIC_FLAG_INIT;

	if (errno != ENOLCK && errno != EOPNOTSUPP && errno != ENOSYS)
		return false;
	if (!atomic_flag_test_and_set(&told))
		fprintf(stderr,
			"gpuproof: %s: the file system does not support locks (%s). Do not let two "
			"programs write this file at the same time.\n",
			path, strerror(errno));
	return true;
}
