/* Results as files. */
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/text.h"
#include "result/result.h"

/* Far above any real run (2,000 cases with 1,000 samples each are 40 MB); a tree in memory is 10 times as large. */
#define MAX_FILE_BYTES ((size_t)256 << 20)

static enum status read_all(int fd, struct text *out, struct error *err)
{
	char *buffer = xmalloc(1 << 16);
	enum status status = STATUS_OK;
	ssize_t n;

	while ((n = read(fd, buffer, 1 << 16)) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			status = error_errno(err, "cannot read");
		else if (out->length + (size_t)n > MAX_FILE_BYTES)
			status = error_set(err, STATUS_USAGE, "larger than %zu MiB: this is no result",
					   MAX_FILE_BYTES >> 20);
		if (status != STATUS_OK)
			break;
		text_add_bytes(out, buffer, (size_t)n);
	}
	free(buffer);
	return status;
}

enum status result_read(struct result *result, const char *path, struct error *err)
{
	struct text text = TEXT_EMPTY;
	enum status status;
	int fd;

	memset(result, 0, sizeof(*result));
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return error_errno(err, "%s", path);
	status = read_all(fd, &text, err);
	close(fd);
	if (status == STATUS_OK)
		status = result_from_json(result, text.data ? text.data : "", text.length, err);
	if (status != STATUS_OK)
		error_prefix(err, "%s", path);
	text_release(&text);
	return status;
}

/* Makes the rename last. File systems that cannot sync a directory say so with EINVAL: nothing more to do. */
static enum status sync_directory(const char *directory, struct error *err)
{
	enum status status = STATUS_OK;
	int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return error_errno(err, "%s", directory);
	if (fsync(fd) != 0 && errno != EINVAL)
		status = error_errno(err, "fsync %s", directory);
	close(fd);
	return status;
}

enum status result_write(const struct result *result, const char *path, struct error *err)
{
	char *text = result_to_json(result);
	char *path_copy = xstrdup(path);
	enum status status = file_write(path, text, strlen(text), err);

	if (status == STATUS_OK)
		status = sync_directory(dirname(path_copy), err);
	free(path_copy);
	free(text);
	return status;
}
