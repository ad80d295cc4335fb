/*
 * Errors are values. A function that can fail returns `enum status` and takes
 * a `struct error *` from its caller's stack. The first error wins: a later
 * error_set() on the same struct keeps the first message, so clean-up code may
 * fail without hiding the cause.
 *
 *	struct error err = ERROR_NONE;
 *	if (thing_open(&thing, path, &err) != STATUS_OK)
 *		fprintf(stderr, "gpuproof: %s\n", err.message);
 *
 * A message names file:line, key, value and what is allowed; a device error
 * names the call and the library's own error name. It is UTF-8 that a terminal shows as it is,
 * whatever it quotes, also where a quotation was cut.
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
	STATUS_UNSUPPORTED, /* this device or machine cannot do it: a case SKIPs */
	STATUS_NO_MEMORY,   /* the device or host has not enough memory */
	STATUS_DEVICE,      /* a device call failed */
	STATUS_IO,          /* a file, pipe or other OS call failed */
	STATUS_TIMEOUT,     /* something took longer than its limit */
	STATUS_MISMATCH,    /* a wrong numerical result: a case FAILs */
	STATUS_INTERRUPTED, /* the user asked to stop */
	STATUS_INTERNAL,    /* a bug in gpuproof */
	STATUS_CRASHED,     /* a process that was to do it died */
	STATUS_LOST         /* another rank or node has gone; it knows why */
};

struct error {
	enum status status;
	int rank; /* 1 + the rank that it happened on, of a world (measure/processes/world.h); 0:
		     unknown, or there is none */
	char message[1024];
};

#define ERROR_NONE               \
	{                        \
		STATUS_OK, 0, "" \
	}

/* Sets `err` unless it holds an error already (or is NULL); returns `status`. */
enum status error_set(struct error *err, enum status status, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

enum status error_va(struct error *err, enum status status, const char *format, va_list ap)
	__attribute__((format(printf, 3, 0)));

/* Puts "context: " before the message of `err`; returns err->status. */
enum status error_prefix(struct error *err, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* error_set(STATUS_IO, "<what>: <strerror(errno)>"). */
enum status error_errno(struct error *err, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Sets `err`, as error_set() does, to what `from` is. */
enum status error_copy(struct error *err, const struct error *from);

void error_clear(struct error *err);

/* True if what is done on the device may hang or crash from now on. */
bool status_loses_device(enum status status);

/* "OK", "USAGE", ...: for messages and tests. */
const char *status_name(enum status status);

#ifdef __cplusplus
}
#endif

#endif
