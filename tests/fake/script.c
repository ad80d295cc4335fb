#include "script.h"

#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/text.h"
#include "base/units.h"
#include "../fixtures/random.h"

enum deed {
	DEED_NONE,
	DEED_ERROR,
	DEED_FAIL,
	DEED_SEGFAULT,
	DEED_ABORT,
	DEED_EXIT,
	DEED_HANG,
	DEED_HOLD
};
static const char *const deeds[] = { "",      "error", "fail", "segfault",
				     "abort", "exit",  "hang", "hold" };

/* One per process, as the device it stands for. */
static struct {
	enum deed deed;
	char operation[32]; /* "": any */
	long turn, calls;
	char once[PATH_MAX], until[PATH_MAX];
	char rows[PATH_MAX];
	struct script_calls *shared; /* NULL: each process counts its own */
	bool broken;                 /* after DEED_ERROR */
} plot;

static struct script now = { .slow = -1, .wrong = -1, .reset = -1, .level = 1 };

static bool read_deed(const char *word)
{
	const char *at = strchr(word, '@'), *colon;

	if (!at)
		return false;
	for (size_t i = 1; i < ARRAY_SIZE(deeds); i++)
		if (strlen(deeds[i]) == (size_t)(at - word) &&
		    strncmp(deeds[i], word, (size_t)(at - word)) == 0)
			plot.deed = (enum deed)i;
	if (!plot.deed)
		return false;
	at++;
	colon = strchr(at, ':');
	plot.turn = strtol(colon ? colon + 1 : at, NULL, 10);
	if (plot.turn == 0 || colon)
		snprintf(plot.operation, sizeof(plot.operation), "%.*s", (int)strcspn(at, ":"), at);
	if (plot.turn == 0)
		plot.turn = 1;
	return true;
}

static enum status share_calls(const char *path, struct error *err)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);
	void *shared = fd < 0 ? MAP_FAILED
			      : mmap(NULL, sizeof(*plot.shared), PROT_READ | PROT_WRITE, MAP_SHARED,
				     fd, 0);

	if (fd >= 0)
		close(fd);
	if (shared == MAP_FAILED)
		return error_errno(err, "GPUPROOF_FAKE: %s", path);
	plot.shared = shared;
	return STATUS_OK;
}

static enum status read_capability(struct script *script, const char *word, struct error *err)
{
	int major, minor;

	if (sscanf(word, "%d.%d", &major, &minor) != 2)
		return error_set(err, STATUS_USAGE, "GPUPROOF_FAKE: capability '%s'?", word);
	script->capability = major * 10 + minor;
	return STATUS_OK;
}

static enum status read_slow(struct script *script, const char *word, struct error *err)
{
	const char *colon = strchr(word, ':');

	script->slow = atoi(word);
	return units_parse_percent(colon ? colon + 1 : "", &script->slowness, err);
}

static unsigned long repetition(void)
{
	const char *text = getenv("GPUPROOF_LAUNCH");
	unsigned long n = text ? strtoul(text, NULL, 10) : 0;

	return n ? n : 1;
}

/* The percentage in front of a colon. */
static enum status read_share(const char *word, double *share, struct error *err)
{
	char text[32];

	snprintf(text, sizeof(text), "%.*s", (int)strcspn(word, ":"), word);
	return units_parse_percent(text, share, err);
}

/* "2%:7": this repetition's level by a normal number. */
static enum status read_between(struct script *script, const char *word, struct error *err)
{
	const char *colon = strchr(word, ':');
	double deviation, z = 0;

	if (read_share(word, &deviation, err) != STATUS_OK)
		return err->status;
	seed = colon ? strtoull(colon + 1, NULL, 10) : 1;
	for (unsigned long n = repetition(); n > 0; n--)
		z = normal();
	script->level *= exp(deviation * z);
	return STATUS_OK;
}

/* "30%:0.3:7": this repetition's level in one of two states. */
static enum status read_two_states(struct script *script, const char *word, struct error *err)
{
	const char *share = strchr(word, ':'), *second = share ? strchr(share + 1, ':') : NULL;
	double longer, at = 1;

	if (read_share(word, &longer, err) != STATUS_OK)
		return err->status;
	seed = second ? strtoull(second + 1, NULL, 10) : 1;
	for (unsigned long n = repetition(); n > 0; n--)
		at = uniform();
	script->level *= at < (share ? strtod(share + 1, NULL) : 0.5) ? 1 + longer : 1;
	return STATUS_OK;
}

static enum status read_word(struct script *script, const char *word, struct error *err)
{
	if (text_starts_with(word, "memory=")) {
		script->own_memory = true;
		return units_parse_size(word + 7, &script->memory_bytes, err);
	}
	if (text_starts_with(word, "devices="))
		script->devices = atoi(word + 8);
	else if (text_starts_with(word, "capability="))
		return read_capability(script, word + 11, err);
	else if (text_starts_with(word, "watts="))
		script->watts = strtod(word + 6, NULL);
	else if (text_starts_with(word, "busy_watts="))
		script->busy_watts = strtod(word + 11, NULL);
	else if (text_starts_with(word, "power="))
		return units_parse_percent(word + 6, &script->power, err);
	else if (text_starts_with(word, "blind="))
		return units_parse_duration(word + 6, &script->blind, err);
	else if (text_starts_with(word, "counter="))
		script->no_counter = strcmp(word + 8, "off") == 0;
	else if (text_starts_with(word, "noise="))
		return units_parse_percent(word + 6, &script->noise, err);
	else if (text_starts_with(word, "between="))
		return read_between(script, word + 8, err);
	else if (text_starts_with(word, "two="))
		return read_two_states(script, word + 4, err);
	else if (text_starts_with(word, "slow="))
		return read_slow(script, word + 5, err);
	else if (text_starts_with(word, "wrong="))
		script->wrong = atoi(word + 6);
	else if (text_starts_with(word, "reset="))
		script->reset = atoi(word + 6);
	else if (text_starts_with(word, "vbios="))
		snprintf(script->vbios, sizeof(script->vbios), "%.31s", word + 6);
	else if (text_starts_with(word, "rows="))
		snprintf(plot.rows, sizeof(plot.rows), "%s", word + 5);
	else if (text_starts_with(word, "once="))
		snprintf(plot.once, sizeof(plot.once), "%s", word + 5);
	else if (text_starts_with(word, "until="))
		snprintf(plot.until, sizeof(plot.until), "%s", word + 6);
	else if (text_starts_with(word, "calls="))
		return share_calls(word + 6, err);
	else if (text_starts_with(word, "clock="))
		script->host_clock = strcmp(word + 6, "host") == 0;
	else if (!read_deed(word))
		return error_set(err, STATUS_USAGE, "GPUPROOF_FAKE: '%s'?", word);
	return STATUS_OK;
}

enum status script_read(struct script *script, struct error *err)
{
	const char *source = getenv("GPUPROOF_FAKE");
	char *copy = xstrdup(source ? source : ""), *rest = copy, *word;
	enum status status = STATUS_OK;

	*script = (struct script){ .devices = 1,
				   .memory_bytes = UINT64_C(1) << 30,
				   .slow = -1,
				   .wrong = -1,
				   .reset = -1,
				   .level = 1 };
	memset(&plot, 0, sizeof(plot));
	while (status == STATUS_OK && (word = strsep(&rest, " ")))
		if (*word)
			status = read_word(script, word, err);
	free(copy);
	now = *script;
	return status;
}

const struct script *script_now(void)
{
	return &now;
}

int script_rows(void)
{
	FILE *f = plot.rows[0] ? fopen(plot.rows, "r+") : NULL;
	int rows = 0;

	if (!f)
		return -1;
	if (fscanf(f, "%d", &rows) == 1) {
		rewind(f);
		fprintf(f, "%d\n", rows + 1);
	}
	fclose(f);
	return rows;
}

static bool turn_has_come(const char *operation, bool heeded)
{
	int fd;

	if (plot.operation[0] && strcmp(plot.operation, operation) != 0)
		return false;
	plot.calls = plot.shared
			     ? (long)__atomic_add_fetch(&plot.shared->count, 1, __ATOMIC_RELAXED)
			     : plot.calls + 1;
	if (!plot.deed || plot.calls != plot.turn)
		return false;
	if (plot.shared)
		snprintf(plot.shared->failed_call, sizeof(plot.shared->failed_call), "%s%s",
			 heeded ? "" : "unheeded:", operation);
	if (!plot.once[0])
		return true;
	fd = open(plot.once, O_CREAT | O_EXCL | O_WRONLY, 0666);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

enum status script_call(const char *operation, struct error *err)
{
	if (turn_has_come(operation, err != NULL)) {
		switch (plot.deed) {
		case DEED_SEGFAULT:
			signal(SIGSEGV, SIG_DFL); /* a sanitizer would make an exit code of it */
			raise(SIGSEGV);
			break;
		case DEED_ABORT:
			abort();
		case DEED_EXIT:
			exit(3);
		case DEED_HANG:
			for (;;)
				pause();
		case DEED_HOLD:
			while (access(plot.until, F_OK) != 0)
				usleep(1000);
			break;
		case DEED_FAIL:
			return error_set(err, STATUS_DEVICE, "fake %s: FAKE_ERROR_ONCE", operation);
		default:
			plot.broken = true;
		}
	}
	if (plot.broken)
		return error_set(err, STATUS_DEVICE, "fake %s: FAKE_ERROR_STICKY", operation);
	return STATUS_OK;
}
