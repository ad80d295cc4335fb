/* Results as files. */
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/input.h"
#include "base/memory.h"
#include "base/text.h"
#include "result/result.h"

/*
 * Far above any real run (2,000 cases with 1,000 samples each are 40 MB); a tree in memory is 10
 * times as large.
 */
#define MAX_FILE_BYTES ((size_t)256 << 20)

enum status result_read(struct result *result, const char *path, struct error *err)
{
	struct text text = TEXT_EMPTY;
	enum status status;

	memset(result, 0, sizeof(*result));
	status = input_read_file(path, "result", MAX_FILE_BYTES, &text, err);
	if (status == STATUS_OK &&
	    result_from_json(result, text.data ? text.data : "", text.length, err) != STATUS_OK)
		status = error_prefix(err, "%s", path);
	text_release(&text);
	return status;
}

/*
 * Makes the rename last. File systems that cannot sync a directory say so with EINVAL: nothing more
 * to do.
 */
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
