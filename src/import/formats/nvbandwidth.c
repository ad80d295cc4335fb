/*
 * Converts tests of nvbandwidth to cases of the suite transfer. The file does not contain the
 * buffer size: 512 MiB unless an option sets it.
 *
 * The row is the device that issues the copy between two devices: docs/nvbandwidth.md. Tests in
 * both directions print three matrices: each direction, then the sum.
 */
#include "import/formats/nvbandwidth.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"

#define BUFFER_BYTES (512.0 * (1 << 20))
#define LATENCY_BYTES (2.0 * (1 << 20))
#define GB 1e9
#define NS 1e-9
#define MOST_DEVICES 4096
#define SEVERAL_NODES "multinode_"

/*
 * Devices of a case. ROW: the row's and the column's device; COLUMN: the column's; FIRST: the
 * column's, then all others.
 */
enum shape { COLUMN, ROW, ROW_BOTH, FIRST };

static const struct nvb_test {
	const char *name, *direction;
	enum shape shape;
	bool memory, access; /* whether the parameter applies */
	const char *metric;  /* NULL: transfer.bandwidth */
} tests[] = {
	{ "host_to_device_memcpy", "h2d", COLUMN, true, false, NULL },
	{ "device_to_host_memcpy", "d2h", COLUMN, true, false, NULL },
	{ "host_to_device_bidirectional_memcpy", "both", COLUMN, true, false,
	  "transfer.bandwidth_h2d" },
	{ "device_to_host_bidirectional_memcpy", "both", COLUMN, true, false,
	  "transfer.bandwidth_d2h" },
	{ "device_local_copy", "local", COLUMN, false, false, NULL },
	{ "device_to_device_memcpy_write", "p2p", ROW, false, true, NULL },
	{ "device_to_device_memcpy_read", "p2p_read", ROW, false, true, NULL },
	{ "device_to_device_bidirectional_memcpy_write", "p2p_both", ROW_BOTH, false, true, NULL },
	{ "device_to_device_bidirectional_memcpy_read", "p2p_read_both", ROW_BOTH, false, true,
	  NULL },
	{ "all_to_host_memcpy", "all_to_host", FIRST, true, false, NULL },
	{ "host_to_all_memcpy", "host_to_all", FIRST, true, false, NULL },
	{ "all_to_host_bidirectional_memcpy", "all_to_host_both", FIRST, true, false, NULL },
	{ "host_to_all_bidirectional_memcpy", "host_to_all_both", FIRST, true, false, NULL },
	{ "all_to_one_write", "all_to_one_write", FIRST, false, true, NULL },
	{ "all_to_one_read", "all_to_one_read", FIRST, false, true, NULL },
	{ "one_to_all_write", "one_to_all_write", FIRST, false, true, NULL },
	{ "one_to_all_read", "one_to_all_read", FIRST, false, true, NULL },
	{ "host_device_latency", "latency_host", COLUMN, true, false, "transfer.latency" },
	{ "device_to_device_latency", "latency_p2p", ROW, false, true, "transfer.latency" },
};

/* "..._ce" and "..._sm" are the same test by copy engine and by kernel. */
static const struct nvb_test *nvbandwidth_test_named(const char *name, const char **engine)
{
	size_t length;

	if (text_starts_with(name, SEVERAL_NODES))
		name += strlen(SEVERAL_NODES);
	length = strlen(name);

	*engine = "ce";
	if (length > 3 &&
	    (strcmp(name + length - 3, "_sm") == 0 || strcmp(name + length - 3, "_ce") == 0)) {
		*engine = name + length - 2;
		length -= 3;
	}
	for (size_t i = 0; i < ARRAY_SIZE(tests); i++)
		if (strlen(tests[i].name) == length && strncmp(tests[i].name, name, length) == 0)
			return &tests[i];
	return NULL;
}

static size_t nvbandwidth_append_device(struct nvb_devices *devices, size_t index)
{
	ARRAY_GROW(devices->items, devices->count, devices->capacity);
	devices->items[devices->count++] = index;
	return index;
}

/* Removes the last group in brackets, such as "(00000000:3b:00)", and returns it; "" if none. */
static char *nvbandwidth_last_group(char *text)
{
	size_t length = strlen(text);
	char *open;

	while (length && (text[length - 1] == ' ' || text[length - 1] == ':'))
		length--;
	open = strrchr(text, '(');
	if (!open || !length || text[length - 1] != ')')
		return text + strlen(text);
	text[length - 1] = '\0';
	*open = '\0';
	return open + 1;
}

bool nvb_add_device(struct import *import, struct nvb_devices *devices, char *text,
		    const char *host)
{
	char *group = nvbandwidth_last_group(text), *pci = group, *name;
	struct import_device d = { .number = (int)devices->count, .host = host };

	/* Since 0.8 the host follows the PCI address. */
	if (!strchr(group, ':') && *(pci = nvbandwidth_last_group(text)))
		d.host = group;
	pci = *pci ? pci : group;
	name = text_trimmed(text, strlen(text));
	d.name = name;
	d.pci = pci;
	d.backend = import_backend(name);
	if (*name && *pci)
		nvbandwidth_append_device(devices, import_device(import, &d));
	free(name);
	devices->listed = true;
	return *pci;
}

/* Adds unnamed devices if the file lists none, or lists only the devices of one node. */
static bool nvb_has_device(struct import *import, struct nvb_devices *devices, size_t number,
			   bool several_nodes)
{
	while (number < MOST_DEVICES && number >= devices->count &&
	       (!devices->listed || several_nodes)) {
		const struct import_device d = { .backend = "cuda", .number = (int)devices->count };

		nvbandwidth_append_device(devices, import_device(import, &d));
	}
	return number < devices->count;
}

static enum status nvb_cell_error(struct import *import, const struct nvb_matrix *m, size_t row,
				  size_t column, const char *message)
{
	if (m->line)
		return import_error(import, m->line + row, "%s, column %zu: %s", m->test, column,
				    message);
	return import_json_error(import, NTH(NTH(m->path, row), column), "%s", message);
}

static struct case_result *nvb_start_case(struct import *import, const struct nvb_devices *devices,
					  const struct nvb_test *test, const struct nvb_matrix *m,
					  size_t row, size_t column)
{
	size_t *used = xcalloc(devices->count + 1, sizeof(*used)), count = 0;
	struct case_result *c;

	if (test->shape == ROW || test->shape == ROW_BOTH)
		used[count++] = devices->items[row];
	used[count++] = devices->items[column];
	for (size_t i = 0; test->shape == FIRST && i < devices->count; i++)
		if (i != column)
			used[count++] = devices->items[i];
	c = import_case(import, m->line ? m->line + row : 1, "transfer", used, count,
			WORDS("direction", test->direction));
	free(used);
	return c;
}

/* Tests that measure two sides of the same case become two metrics of it. */
static enum status nvb_add_cell(struct import *import, const struct nvb_devices *devices,
				const struct nvb_test *test, const char *engine,
				const struct nvb_matrix *m, size_t row, size_t column, double value)
{
	bool latency = test->metric && strcmp(test->metric, "transfer.latency") == 0;
	struct case_result *c = nvb_start_case(import, devices, test, m, row, column);

	if (!c)
		return STATUS_USAGE;
	if (strcmp(engine, "ce") != 0 && !latency)
		import_word(c, "engine", engine);
	if (test->memory)
		import_word(c, "memory", "pinned");
	if (test->access)
		import_word(c, "access", "on");
	if (text_starts_with(m->test, SEVERAL_NODES))
		import_word(c, "scope", "several nodes");
	import_bytes(c, "size", latency ? LATENCY_BYTES : BUFFER_BYTES);
	c = import_named(import, c);
	import_metric(c, test->metric ? test->metric : "transfer.bandwidth", latency ? "s" : "B/s",
		      latency ? BETTER_LOWER : BETTER_HIGHER, value * (latency ? NS : GB));
	if (value == 0)
		import_failed(c, "nvbandwidth measured 0 %s", latency ? "ns" : "GB/s");
	return STATUS_OK;
}

enum status nvb_add_matrix(struct import *import, struct nvb_devices *devices,
			   const struct nvb_matrix *m)
{
	bool several = text_starts_with(m->test, SEVERAL_NODES);
	enum status status = STATUS_OK;
	const char *engine;
	const struct nvb_test *test = nvbandwidth_test_named(m->test, &engine);
	size_t first = 0;

	if (!test) {
		import_left_out(import, "%s", m->test);
		return STATUS_OK;
	}
	if (test->shape == ROW_BOTH && m->rows == 3 * m->columns)
		first = 2 * m->columns;
	else if (m->rows != (test->shape == ROW || test->shape == ROW_BOTH ? m->columns : 1))
		return nvb_cell_error(import, m, 0, 0,
				      "the matrix has not as many rows as it must");
	for (size_t i = first; i < m->rows; i++)
		for (size_t j = 0; status == STATUS_OK && j < m->columns; j++) {
			double value = m->cells[i * m->columns + j];

			if (isnan(value))
				continue;
			if (value < 0)
				return nvb_cell_error(import, m, i, j, "expected a number above 0");
			if (!nvb_has_device(import, devices, j > i - first ? j : i - first,
					    several))
				return nvb_cell_error(import, m, i, j,
						      "there is no such device in the list");
			status =
				nvb_add_cell(import, devices, test, engine, m, i - first, j, value);
		}
	return status;
}

enum status nvb_add_failure(struct import *import, struct nvb_devices *devices, size_t line,
			    const char *test, const char *reason)
{
	struct case_result *c;

	nvb_has_device(import, devices, 0, true);
	c = import_case(import, line, "transfer", &devices->items[0], 1, WORDS("test", test));
	if (!c)
		return STATUS_USAGE;
	c = import_named(import, c);
	import_broken(c, "nvbandwidth says: %s", reason);
	return STATUS_OK;
}
