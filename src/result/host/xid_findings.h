/* Findings about Xid errors in the log of the kernel, before a run and after it. */
#ifndef GPUPROOF_RESULT_HOST_XID_FINDINGS_H
#define GPUPROOF_RESULT_HOST_XID_FINDINGS_H

#include "result/host/host_findings.h"

/*
 * One finding for each GPU with a PCI address: the Xid errors in the log and what to do about the
 * worst. A log that this user may not read is a note, once. `root` is the prefix of the log's
 * path, "" in production.
 */
void xid_findings(const char *root, const struct device_info *devices, size_t count,
		  finding_fn *add, void *context);

#endif
