#include "suites/command/expect.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/hash/sha256.h"
#include "base/units.h"
#include "measure/processes/child.h"
#include "suites/command/patterns.h"

/* File systems store time in ticks of up to 10 ms, some in coarser ones. */
#define FILE_TICK_SECONDS 0.02

struct timespec expect_time(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return now;
}

static double seconds_between(struct timespec from, struct timespec to)
{
	return (double)(to.tv_sec - from.tv_sec) + 1e-9 * (double)(to.tv_nsec - from.tv_nsec);
}

static enum status expect_exit(const struct starts *s, const struct program_end *end,
			       struct error *err)
{
	int64_t wanted = section_integer(s->run->c->section, "exit_code");
	char how[96], limit[32];

	if (end->timed_out)
		return error_set(err, STATUS_IO, "killed with its children after timeout = %s",
				 units_duration(s->program.timeout_seconds, limit, sizeof(limit)));
	if (WIFSIGNALED(end->wait_status))
		return error_set(err, STATUS_IO, "%s",
				 child_ending(end->wait_status, how, sizeof(how)));
	if (WEXITSTATUS(end->wait_status) != wanted)
		return error_set(err, STATUS_MISMATCH, "%s; expected %lld",
				 child_ending(end->wait_status, how, sizeof(how)),
				 (long long)wanted);
	return STATUS_OK;
}

static enum status expect_hash_file(int fd, char digest[SHA256_DIGITS + 1], struct error *err)
{
	struct sha256 hash;
	char piece[65536];
	ssize_t got;

	sha256_begin(&hash);
	while ((got = read(fd, piece, sizeof(piece))) > 0)
		sha256_add(&hash, piece, (size_t)got);
	sha256_end(&hash, digest);
	return got < 0 ? error_errno(err, "output") : STATUS_OK;
}

/* A regular file written by this start; one of an earlier start does not count. */
static enum status expect_hash_output(const struct starts *s, struct timespec began,
				      char digest[SHA256_DIGITS + 1], struct error *err)
{
	char *path = *s->output == '/' ? xstrdup(s->output)
				       : xasprintf("%s/%s", s->directory, s->output);
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat about;

	if (fd < 0 || fstat(fd, &about) != 0)
		error_errno(err, "output %.200s", path);
	else if (!S_ISREG(about.st_mode))
		error_set(err, STATUS_MISMATCH, "output %.200s is not a file", path);
	else if (seconds_between(about.st_mtim, began) > FILE_TICK_SECONDS)
		error_set(err, STATUS_MISMATCH, "this start did not write output %.200s", path);
	else
		expect_hash_file(fd, digest, err);
	if (fd >= 0)
		close(fd);
	free(path);
	return err->status;
}

static enum status expect_sha256(const struct starts *s, const struct program_end *end,
				 struct timespec began, struct error *err)
{
	const char *wanted = section_text(s->run->c->section, "sha256");
	char digest[SHA256_DIGITS + 1] = "";
	struct sha256 hash;

	if (!*wanted)
		return STATUS_OK;
	if (*s->output) {
		if (expect_hash_output(s, began, digest, err) != STATUS_OK)
			return err->status;
	} else if (end->output.bytes > end->output.kept.length) {
		return error_set(err, STATUS_MISMATCH,
				 "standard output is too long for a "
				 "SHA-256");
	} else {
		sha256_begin(&hash);
		sha256_add(&hash, end->output.kept.data, end->output.kept.length);
		sha256_end(&hash, digest);
	}
	if (strcmp(digest, wanted) != 0)
		return error_set(err, STATUS_MISMATCH,
				 "the SHA-256 of %.200s is %s; expected "
				 "%s",
				 *s->output ? s->output : "standard output", digest, wanted);
	return STATUS_OK;
}

enum status expect_end(const struct starts *s, const struct program_end *end, struct timespec began,
		       struct error *err)
{
	const char *text = end->output.kept.data ? end->output.kept.data : "";

	if (expect_exit(s, end, err) != STATUS_OK)
		return err->status;
	if (*s->expect && !pattern_matches(s->expect, text))
		return error_set(err, STATUS_MISMATCH,
				 "standard output does not match expect "
				 "= %.200s",
				 s->expect);
	return expect_sha256(s, end, began, err);
}
