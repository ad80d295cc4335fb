#include "result/host/host_findings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/memory.h"
#include "base/text.h"
#include "device/xid.h"
#include "result/host/kernel_log.h"

#define MOST_NUMBERS 8 /* that a finding names */

/* The Xid errors of one GPU, each number once. */
struct xid_tally {
	int64_t numbers[MOST_NUMBERS], worst;
	size_t counts[MOST_NUMBERS], count, total;
};

/* Addresses in the log lack the function: "0000:3b:00" of "0000:3b:00.0". */
static void xid_findings_tally_log(struct xid_tally *t, const char *log, const char *pci)
{
	char address[32];
	int64_t number;

	for (const char *line = log; line && *line; line = strchr(line, '\n')) {
		char *own;

		line += *line == '\n';
		own = xasprintf("%.*s", (int)strcspn(line, "\n"), line);
		if (xid_parse(own, &number, address, sizeof(address)) &&
		    strncasecmp(pci, address, strlen(address)) == 0 && *address) {
			size_t i = 0;

			while (i < t->count && t->numbers[i] != number)
				i++;
			if (i < MOST_NUMBERS) {
				t->numbers[i] = number;
				t->counts[i]++;
				t->count += i == t->count;
			}
			t->worst = xid_worse(t->worst, number);
			t->total++;
		}
		free(own);
	}
}

static void xid_finding(const struct device_info *device, const struct xid_tally *t,
			bool since_boot, finding_fn *add, void *context)
{
	struct finding f = { .severity = t->total ? SEVERITY_NOTE : SEVERITY_OK };
	struct text text = TEXT_EMPTY;
	const char *meaning = xid_meaning(t->worst);

	/* An application's fault does not harm the GPU. Files may describe a former GPU. */
	if (t->total && since_boot && xid_kind(t->worst) > XID_APPLICATION)
		f.severity = SEVERITY_WARNING;
	finding_set_device(&f, FINDING_XID, device->id);
	if (!t->total)
		text_add(&text, "no Xid error in the kernel log");
	else
		text_addf(&text, "%zu Xid error%s in the kernel log: ", t->total,
			  text_plural(t->total));
	for (size_t i = 0; i < t->count; i++) {
		text_addf(&text, "%s%lld", i ? ", " : "", (long long)t->numbers[i]);
		if (t->counts[i] > 1)
			text_addf(&text, " (%zu times)", t->counts[i]);
	}
	if (t->total)
		text_addf(&text, ". Xid %lld%s%s. %s", (long long)t->worst, *meaning ? ": " : "",
			  meaning, xid_action(t->worst));
	snprintf(f.text, sizeof(f.text), "%s", text.data);
	text_release(&text);
	add(context, &f);
}

void xid_findings(const char *root, const struct device_info *devices, size_t count,
		  finding_fn *add, void *context)
{
	struct text log = TEXT_EMPTY;
	struct finding unread = { .severity = SEVERITY_NOTE };
	size_t gpus = 0;
	const char *read;

	for (size_t i = 0; i < count; i++)
		gpus += devices[i].pci[0] != '\0';
	if (!gpus)
		return;
	read = kernel_log_read(root, NULL, 0, &log);
	for (size_t i = 0; read && i < count; i++) {
		struct xid_tally t = { 0 };

		if (!devices[i].pci[0])
			continue;
		xid_findings_tally_log(&t, log.data, devices[i].pci);
		xid_finding(&devices[i], &t, strcmp(read, "/dev/kmsg") == 0, add, context);
	}
	text_release(&log);
	if (read)
		return;
	finding_set_subject(&unread, FINDING_XID, "");
	snprintf(unread.text, sizeof(unread.text),
		 "this user cannot read the kernel log, so Xid errors before the run are unknown");
	add(context, &unread);
}
