#include "device/xid.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

static const struct {
	int number;
	enum xid_kind kind;
	const char *meaning;
} xids[] = {
#define XID(number, kind, meaning) { number, XID_##kind, meaning },
#include "device/xid.def"
#undef XID
};

static const char *const actions[] = {
	[XID_NOTICE] = "This Xid needs no action. Look at the Xid errors before and after it.",
	[XID_APPLICATION] = "Restart the application. If another application gets the error, too, "
			    "check the GPU.",
	[XID_UNKNOWN] = "Look the number up in NVIDIA's Xid catalogue.",
	[XID_SOFTWARE] = "Update driver and firmware.",
	[XID_MECHANICAL] = "Check that power cables and connectors are seated.",
	[XID_LINK] = "Check nvidia-smi nvlink -s and -e, seating and the fabric manager; reset the "
		     "GPU, and return it if the error comes back.",
	[XID_RESET] = "Reset the GPU; return it if the error comes back.",
	[XID_MEMORY] = "Drain the node and reset the GPU; return it if the error comes back or a "
		       "row remapping fails.",
	[XID_NODE] = "Drain and restart the node, reseat the GPU; return it if the error comes "
		     "back."
};

static size_t xid_index(int64_t number)
{
	size_t i = 0;

	while (i < ARRAY_SIZE(xids) && xids[i].number != number)
		i++;
	return i;
}

enum xid_kind xid_kind(int64_t number)
{
	size_t i = xid_index(number);

	return i < ARRAY_SIZE(xids) ? xids[i].kind : XID_UNKNOWN;
}

const char *xid_meaning(int64_t number)
{
	size_t i = xid_index(number);

	return i < ARRAY_SIZE(xids) ? xids[i].meaning : "";
}

const char *xid_action(int64_t number)
{
	return actions[xid_kind(number)];
}

int64_t xid_worse(int64_t a, int64_t b)
{
	if (a <= 0 || b <= 0)
		return a > b ? a : b;
	return xid_kind(b) > xid_kind(a) ? b : a;
}

bool xid_parse(const char *line, int64_t *number, char *pci, int pci_size)
{
	const char *at = strstr(line, "NVRM: Xid ("), *end;

	if (!at)
		return false;
	at += strlen("NVRM: Xid (");
	at += strncmp(at, "PCI:", 4) == 0 ? 4 : 0;
	end = strstr(at, "): ");
	if (!end)
		return false;
	*number = strtoll(end + 3, NULL, 10);
	snprintf(pci, (size_t)pci_size, "%.*s", (int)(end - at), at);
	return *number > 0;
}
