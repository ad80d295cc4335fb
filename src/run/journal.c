#include "run/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/input.h"
#include "base/memory.h"
#include "base/text.h"
#include "result/result_check.h"

#define OPENING "{\"journal\":1,\"plan\":\""
#define MIDDLE "\",\"header\":"
#define FINGERPRINT_LENGTH 16

/*
 * A hash of the cases' ids: two plans with the same fingerprint have the same cases in the same
 * order.
 */
static void journal_fingerprint_of(const struct plan *plan, char out[FINGERPRINT_LENGTH + 1])
{
	uint64_t hash = TEXT_HASH_START;

	/* With the terminating zero, so that ids cannot run together. */
	for (size_t i = 0; i < plan->case_count; i++)
		hash = text_hash(hash, plan->cases[i].id, strlen(plan->cases[i].id) + 1);
	snprintf(out, FINGERPRINT_LENGTH + 1, "%016" PRIx64, hash);
}

static enum status journal_make_directories(const char *path, struct error *err)
{
	char *copy = xstrdup(path);
	enum status status = STATUS_OK;

	for (char *at = copy + 1; status == STATUS_OK && *copy; at++) {
		char was = *at;

		if (was != '/' && was != '\0')
			continue;
		*at = '\0';
		if (mkdir(copy, 0777) != 0 && errno != EEXIST)
			status = error_errno(err, "directory %s", copy);
		*at = was;
		if (was == '\0')
			break;
	}
	free(copy);
	return status;
}

/*
 * A POSIX lock: forked workers do not inherit it, so a worker that outlives a killed conductor
 * (stuck in a driver) does not block --resume; and F_GETLK returns the process that holds it.
 */
static enum status journal_lock(int fd, const char *path, struct error *err)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

	if (fcntl(fd, F_SETLK, &lock) == 0)
		return STATUS_OK;
	if (file_has_no_locks(path))
		return STATUS_OK;
	if (errno != EACCES && errno != EAGAIN)
		return error_errno(err, "cannot lock %s", path);
	if (fcntl(fd, F_GETLK, &lock) != 0 || lock.l_type == F_UNLCK)
		lock.l_pid = 0;
	return error_set(err, STATUS_IO,
			 "%s: another gpuproof (process %ld) runs in this directory", path,
			 (long)lock.l_pid);
}

/* A pipe in the journal's place would be waited for for ever, and cannot be continued. */
static enum status journal_check_file(const struct journal *journal, struct error *err)
{
	struct stat about;

	input_note(journal->path);
	if (fstat(journal->fd, &about) != 0)
		return error_errno(err, "%s", journal->path);
	if (!S_ISREG(about.st_mode))
		return error_set(err, STATUS_USAGE,
				 "%s is not a regular file, so it is not the journal of a run",
				 journal->path);
	return STATUS_OK;
}

static enum status journal_open_locked(struct journal *journal, const char *directory, int flags,
				       struct error *err)
{
	journal->path = xasprintf("%s/%s", directory, JOURNAL_NAME);
	journal->fd = open(journal->path, O_RDWR | O_CLOEXEC | O_NONBLOCK | flags, 0666);
	/* In a new one: its directory is a link to nowhere. */
	if (journal->fd < 0 && errno == ENOENT && !(flags & O_CREAT))
		return error_set(err, STATUS_USAGE,
				 "%s: no run to resume, because this file does not exist",
				 journal->path);
	if (journal->fd < 0)
		return error_errno(err, "%s", journal->path);
	if (journal_check_file(journal, err) != STATUS_OK)
		return err->status;
	return journal_lock(journal->fd, journal->path, err);
}

static enum status journal_read_all(int fd, const char *path, struct text *out, struct error *err)
{
	char block[65536];
	ssize_t n;

	while ((n = pread(fd, block, sizeof(block), (off_t)out->length)) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return error_errno(err, "%s", path);
		text_add_bytes(out, block, (size_t)n);
	}
	return STATUS_OK;
}

/*
 * Returns the length of the first line, 0 if it is no header line; *before: bytes before the
 * header.
 */
static size_t journal_header_line(const struct text *content, size_t *before)
{
	const char *end = content->length ? memchr(content->data, '\n', content->length) : NULL;

	*before = strlen(OPENING) + FINGERPRINT_LENGTH + strlen(MIDDLE);
	if (!end || (size_t)(end - content->data) < *before + 2 || end[-1] != '}' ||
	    !text_starts_with(content->data, OPENING) ||
	    !text_starts_with(content->data + *before - strlen(MIDDLE), MIDDLE))
		return 0;
	return (size_t)(end - content->data);
}

/*
 * True if the content is part of a first line, so that overwriting it loses nothing. A power cut
 * leaves zeros where the file was longer than what had reached the disk.
 */
static bool journal_was_torn(const struct text *content)
{
	size_t length = content->length, known = strlen(OPENING);

	while (length && content->data[length - 1] == '\0')
		length--;
	if (length < known)
		known = length;
	return !length ||
	       (memcmp(content->data, OPENING, known) == 0 && !memchr(content->data, '\n', length));
}

static enum status journal_parse_header(const struct text *content, const char *path,
					struct result *header, struct error *err)
{
	size_t before, length = journal_header_line(content, &before);

	if (!length && journal_was_torn(content))
		return error_set(err, STATUS_USAGE,
				 "%s: the run ended before it wrote the first line, so it cannot "
				 "be resumed; start a new run",
				 path);
	if (!length)
		return error_set(err, STATUS_USAGE, "%s is not the journal of a run", path);
	if (result_header_from_json(header, content->data + before, length - before - 1, err) !=
	    STATUS_OK)
		return error_prefix(err, "%s:1", path);
	return STATUS_OK;
}

static enum status journal_open_unlocked(struct journal *journal, const char *directory,
					 struct error *err)
{
	journal->path = xasprintf("%s/%s", directory, JOURNAL_NAME);
	journal->fd = open(journal->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (journal->fd >= 0)
		return journal_check_file(journal, err);
	return error_set(err, STATUS_USAGE, "%s: no run to resume: %s", journal->path,
			 strerror(errno));
}

/* All of the journal and its header, without the lock; both are the caller's to release. */
static enum status journal_read_run(const char *directory, struct text *content,
				    struct result *header, struct error *err)
{
	struct journal journal = { .fd = -1 };
	enum status status = journal_open_unlocked(&journal, directory, err);

	if (status == STATUS_OK)
		status = journal_read_all(journal.fd, journal.path, content, err);
	if (status == STATUS_OK)
		status = journal_parse_header(content, journal.path, header, err);
	journal_close(&journal);
	return status;
}

enum status journal_read_header(const char *directory, struct result *header, struct error *err)
{
	struct text content = TEXT_EMPTY;
	enum status status = journal_read_run(directory, &content, header, err);

	text_release(&content);
	return status;
}

/* Releases the line. */
static enum status journal_append_line(struct journal *journal, struct text *line,
				       struct error *err)
{
	bool whole = lseek(journal->fd, journal->size, SEEK_SET) >= 0 &&
		     file_write_all(journal->fd, line->data, line->length) &&
		     fsync(journal->fd) == 0;

	if (whole)
		journal->size += (off_t)line->length;
	else
		error_errno(err, "cannot write %s", journal->path);
	text_release(line);
	if (whole)
		return STATUS_OK;
	/* Takes back half a line; where that fails, --resume does it. */
	return ftruncate(journal->fd, journal->size) == 0 ? STATUS_IO : err->status;
}

static enum status journal_is_vacant(const struct text *content, const char *directory,
				     struct error *err)
{
	size_t before;

	if (journal_header_line(content, &before)) {
		struct text word = TEXT_EMPTY;

		text_add_shell_word(&word, directory);
		error_set(err, STATUS_USAGE,
			  "%s already contains a run; continue it with --resume %s, or choose "
			  "another directory",
			  directory, word.data);
		text_release(&word);
		return err->status;
	}
	if (!journal_was_torn(content))
		return error_set(err, STATUS_USAGE,
				 "%s/%s is not the journal of a run; choose another directory",
				 directory, JOURNAL_NAME);
	return STATUS_OK;
}

enum status journal_vacant(const char *directory, struct error *err)
{
	struct journal journal = { .fd = -1 };
	struct text content = TEXT_EMPTY;
	struct error unread = ERROR_NONE;
	enum status status = STATUS_OK;

	/* An unreadable file is reported when it is written. */
	if (journal_open_unlocked(&journal, directory, &unread) == STATUS_OK &&
	    journal_read_all(journal.fd, journal.path, &content, &unread) == STATUS_OK)
		status = journal_is_vacant(&content, directory, err);
	journal_close(&journal);
	text_release(&content);
	return status;
}

bool journal_begun(const char *directory)
{
	struct error why = ERROR_NONE;

	return journal_vacant(directory, &why) != STATUS_OK;
}

enum status journal_create(struct journal *journal, const char *directory,
			   const struct result *header, const struct plan *plan, struct error *err)
{
	struct text content = TEXT_EMPTY;
	enum status status = journal_make_directories(directory, err);

	*journal = (struct journal){ .fd = -1 };
	if (status == STATUS_OK)
		status = journal_open_locked(journal, directory, O_CREAT, err);
	if (status == STATUS_OK)
		status = journal_read_all(journal->fd, journal->path, &content, err);
	if (status == STATUS_OK)
		status = journal_is_vacant(&content, directory, err);
	if (status == STATUS_OK && ftruncate(journal->fd, 0) != 0)
		status = error_errno(err, "%s", journal->path);
	if (status == STATUS_OK) {
		char fingerprint[FINGERPRINT_LENGTH + 1];
		char *json = result_header_to_json(header);
		struct text line = TEXT_EMPTY;

		journal_fingerprint_of(plan, fingerprint);
		text_addf(&line, "%s%s%s%s}\n", OPENING, fingerprint, MIDDLE, json);
		free(json);
		status = journal_append_line(journal, &line, err);
	}
	if (status == STATUS_OK) {
		int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

		/* So that the file's name survives a power cut as well. */
		if (fd >= 0) {
			fsync(fd);
			close(fd);
		}
	} else
		journal_close(journal);
	text_release(&content);
	return status;
}

static enum status journal_same_devices(const struct result *header, const struct plan *plan,
					struct error *err)
{
	for (size_t i = 0; i < header->device_count || i < plan->device_count; i++) {
		const struct device_info *then =
			i < header->device_count ? &header->devices[i] : NULL;
		const struct device_info *now = i < plan->device_count ? &plan->devices[i] : NULL;

		if (then && now && strcmp(then->id, now->id) == 0 &&
		    strcmp(then->name, now->name) == 0 && strcmp(then->uuid, now->uuid) == 0)
			continue;
		return error_set(err, STATUS_USAGE,
				 "the devices have changed since the run began: %s %s %s at its "
				 "start, %s %s %s now",
				 then ? then->id : "none", then ? then->name : "",
				 then ? then->uuid : "", now ? now->id : "none",
				 now ? now->name : "", now ? now->uuid : "");
	}
	return STATUS_OK;
}

static enum status journal_same_plan(const struct text *content, const struct result *header,
				     const struct plan *plan, struct error *err)
{
	char fingerprint[FINGERPRINT_LENGTH + 1];

	if (journal_same_devices(header, plan, err) != STATUS_OK)
		return err->status;
	journal_fingerprint_of(plan, fingerprint);
	if (memcmp(content->data + strlen(OPENING), fingerprint, FINGERPRINT_LENGTH) != 0)
		return error_set(err, STATUS_USAGE,
				 "the cases have changed since the run began: %zu at its start "
				 "(gpuproof %s), %zu now",
				 header->planned, header->gpuproof_version, plan->case_count);
	return STATUS_OK;
}

/* Takes one line. False if it is damaged. */
static bool journal_take_line(const struct plan *plan, const char *line, size_t length,
			      struct case_result *cases, bool *done, struct losses *lost)
{
	struct error err = ERROR_NONE;
	struct case_result c;
	struct lost_worker one;
	struct message message;
	size_t index = 0;

	if (!worker_message_parse(line, length, &message))
		return false;
	if (message.kind == MESSAGE_PARTIAL)
		return true; /* done again */
	if (message.kind == MESSAGE_LOST) {
		if (lost_worker_from_json(&one, message.json, message.json_length, &err) !=
		    STATUS_OK)
			return false;
		journal_losses_add(lost, &one); /* the next finished case reports it */
		return true;
	}
	if (message.kind != MESSAGE_CASE ||
	    case_result_from_json(&c, message.json, message.json_length, &err) != STATUS_OK)
		return false;
	while (index < plan->case_count && strcmp(plan->cases[index].id, c.id) != 0)
		index++;
	if (index == plan->case_count || done[index] || case_result_check(&c, &err) != STATUS_OK) {
		case_result_release(&c);
		return false;
	}
	done[index] = true;
	if (c.lost_count)
		journal_losses_release(
			lost); /* a journal of an earlier version: the case has them */
	else
		journal_losses_attach(lost, &c);
	if (cases)
		cases[index] = c;
	else
		case_result_release(&c);
	return true;
}

/* Returns the length of all that counts. `path` NULL: says nothing about what does not. */
static off_t journal_take_lines(const char *path, const struct plan *plan,
				const struct text *content, struct case_result *cases, bool *done,
				struct losses *lost)
{
	const char *at = (const char *)memchr(content->data, '\n', content->length) + 1;
	const char *end = content->data + content->length;

	while (at < end) {
		const char *stop = memchr(at, '\n', (size_t)(end - at));
		bool whole =
			stop && journal_take_line(plan, at, (size_t)(stop - at), cases, done, lost);

		if (!whole && (!stop || stop + 1 == end))
			break; /* torn: cut away */
		if (!whole && path)
			fprintf(stderr,
				"gpuproof: %s: skipped a damaged line; its case is repeated\n",
				path);
		at = stop + 1;
	}
	return at - content->data;
}

enum status journal_resume(struct journal *journal, const char *directory, const struct plan *plan,
			   struct result *header, struct case_result *cases, bool *done,
			   struct losses *lost, struct error *err)
{
	struct text content = TEXT_EMPTY;
	enum status status;

	*journal = (struct journal){ .fd = -1 };
	status = journal_open_locked(journal, directory, 0, err);
	if (status == STATUS_OK)
		status = journal_read_all(journal->fd, journal->path, &content, err);
	if (status == STATUS_OK)
		status = journal_parse_header(&content, journal->path, header, err);
	if (status == STATUS_OK && journal_same_plan(&content, header, plan, err) != STATUS_OK)
		status = error_prefix(err, "cannot resume %s", directory);
	if (status == STATUS_OK) {
		journal->size =
			journal_take_lines(journal->path, plan, &content, cases, done, lost);
		if (ftruncate(journal->fd, journal->size) != 0)
			status = error_errno(err, "%s", journal->path);
	}
	if (status != STATUS_OK)
		journal_close(journal);
	text_release(&content);
	return status;
}

enum status journal_read(const char *directory, const struct plan *plan, struct case_result *cases,
			 bool *done, struct error *err)
{
	struct text content = TEXT_EMPTY;
	struct result header = { 0 };
	struct losses lost = { 0 };
	enum status status = journal_read_run(directory, &content, &header, err);

	if (status == STATUS_OK)
		status = journal_same_plan(&content, &header, plan, err);
	if (status == STATUS_OK)
		journal_take_lines(NULL, plan, &content, cases, done, &lost);
	journal_losses_release(&lost);
	result_release(&header);
	text_release(&content);
	return status;
}

enum status journal_append(struct journal *journal, bool partial, const struct case_result *c,
			   const struct message *sent, struct error *err)
{
	struct text line = TEXT_EMPTY;

	if (sent) {
		text_add_bytes(&line, sent->line, sent->line_length);
		text_add(&line, "\n");
	} else {
		worker_message_add_case(&line, partial, c);
	}
	return journal_append_line(journal, &line, err);
}

enum status journal_append_lost(struct journal *journal, const struct lost_worker *lost,
				struct error *err)
{
	struct text line = TEXT_EMPTY;

	worker_message_add_lost(&line, lost);
	return journal_append_line(journal, &line, err);
}

void journal_close(struct journal *journal)
{
	if (journal->fd >= 0)
		close(journal->fd);
	free(journal->path);
	*journal = (struct journal){ .fd = -1 };
}

void journal_losses_add(struct losses *losses, struct lost_worker *lost)
{
	ARRAY_GROW(losses->items, losses->count, losses->capacity);
	losses->items[losses->count++] = *lost;
	memset(lost, 0, sizeof(*lost));
}

void journal_losses_attach(struct losses *losses, struct case_result *c)
{
	for (size_t i = 0; i < losses->count; i++)
		case_result_lose(c, &losses->items[i]);
	losses->count = 0;
}

void journal_losses_release(struct losses *losses)
{
	for (size_t i = 0; i < losses->count; i++)
		lost_worker_release(&losses->items[i]);
	free(losses->items);
	memset(losses, 0, sizeof(*losses));
}
