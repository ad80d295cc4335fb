/*
 * CUDA's sample p2pBandwidthLatencyTest: matrices of bandwidth and latency from the row's GPU to
 * the column's, with and without peer access. The diagonal is the GPU's own memory.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "import/reading.h"

struct p2p {
	struct import_gpu gpus[IMPORT_GPUS];
	size_t columns, rows;                      /* of the open matrix; columns 0: none */
	bool wanted, both, reads, access, latency; /* of the matrix */
};

/* A matrix lacks rows if another matrix or the end of the file cut it off. */
static enum status p2p_end_matrix(struct import *import, void *state)
{
	struct p2p *p = state;

	if (p->columns && p->rows < p->columns)
		import_incomplete(import, "a matrix has %zu rows of %zu", p->rows, p->columns);
	p->columns = p->rows = 0;
	return STATUS_OK;
}

static enum status take_p2p_device(const struct import_line *l)
{
	struct p2p *p = l->state;
	size_t number = strtoul(l->v[0], NULL, 10);

	if (number >= IMPORT_GPUS)
		return STATUS_OK;
	snprintf(p->gpus[number].name, sizeof(p->gpus[0].name), "%s", l->v[1]);
	snprintf(p->gpus[number].pci, sizeof(p->gpus[0].pci), "%04lx:%02lx:%02lx",
		 strtoul(l->v[4], NULL, 16) & 0xffff, strtoul(l->v[2], NULL, 16) & 0xff,
		 strtoul(l->v[3], NULL, 16) & 0xff);
	return STATUS_OK;
}

static enum status take_p2p_heading(const struct import_line *l)
{
	struct p2p *p = l->state;
	char *fields[IMPORT_GPUS];

	p2p_end_matrix(l->import, p);
	p->columns = p->wanted ? import_fields(l->v[0], ' ', fields, IMPORT_GPUS) : 0;
	if (p->columns && strcmp(fields[0], "0") != 0) /* output of another program */
		p->columns = 0;
	return STATUS_OK;
}

static enum status take_p2p_of_cpu(const struct import_line *l)
{
	import_left_out(l->import, "latencies of the CPU's calls");
	return p2p_end_matrix(l->import, l->state);
}

static enum status add_p2p(const struct import_line *l, size_t row, size_t column, double value)
{
	const struct p2p *p = l->state;
	const size_t devices[] = { import_listed_gpu(l->import, p->gpus, row),
				   import_listed_gpu(l->import, p->gpus, column) };
	const char *direction = row == column ? (p->both ? "local_both" : "local")
				: p->both     ? (p->reads ? "p2p_read_both" : "p2p_both")
					      : (p->reads ? "p2p_read" : "p2p");
	struct case_result *c =
		import_case(l->import, l->number, "transfer", devices, row == column ? 1 : 2,
			    WORDS("tool", "p2pBandwidthLatencyTest", "direction", direction,
				  "access", p->access ? "on" : "off"));

	if (!c)
		return STATUS_USAGE;
	c = import_named(l->import, c);
	if (p->latency)
		import_metric(c, "transfer.latency", "s", BETTER_LOWER, value * 1e-6);
	else
		import_metric(c, "transfer.bandwidth", "B/s", BETTER_HIGHER, value * 1e9);
	if (value <= 0)
		import_failed(c, "p2pBandwidthLatencyTest measured %g", value);
	return STATUS_OK;
}

static enum status take_p2p_row(const struct import_line *l)
{
	struct p2p *p = l->state;
	char *fields[IMPORT_GPUS + 1];
	size_t row = strtoul(l->v[0], NULL, 10), count;
	enum status status = STATUS_OK;
	double value;

	if (!p->columns)
		return STATUS_OK;
	count = import_fields(l->v[1], ' ', fields, IMPORT_GPUS + 1);
	if (count != p->columns || row >= p->columns)
		return import_error(l->import, l->number,
				    "expected a number for each of the %zu columns, not %zu",
				    p->columns, count);
	p->rows++;
	for (size_t i = 0; status == STATUS_OK && i < count; i++) {
		if (strcmp(fields[i], "N/A") == 0)
			continue;
		if (!import_real(fields[i], &value))
			return import_error(l->import, l->number, "expected a number, not '%.40s'",
					    fields[i]);
		status = add_p2p(l, row, i, value);
	}
	return status;
}

static enum status take_p2p_title(const struct import_line *l)
{
	struct p2p *p = l->state;
	const char *title = l->v[0];

	if (!strstr(title, " Matrix"))
		return STATUS_OK;
	p2p_end_matrix(l->import, p);
	p->both = strncmp(title, "Bidirectional", 13) == 0;
	p->access = strstr(title, "P2P=Enabled") != NULL;
	p->reads = strstr(title, "(P2P Reads)") != NULL;
	p->latency = strstr(title, "Latency") != NULL;
	p->wanted = strstr(title, "P2P=") && strstr(title, " Matrix (");
	return STATUS_OK;
}

static const struct import_rule p2p_lines[] = {
	{ "Device: %d, %t, pciBusID: %t, pciDeviceID: %t, pciDomainID:%w", take_p2p_device },
	{ "D\\D %r", take_p2p_heading },
	{ "GPU %r", take_p2p_heading },
	{ "CPU %r", take_p2p_of_cpu },
	{ "%d %r", take_p2p_row },
	{ "%r", take_p2p_title },
	{ 0 },
};

const struct import_format import_p2p = {
	.name = "p2p-bandwidth-latency",
	.summary = "CUDA's sample p2pBandwidthLatencyTest > FILE",
	.marks = { "[P2P (Peer-to-Peer)", "Unidirectional P2P=", "Bidirectional P2P=",
		   "P2P=Enabled Latency", "P2P=Disabled Latency" },
	.silent = "size of its copies, samples, clocks, power, temperatures, wrong data, driver",
	.tool = "CUDA's p2pBandwidthLatencyTest",
	.rules = p2p_lines,
	.state_bytes = sizeof(struct p2p),
	.finish = p2p_end_matrix,
};
