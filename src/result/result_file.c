/* Reads and writes results as files. */
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/input.h"
#include "base/memory.h"
#include "base/text.h"
#include "result/result.h"
#include "result/result_fields.h"

/* Far above any real run: 60 cases on each of 10,000 nodes are 1.7 GB. */
#define MAX_FILE_BYTES ((off_t)8 << 30)
/* Larger files are mapped; pipes are read up to this size. */
#define MAX_READ_BYTES ((size_t)256 << 20)

/* False: read the file as usual, which also reports any error. */
static bool result_file_map(const char *path, const char **text, size_t *length)
{
	int fd = input_open(path);
	struct stat about;
	void *at = MAP_FAILED;

	if (fd < 0)
		return false;
	if (fstat(fd, &about) == 0 && S_ISREG(about.st_mode) &&
	    about.st_size > (off_t)MAX_READ_BYTES && about.st_size <= MAX_FILE_BYTES)
		at = mmap(NULL, (size_t)about.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	if (at == MAP_FAILED)
		return false;
	*text = at;
	*length = (size_t)about.st_size;
	return true;
}

typedef enum status read_fn(struct result *, const char *text, size_t length, struct error *);

static enum status result_read_file(struct result *result, const char *path, read_fn *read,
				    struct error *err)
{
	struct text text = TEXT_EMPTY;
	const char *mapped;
	size_t length;

	memset(result, 0, sizeof(*result));
	if (result_file_map(path, &mapped, &length)) {
		if (read(result, mapped, length, err) != STATUS_OK)
			error_prefix(err, "%s", path);
		munmap((void *)(uintptr_t)mapped, length);
		return err->status;
	}
	if (input_read_file(path, "result", MAX_READ_BYTES, &text, err) == STATUS_OK &&
	    read(result, text.data ? text.data : "", text.length, err) != STATUS_OK)
		error_prefix(err, "%s", path);
	text_release(&text);
	return err->status;
}

enum status result_read(struct result *result, const char *path, struct error *err)
{
	return result_read_file(result, path, result_from_json, err);
}

enum status result_read_summary(struct result *result, const char *path, struct error *err)
{
	return result_read_file(result, path, result_from_summary, err);
}

enum status result_read_header(struct result *result, const char *path, struct error *err)
{
	return result_read_file(result, path, result_header_from_json, err);
}

/*
 * Makes the rename durable. File systems that cannot sync a directory return EINVAL, which is not
 * an error.
 */
static enum status result_file_sync_directory(const char *directory, struct error *err)
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
	struct file_output output;
	char *path_copy;
	enum status status = file_output_open(&output, path, err);

	if (status != STATUS_OK)
		return status;
	result_json_to_file(result, &output);
	status = file_output_close(&output, err);
	path_copy = xstrdup(path);
	if (status == STATUS_OK)
		status = result_file_sync_directory(dirname(path_copy), err);
	free(path_copy);
	return status;
}

enum status result_read_from(struct result *result, const char *directory, struct error *err)
{
	char *path = xasprintf("%s/result.json", directory);
	enum status status = result_read(result, path, err);

	free(path);
	return status;
}

enum status result_write_to(const struct result *result, const char *directory, struct error *err)
{
	char *path = xasprintf("%s/result.json", directory);
	enum status status = result_write(result, path, err);

	free(path);
	return status;
}
