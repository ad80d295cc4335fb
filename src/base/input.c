#include "base/input.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"

#define BLOCK ((size_t)1 << 16)

/* Regular files that this process has read or will read. */
static struct {
	pthread_mutex_t lock;
	struct input_file {
		dev_t device;
		ino_t inode;
		char *path; /* for messages */
	} * items;
	size_t count, capacity;
} inputs = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* The caller holds the lock. */
static const struct input_file *find_input(const struct stat *about)
{
	struct stat now;

	for (size_t i = 0; S_ISREG(about->st_mode) && i < inputs.count; i++)
		/* The inode of a replaced file may be reused. */
		if (inputs.items[i].device == about->st_dev &&
		    inputs.items[i].inode == about->st_ino &&
		    stat(inputs.items[i].path, &now) == 0 && now.st_dev == about->st_dev &&
		    now.st_ino == about->st_ino)
			return &inputs.items[i];
	return NULL;
}

static void remember_input(const char *path, const struct stat *about)
{
	if (!S_ISREG(about->st_mode))
		return;
	pthread_mutex_lock(&inputs.lock);
	if (!find_input(about)) {
		ARRAY_GROW(inputs.items, inputs.count, inputs.capacity);
		inputs.items[inputs.count++] =
			(struct input_file){ about->st_dev, about->st_ino, xstrdup(path) };
	}
	pthread_mutex_unlock(&inputs.lock);
}

void input_note(const char *path)
{
	struct stat about;

	if (path && stat(path, &about) == 0)
		remember_input(path, &about);
}

enum status input_refuse_output(const char *output, struct error *err)
{
	const struct input_file *input;
	struct stat about;

	if (err->status != STATUS_OK || !output || stat(output, &about) != 0)
		return err->status;
	pthread_mutex_lock(&inputs.lock);
	input = find_input(&about);
	if (input)
		error_set(err, STATUS_USAGE,
			  "the output '%.300s' is the same file as the input '%.300s'; name "
			  "another file",
			  output, input->path);
	pthread_mutex_unlock(&inputs.lock);
	return err->status;
}

int input_open(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat about;

	if (fd >= 0 && fstat(fd, &about) == 0)
		remember_input(path, &about);
	return fd;
}

/* Waits for input or the end of file. */
static enum status input_await(int fd, struct error *err)
{
	struct pollfd it = { .fd = fd, .events = POLLIN };
	int ready;

	do
		ready = poll(&it, 1, isatty(fd) ? -1 : 1000 * INPUT_PATIENCE_SECONDS);
	while (ready < 0 && errno == EINTR);
	if (ready < 0)
		return error_errno(err, "cannot be read");
	if (!ready)
		return error_set(err, STATUS_USAGE, "sent no data for %d s",
				 INPUT_PATIENCE_SECONDS);
	return STATUS_OK;
}

static enum status input_read_blocks(int fd, const char *what, size_t most, struct text *out,
				     struct error *err)
{
	char *block = xmalloc(BLOCK);
	enum status status = STATUS_OK;
	size_t total = 0;
	ssize_t n;

	while (status == STATUS_OK && (n = read(fd, block, BLOCK)) != 0) {
		bool mebibytes = most >= (size_t)1 << 20;

		if (n < 0 && errno == EAGAIN)
			status = input_await(fd, err);
		else if (n < 0 && errno != EINTR)
			status = error_errno(err, "cannot be read");
		if (n < 0)
			continue;
		total += (size_t)n;
		if (total > most)
			status = error_set(err, STATUS_USAGE,
					   "is larger than %zu %s, so it is not a %s",
					   mebibytes ? most >> 20 : most >> 10,
					   mebibytes ? "MiB" : "KiB", what);
		else
			text_add_bytes(out, block, (size_t)n);
	}
	free(block);
	return status;
}

enum status input_read(int fd, const char *what, size_t most, struct text *out, struct error *err)
{
	size_t before = out->length;
	struct stat about = { 0 };
	enum status status;

	if (fstat(fd, &about) == 0 && S_ISDIR(about.st_mode))
		return error_set(err, STATUS_USAGE, "is a directory, not a %s file", what);
	/* Room for a regular file, so that large ones are not copied as the text grows. */
	if (S_ISREG(about.st_mode) && (size_t)about.st_size > BLOCK &&
	    (size_t)about.st_size <= most && out->capacity <= before + (size_t)about.st_size) {
		out->capacity = before + (size_t)about.st_size + 1;
		out->data = xrealloc(out->data, out->capacity, 1);
	}
	status = input_read_blocks(fd, what, most, out, err);
	if (status == STATUS_OK && S_ISFIFO(about.st_mode) && out->length == before)
		return error_set(err, STATUS_USAGE, "is a pipe to which no process writes");
	return status;
}

enum status input_read_file(const char *path, const char *what, size_t most, struct text *out,
			    struct error *err)
{
	int fd = input_open(path);
	enum status status;

	if (fd < 0)
		return error_errno(err, "%s", path);
	status = input_read(fd, what, most, out, err);
	close(fd);
	return status == STATUS_OK ? STATUS_OK : error_prefix(err, "%s", path);
}
