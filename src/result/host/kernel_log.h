/* Kernel log lines about GPUs: messages of the driver, such as Xid errors. */
#ifndef GPUPROOF_RESULT_HOST_KERNEL_LOG_H
#define GPUPROOF_RESULT_HOST_KERNEL_LOG_H

#include "base/error.h"
#include "base/text.h"

/*
 * Appends the log lines since boot that name the driver or one of the `count` PCI addresses
 * ("0000:3b:00.0"). `root`: prefix of the log's paths, "" for this machine. Returns the file that
 * was read; NULL: none is readable.
 */
const char *kernel_log_read(const char *root, const char *const *pci, size_t count,
			    struct text *out);

#endif
