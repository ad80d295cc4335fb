/*
 * Errors as values. A function that can fail returns `enum status` and takes a `struct error *`
 * from its caller's stack. The first error wins: a later error_set() on the same struct keeps the
 * first message, so clean-up code may fail without hiding the cause.
 *
 *	struct error err = ERROR_NONE;
 *	if (thing_open(&thing, path, &err) != STATUS_OK)
 *		fprintf(stderr, "gpuproof: %s\n", err.message);
 *
 * A message names file:line, key, value and what is allowed; a device error names the call and the
 * library's own error name. Messages are UTF-8 text that is safe on a terminal, even where quoted
 * text was truncated.
 */
#ifndef GPUPROOF_BASE_ERROR_H
#define GPUPROOF_BASE_ERROR_H

#include <stdarg.h>
#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

enum status {
	STATUS_OK = 0,
	STATUS_USAGE,       /* the user's input is wrong; nothing ran */
	STATUS_UNSUPPORTED, /* this device or machine does not support it: a case is SKIPPED */
	STATUS_NO_MEMORY,   /* not enough memory on the device or host */
	STATUS_DEVICE,      /* a device call failed */
	STATUS_IO,          /* a file, pipe or other OS call failed */
	STATUS_TIMEOUT,     /* a time limit was exceeded */
	STATUS_MISMATCH,    /* a wrong numerical result: a case FAILED */
	STATUS_INTERRUPTED, /* the user requested a stop */
	STATUS_INTERNAL,    /* a bug in gpuproof */
	STATUS_CRASHED,     /* the process that should do it died */
	STATUS_LOST         /* another rank or node has gone and knows the reason */
};

struct error {
	enum status status;
	/*
	 * 1 + the rank on which it happened, in a world (measure/processes/world.h); 0: unknown, or
	 * no world
	 */
	int rank;
	char message[1024];
};

#define ERROR_NONE               \
	{                        \
		STATUS_OK, 0, "" \
	}

/* Sets `err` unless it has an error already (or is NULL); returns `status`. */
enum status error_set(struct error *err, enum status status, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

enum status error_va(struct error *err, enum status status, const char *format, va_list ap)
	__attribute__((format(printf, 3, 0)));

/* Prepends "context: " to the message of `err`; returns err->status. */
enum status error_prefix(struct error *err, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* error_set(STATUS_IO, "<what>: <strerror(errno)>"). */
enum status error_errno(struct error *err, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Sets `err` to the content of `from`, as error_set() does. */
enum status error_copy(struct error *err, const struct error *from);

void error_clear(struct error *err);

/* True if later operations on the device may hang or crash. */
bool status_loses_device(enum status status);

/* "OK", "USAGE", ...: for messages and tests. */
const char *status_name(enum status status);

#ifdef __cplusplus
}
#endif

#endif
