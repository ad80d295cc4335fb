#include "base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

enum status error_va(struct error *err, enum status status, const char *format, va_list ap)
{
	if (err && err->status == STATUS_OK) {
		err->status = status;
		vsnprintf(err->message, sizeof(err->message), format, ap);
		text_mend(err->message);
	}
	return status;
}

enum status error_set(struct error *err, enum status status, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	error_va(err, status, format, ap);
	va_end(ap);
	return status;
}

enum status error_prefix(struct error *err, const char *format, ...)
{
	char old[sizeof(err->message)];
	char context[sizeof(err->message)];
	va_list ap;

	if (!err)
		return STATUS_INTERNAL;
	memcpy(old, err->message, sizeof(old));
	va_start(ap, format);
	vsnprintf(context, sizeof(context), format, ap);
	va_end(ap);
	snprintf(err->message, sizeof(err->message), "%.400s: %.600s", context, old);
	text_mend(err->message);
	return err->status;
}

enum status error_errno(struct error *err, const char *format, ...)
{
	int saved = errno;
	char what[512];
	va_list ap;

	va_start(ap, format);
	vsnprintf(what, sizeof(what), format, ap);
	va_end(ap);
	return error_set(err, STATUS_IO, "%s: %s", what, strerror(saved));
}

enum status error_copy(struct error *err, const struct error *from)
{
	if (err && err->status == STATUS_OK)
		*err = *from;
	return from->status;
}

void error_clear(struct error *err)
{
	err->status = STATUS_OK;
	err->rank = 0;
	err->message[0] = '\0';
}

bool status_loses_device(enum status status)
{
	return status == STATUS_DEVICE || status == STATUS_TIMEOUT || status == STATUS_INTERNAL ||
	       status == STATUS_CRASHED || status == STATUS_LOST;
}

const char *status_name(enum status status)
{
	static const char *const names[] = {
		[STATUS_OK] = "OK",
		[STATUS_USAGE] = "USAGE",
		[STATUS_UNSUPPORTED] = "UNSUPPORTED",
		[STATUS_NO_MEMORY] = "NO_MEMORY",
		[STATUS_DEVICE] = "DEVICE",
		[STATUS_IO] = "IO",
		[STATUS_TIMEOUT] = "TIMEOUT",
		[STATUS_MISMATCH] = "MISMATCH",
		[STATUS_INTERRUPTED] = "INTERRUPTED",
		[STATUS_INTERNAL] = "INTERNAL",
		[STATUS_CRASHED] = "CRASHED",
		[STATUS_LOST] = "LOST",
	};

	return (size_t)status < sizeof(names) / sizeof(names[0]) ? names[status] : "UNKNOWN";
}
