/* Lines about GPUs in the log of the kernel: what its driver said, Xid errors for one. */
#ifndef GPUPROOF_RESULT_HOST_KERNEL_LOG_H
#define GPUPROOF_RESULT_HOST_KERNEL_LOG_H

#include "base/error.h"
#include "base/text.h"

/*
 * Appends the lines of the log since boot that name the driver or one of the `count` PCI addresses
 * ("0000:3b:00.0"). `root` is put before the paths of the log, "" for this machine. Returns which
 * file was read; NULL: none can be read.
 */
const char *kernel_log_read(const char *root, const char *const *pci, size_t count,
			    struct text *out);

#endif
