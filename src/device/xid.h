/* Xid errors, which NVIDIA's driver reports by number: what happened, and what to do. */
#ifndef GPUPROOF_DEVICE_XID_H
#define GPUPROOF_DEVICE_XID_H

#include <stdbool.h>
#include <stdint.h>

/* From the least severe on. */
enum xid_kind {
	XID_NOTICE,      /* no action of its own; it may follow another Xid */
	XID_APPLICATION, /* restart the application, which may be at fault */
	XID_UNKNOWN,
	XID_SOFTWARE,   /* driver or firmware */
	XID_MECHANICAL, /* cables and power */
	XID_LINK,
	XID_RESET,
	XID_MEMORY, /* uncorrected ECC error */
	XID_NODE    /* restart the node */
};

enum xid_kind xid_kind(int64_t number);
const char *xid_meaning(int64_t number); /* a clause; "" for one that the catalogue does not have */
const char *xid_action(int64_t number);  /* a sentence */
/* The worse one; negative numbers are unknown. */
int64_t xid_worse(int64_t a, int64_t b);
/*
 * The number and the PCI address ("0000:3b:00") of a line of the kernel log, such as "NVRM: Xid
 * (PCI:0000:3b:00): 79, ..."; false for other lines.
 */
bool xid_parse(const char *line, int64_t *number, char *pci, int pci_size);

#endif
