/*
 * CUDA's sample p2pBandwidthLatencyTest: matrices of bandwidths and latencies from the row's GPU to
 * the column's, with and without peer access. The diagonal is the GPU's own memory.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "import/reading.h"

#define MOST_GPUS 256

struct p2p {
	char names[MOST_GPUS][128], pci[MOST_GPUS][32];
	size_t listed, columns;                    /* columns 0: no matrix is open */
	size_t rows;                               /* that the open matrix has */
	bool wanted, both, reads, access, latency; /* of the matrix */
};

/* A matrix that another one or the end of the file cut off lacks rows. */
static void p2p_end_matrix(struct import *import, struct p2p *p)
{
	if (p->columns && p->rows < p->columns)
		import_incomplete(import, "a matrix has %zu rows of %zu", p->rows, p->columns);
	p->columns = p->rows = 0;
}

static enum status take_p2p_device(struct import *import, void *state, size_t line, char **v)
{
	struct p2p *p = state;
	size_t number = strtoul(v[0], NULL, 10);

	(void)import;
	(void)line;
	if (number >= MOST_GPUS)
		return STATUS_OK;
	snprintf(p->names[number], sizeof(p->names[0]), "%s", v[1]);
	snprintf(p->pci[number], sizeof(p->pci[0]), "%04lx:%02lx:%02lx",
		 strtoul(v[4], NULL, 16) & 0xffff, strtoul(v[2], NULL, 16) & 0xff,
		 strtoul(v[3], NULL, 16) & 0xff);
	p->listed = number >= p->listed ? number + 1 : p->listed;
	return STATUS_OK;
}

static enum status take_p2p_title(struct import *import, void *state, size_t line, char **v)
{
	struct p2p *p = state;

	(void)line;
	p2p_end_matrix(import, p);
	p->both = strncmp(v[0], "Bidirectional", 13) == 0;
	p->access = strstr(v[0], "P2P=Enabled") != NULL;
	p->reads = strstr(v[0], "(P2P Reads)") != NULL;
	p->latency = strstr(v[0], "Latency") != NULL;
	p->wanted = strstr(v[0], "P2P=") && strstr(v[0], " Matrix (");
	return STATUS_OK;
}

static enum status take_p2p_heading(struct import *import, void *state, size_t line, char **v)
{
	struct p2p *p = state;
	char *fields[MOST_GPUS];

	(void)line;
	p2p_end_matrix(import, p);
	p->columns = p->wanted ? import_fields(v[0], ' ', fields, MOST_GPUS) : 0;
	if (p->columns && strcmp(fields[0], "0") != 0) /* another program's words */
		p->columns = 0;
	return STATUS_OK;
}

static enum status take_p2p_of_cpu(struct import *import, void *state, size_t line, char **v)
{
	(void)line;
	(void)v;
	p2p_end_matrix(import, state);
	import_left_out(import, "latencies of the CPU's calls");
	return STATUS_OK;
}

static size_t p2p_device(struct import *import, const struct p2p *p, size_t number)
{
	const struct import_device d = { .backend = import_backend(p->names[number]),
					 .number = (int)number,
					 .name = p->names[number],
					 .pci = p->pci[number] };

	return import_device(import, &d);
}

static enum status add_p2p(struct import *import, const struct p2p *p, size_t line, size_t row,
			   size_t column, double value)
{
	const size_t devices[] = { p2p_device(import, p, row), p2p_device(import, p, column) };
	struct case_result *c =
		import_case(import, line, "transfer", devices, row == column ? 1 : 2);

	if (!c)
		return STATUS_USAGE;
	import_word(c, "tool", "p2pBandwidthLatencyTest");
	import_word(c, "direction",
		    row == column ? (p->both ? "local_both" : "local")
		    : p->both     ? (p->reads ? "p2p_read_both" : "p2p_both")
				  : (p->reads ? "p2p_read" : "p2p"));
	import_word(c, "access", p->access ? "on" : "off");
	c = import_named(import, c);
	import_metric(c, p->latency ? "transfer.latency" : "transfer.bandwidth",
		      p->latency ? "s" : "B/s", p->latency ? BETTER_LOWER : BETTER_HIGHER,
		      value * (p->latency ? 1e-6 : 1e9));
	if (value <= 0)
		import_failed(c, "p2pBandwidthLatencyTest measured %g", value);
	return STATUS_OK;
}

static enum status take_p2p_row(struct import *import, void *state, size_t line, char **v)
{
	struct p2p *p = state;
	char *fields[MOST_GPUS + 1];
	size_t row = strtoul(v[0], NULL, 10), count;
	enum status status = STATUS_OK;
	double value;

	if (!p->columns)
		return STATUS_OK;
	count = import_fields(v[1], ' ', fields, MOST_GPUS + 1);
	if (count != p->columns || row >= p->columns)
		return import_error(import, line,
				    "expected a number for each of the %zu columns, not %zu",
				    p->columns, count);
	p->rows++;
	for (size_t i = 0; status == STATUS_OK && i < count; i++) {
		if (strcmp(fields[i], "N/A") == 0)
			continue;
		if (!import_real(fields[i], &value))
			return import_error(import, line, "expected a number, not '%.40s'",
					    fields[i]);
		status = add_p2p(import, p, line, row, i, value);
	}
	return status;
}

static enum status take_p2p_any(struct import *import, void *state, size_t line, char **v)
{
	return strstr(v[0], " Matrix") ? take_p2p_title(import, state, line, v) : STATUS_OK;
}

static const struct import_rule p2p_lines[] = {
	{ "Device: %d, %t, pciBusID: %t, pciDeviceID: %t, pciDomainID:%w", take_p2p_device },
	{ "D\\D %r", take_p2p_heading },
	{ "GPU %r", take_p2p_heading },
	{ "CPU %r", take_p2p_of_cpu },
	{ "%d %r", take_p2p_row },
	{ "%r", take_p2p_any },
	{ NULL, NULL },
};

static enum status p2p_read(struct import *import)
{
	struct p2p *p = xcalloc(1, sizeof(*p));
	enum status status = import_lines(import, p2p_lines, p);

	p2p_end_matrix(import, p);
	import_tool(import, "CUDA's p2pBandwidthLatencyTest");
	free(p);
	return status;
}

const struct import_format import_p2p = {
	.name = "p2p-bandwidth-latency",
	.summary = "CUDA's sample p2pBandwidthLatencyTest > FILE",
	.marks = { "[P2P (Peer-to-Peer)", "Unidirectional P2P=", "Bidirectional P2P=",
		   "P2P=Enabled Latency", "P2P=Disabled Latency" },
	.silent = "size of its copies, samples, clocks, power, temperatures, wrong data, driver",
	.read = p2p_read,
};
