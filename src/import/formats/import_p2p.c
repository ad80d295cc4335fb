/*
 * CUDA's sample p2pBandwidthLatencyTest: matrices of bandwidth and latency from the row's GPU to
 * the column's, with and without peer access. The diagonal is the GPU's own memory.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "import/reading.h"

struct p2p {
	size_t columns, rows;                      /* of the open matrix; columns 0: none */
	bool wanted, both, reads, access, latency; /* of the matrix */
};

/* A matrix lacks rows if another matrix or the end of the file cut it off. */
static void p2p_end_matrix(struct import *import)
{
	struct p2p *p = import->state;

	if (p->columns && p->rows < p->columns)
		building_incomplete(import, "a matrix has only %zu of %zu rows", p->rows,
				    p->columns);
	p->columns = p->rows = 0;
}

static void take_p2p_device(struct import *import)
{
	char **v = import->v;
	size_t number = strtoul(v[0], NULL, 10);

	if (number >= IMPORT_GPUS)
		return;
	snprintf(import->gpus[number].name, sizeof(import->gpus[0].name), "%s", v[1]);
	snprintf(import->gpus[number].pci, sizeof(import->gpus[0].pci), "%04lx:%02lx:%02lx",
		 strtoul(v[4], NULL, 16) & 0xffff, strtoul(v[2], NULL, 16) & 0xff,
		 strtoul(v[3], NULL, 16) & 0xff);
}

static void take_p2p_heading(struct import *import)
{
	struct p2p *p = import->state;

	p2p_end_matrix(import);
	if (p->wanted && lines_row(import, import->v[0], ' ', IMPORT_GPUS) &&
	    strcmp(import->fields[0], "0") == 0) /* else output of another program */
		p->columns = import->field_count;
}

static void take_p2p_of_cpu(struct import *import)
{
	building_left_out(import, "latencies of CPU calls");
	p2p_end_matrix(import);
}

static void add_p2p(struct import *import, size_t row, size_t column, double value)
{
	static const char *const directions[2][3] = {
		{ "local", "p2p", "p2p_read" }, { "local_both", "p2p_both", "p2p_read_both" }
	};
	const struct p2p *p = import->state;
	const size_t devices[] = { building_gpu(import, row), building_gpu(import, column) };
	struct case_result *c = building_case(
		import, "transfer", devices, row == column ? 1 : 2,
		PARAMETERS(WORD("tool", "p2pBandwidthLatencyTest"),
			   WORD("direction", directions[p->both][row == column ? 0 : 1 + p->reads]),
			   WORD("access", p->access ? "on" : "off")));

	if (p->latency)
		building_metric(c, "transfer.latency", "s", value * 1e-6);
	else
		building_metric(c, "transfer.bandwidth", "B/s", value * 1e9);
	if (value <= 0)
		import_failed(c, "p2pBandwidthLatencyTest measured %g", value);
}

static void take_p2p_row(struct import *import)
{
	struct p2p *p = import->state;
	size_t row = strtoul(import->v[0], NULL, 10), count;

	if (!p->columns)
		return;
	count = lines_row(import, import->v[1], ' ', IMPORT_GPUS + 1);
	if (count != p->columns || row >= p->columns)
		building_error(import, "expected a number for each of the %zu columns, not %zu",
			       p->columns, count);
	p->rows++;
	for (size_t i = 0; i < count && !building_stopped(import); i++) {
		if (strcmp(import->fields[i], "N/A") == 0)
			continue;
		add_p2p(import, row, i, lines_number(import, import->fields[i], "a number"));
	}
}

static void take_p2p_title(struct import *import)
{
	struct p2p *p = import->state;
	const char *title = import->v[0];

	if (!strstr(title, " Matrix"))
		return;
	p2p_end_matrix(import);
	p->both = text_starts_with(title, "Bidirectional");
	p->access = strstr(title, "P2P=Enabled") != NULL;
	p->reads = strstr(title, "(P2P Reads)") != NULL;
	p->latency = strstr(title, "Latency") != NULL;
	p->wanted = strstr(title, "P2P=") && strstr(title, " Matrix (");
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
	.silent = "size of the copies, samples, clocks, power, temperatures, wrong data, driver",
	.tool = "CUDA's p2pBandwidthLatencyTest",
	.rules = p2p_lines,
	.state_bytes = sizeof(struct p2p),
	.finish = p2p_end_matrix,
};
