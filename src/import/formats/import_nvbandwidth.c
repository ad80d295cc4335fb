/*
 * nvbandwidth: tests are cases of the suite transfer. The file does not contain the buffer size:
 * 512 MiB unless an option sets it.
 *
 * The row is the device that issues the copy between two devices: docs/nvbandwidth.md. Tests in
 * both directions print three matrices: each direction, then the sum.
 *
 * With -j a test is a matrix of numbers as strings in GB/s, with "N/A" for missing ones. Version
 * 0.9 writes null for its list of devices; versions before 0.8 have no list. Without -j: "Running
 * TEST.", a sentence, a heading of device numbers, a row for each device, "SUM TEST NUMBER".
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "import/reading.h"

#define BUFFER_BYTES (512.0 * (1 << 20))
#define LATENCY_BYTES (2.0 * (1 << 20))
#define GB 1e9
#define NS 1e-9
#define MOST_DEVICES 4096
#define MOST_COLUMNS 1024
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

struct nvb {
	size_t *devices; /* indices in the result */
	size_t device_count, device_capacity;
	bool listed; /* the file names them; else they are as many as the matrices have columns */
	char host[128];
	/* The running test; "": none. */
	char test[128];
	size_t line;     /* of "Running" */
	bool done, part; /* the test has its figures; the matrix is one direction of two */
	char *failure;   /* the tool's message while the test ran; NULL */
	/* Its matrix, in GB/s or ns; NaN: none. */
	size_t columns, rows, first_row; /* first_row: its line */
	double *cells;
	size_t cell_count, cell_capacity;
	const json_t *matrix; /* NULL: text */
	const char *error;    /* JSON: error of the whole run; "" */
	bool told;            /* the case of a test has this error as its reason */
};

static void nvbandwidth_append_device(struct nvb *n, size_t index)
{
	ARRAY_GROW(n->devices, n->device_count, n->device_capacity);
	n->devices[n->device_count++] = index;
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

/* "NVIDIA TITAN X (Pascal) (00000000:3b:00): (node-7)" as the next device. False: it is none. */
static bool nvbandwidth_add_device(struct import *import, char *text, const char *host)
{
	struct nvb *n = import->state;
	char *group = nvbandwidth_last_group(text), *pci = group, *name;
	struct import_device d = { .number = (int)n->device_count, .host = host };

	/* Since 0.8 the host follows the PCI address. */
	if (!strchr(group, ':') && *(pci = nvbandwidth_last_group(text)))
		d.host = group;
	d.pci = pci = *pci ? pci : group;
	d.name = name = text_trimmed(text, strlen(text));
	if (*name && *pci)
		nvbandwidth_append_device(n, building_device(import, &d));
	free(name);
	n->listed = true;
	return *pci;
}

/* Adds unnamed devices if the file lists none, or lists only the devices of one node. */
static bool nvbandwidth_has_device(struct import *import, size_t number, bool several_nodes)
{
	struct nvb *n = import->state;

	while (number < MOST_DEVICES && number >= n->device_count &&
	       (!n->listed || several_nodes)) {
		const struct import_device d = { .backend = "cuda",
						 .number = (int)n->device_count };

		nvbandwidth_append_device(n, building_device(import, &d));
	}
	return number < n->device_count;
}

static void nvbandwidth_cell_error(struct import *import, size_t row, size_t column,
				   const char *message)
{
	const struct nvb *n = import->state;
	const json_t *line = json_array_get(n->matrix, row);

	if (n->matrix)
		import_json_item_error(import, line ? line : n->matrix, column, "%s", message);
	else
		building_error_at(import, n->first_row + row, "%s, column %zu: %s", n->test, column,
				  message);
}

/* Tests that measure two sides of the same case become two metrics of it. */
static void nvbandwidth_add_cell(struct import *import, const struct nvb_test *test,
				 const char *engine, size_t row, size_t column, double value)
{
	bool latency = test->metric && strcmp(test->metric, "transfer.latency") == 0;
	const struct nvb *n = import->state;
	bool several = text_starts_with(n->test, SEVERAL_NODES);
	size_t *used = xcalloc(n->device_count + 1, sizeof(*used)), count = 0;
	struct case_result *c;

	if (test->shape == ROW || test->shape == ROW_BOTH)
		used[count++] = n->devices[row];
	used[count++] = n->devices[column];
	for (size_t i = 0; test->shape == FIRST && i < n->device_count; i++)
		if (i != column)
			used[count++] = n->devices[i];
	c = building_case(import, "transfer", used, count,
			  PARAMETERS(WORD("direction", test->direction),
				     WORD("engine",
					  strcmp(engine, "ce") != 0 && !latency ? engine : NULL),
				     WORD("memory", test->memory ? "pinned" : NULL),
				     WORD("access", test->access ? "on" : NULL),
				     WORD("scope", several ? "results of several nodes" : NULL),
				     BYTES("size", latency ? LATENCY_BYTES : BUFFER_BYTES)));
	free(used);
	building_metric(c, test->metric ? test->metric : "transfer.bandwidth",
			latency ? "s" : "B/s", value * (latency ? NS : GB));
	if (value == 0)
		import_failed(c, "nvbandwidth measured 0 %s", latency ? "ns" : "GB/s");
}

/* Cases of the matrix of a test; one that has no counterpart is named in the result. */
static void nvbandwidth_add_matrix(struct import *import)
{
	const struct nvb *n = import->state;
	bool several = text_starts_with(n->test, SEVERAL_NODES);
	const char *engine;
	const struct nvb_test *test = nvbandwidth_test_named(n->test, &engine);
	size_t first = 0;

	if (!test) {
		building_left_out(import, "%s", n->test);
		return;
	}
	if (test->shape == ROW_BOTH && n->rows == 3 * n->columns)
		first = 2 * n->columns;
	else if (n->rows != (test->shape == ROW || test->shape == ROW_BOTH ? n->columns : 1))
		nvbandwidth_cell_error(import, 0, 0,
				       "the number of rows of the matrix does not match its "
				       "columns");
	for (size_t i = first; i < n->rows; i++)
		for (size_t j = 0; j < n->columns && !building_stopped(import); j++) {
			double value = n->cells[i * n->columns + j];

			if (isnan(value))
				continue;
			if (value < 0)
				nvbandwidth_cell_error(import, i, j, "expected a number above 0");
			else if (nvbandwidth_has_device(import, j > i - first ? j : i - first,
							several))
				nvbandwidth_add_cell(import, test, engine, i - first, j, value);
			else
				nvbandwidth_cell_error(import, i, j,
						       "the list of devices does not contain this "
						       "device");
		}
}

/* A test that ended in an error, wrong data for one, has no figure. */
static void nvbandwidth_add_failure(struct import *import, const char *test, const char *reason)
{
	struct nvb *n = import->state;
	struct case_result *c;

	nvbandwidth_has_device(import, 0, true);
	c = building_case(import, "transfer", &n->devices[0], 1, PARAMETERS(WORD("test", test)));
	import_broken(c, "nvbandwidth reports: %s", reason);
}

static void nvbandwidth_add_number(struct nvb *n, double value)
{
	ARRAY_GROW(n->cells, n->cell_count, n->cell_capacity);
	n->cells[n->cell_count++] = value;
}

static void nvbandwidth_end_running(struct import *import)
{
	struct nvb *n = import->state;

	if (*n->test && !n->done)
		nvbandwidth_add_failure(import, n->test,
					n->failure ? n->failure : "the test has no values");
	free(n->failure);
	n->failure = NULL;
	n->test[0] = '\0';
	n->columns = 0;
}

static void nvbandwidth_take_version(struct import *import)
{
	building_tool(import, "nvbandwidth %.30s (text)", import->v[0]);
}

/* "Device 0: NVIDIA H200 (00000000:19:00)"; before it "Process  0 (node-a): " on several nodes */
static void nvbandwidth_take_device(struct import *import)
{
	struct nvb *n = import->state;
	bool process = import->v[2] != NULL;

	if ((size_t)atoi(import->v[0]) < n->device_count) /* the list is repeated */
		return;
	if (!nvbandwidth_add_device(import, import->v[process ? 3 : 1],
				    process ? import->v[1] : n->host))
		building_error(import, "expected \"%s 0: NAME (PCI)\"",
			       process ? "device" : "Device");
}

static void nvbandwidth_take_running(struct import *import)
{
	struct nvb *n = import->state;
	char *name = import->v[0];
	size_t length = strlen(name);

	nvbandwidth_end_running(import);
	while (length && name[length - 1] == '.')
		name[--length] = '\0';
	snprintf(n->test, sizeof(n->test), "%s", name);
	n->line = import->line;
	n->done = n->part = false;
}

/* "SUM host_to_device_memcpy_ce 110.30": the matrix above is complete. */
static void nvbandwidth_take_sum(struct import *import)
{
	struct nvb *n = import->state;
	double told, sum = 0;

	if (!*n->test || !n->rows)
		return;
	for (size_t i = 0; i < n->cell_count; i++)
		sum += isfinite(n->cells[i]) ? n->cells[i] : 0;
	if (lines_real(import->v[1], &told) &&
	    fabs(told - sum) > 0.0051 * (double)(n->cell_count + 1))
		building_error(import,
			       "the values of the matrix add up to %.2f, but the line SUM has "
			       "%.20s; "
			       "a row may be missing",
			       sum, import->v[1]);
	else if (!n->part)
		nvbandwidth_add_matrix(import);
	n->done |= !n->part;
	n->columns = n->rows = 0;
}

static void nvbandwidth_take_row(struct import *import, struct nvb *n)
{
	double value;

	if (import->field_count != n->columns + 1) {
		building_error(import, "expected a number for each of the %zu columns, not %zu",
			       n->columns, import->field_count - 1);
		return;
	}
	n->first_row = n->rows++ ? n->first_row : import->line;
	for (size_t i = 1; i < import->field_count; i++)
		nvbandwidth_add_number(n,
				       lines_real(import->fields[i], &value) ? value : (double)NAN);
}

/* A heading has the column numbers 0, 1, 2, ...; a row a name and numbers or "N/A". */
static void nvbandwidth_take_other(struct import *import)
{
	struct nvb *n = import->state;
	char *line = import->v[0], number[24];
	size_t count, numbers = 1, heading = 0;
	double value;

	if (*n->test && !n->failure &&
	    lines_find_any(line, "ERROR", "Invalid value when checking", "Error:", "Assertion",
			   "terminate called"))
		n->failure = xstrdup(line);
	if (*n->test && strstr(line, "bandwidth (GB/s)"))
		n->part = lines_find_any(line, "Read1", "Read2", "Write1", "Write2");
	count = lines_row(import, line, ' ', MOST_COLUMNS + 1);
	if (count == 1 && !n->device_count)
		snprintf(n->host, sizeof(n->host), "%s", import->fields[0]);
	if (!*n->test)
		return;
	while (!n->columns && heading < count) {
		snprintf(number, sizeof(number), "%zu", heading);
		if (strcmp(import->fields[heading], number) != 0)
			break;
		heading++;
	}
	if (heading && heading == count) {
		n->columns = count;
		n->rows = n->cell_count = 0;
		return;
	}
	while (numbers < count && (lines_real(import->fields[numbers], &value) ||
				   strcmp(import->fields[numbers], "N/A") == 0))
		numbers++;
	if (n->columns && count > 1 && numbers == count)
		nvbandwidth_take_row(import, n);
}

static const struct import_rule nvb_lines[] = {
	{ "nvbandwidth Version: %w", nvbandwidth_take_version },
	{ "Driver Version: %w", .fact = "driver" },
	{ "Device %d: %r", nvbandwidth_take_device },
	{ "Process %d (%t): device %d: %r", nvbandwidth_take_device },
	{ "Running %w", nvbandwidth_take_running },
	{ "Waived", INTO(struct nvb, done) },
	{ "Waiving", INTO(struct nvb, done) },
	{ "SUM %w %n", nvbandwidth_take_sum },
	{ "&&&& PERF %w %n", nvbandwidth_take_sum },
	{ "MIN %w %n" },
	{ "MAX %w %n" },
	{ "AVG %w %n" },
	{ "%r", nvbandwidth_take_other },
	{ 0 },
};

static void nvbandwidth_read_matrix(struct import *import, struct nvb *n)
{
	n->rows = json_array_size(n->matrix);
	n->columns = json_array_size(json_array_get(n->matrix, 0));
	n->cell_count = 0;
	for (size_t i = 0; i < n->rows && !building_stopped(import); i++) {
		const json_t *row = json_array_get(n->matrix, i);

		if (!json_is_array(row))
			import_json_item_error(import, n->matrix, i, "expected an array");
		else if (json_array_size(row) != n->columns)
			import_json_item_error(import, n->matrix, i,
					       "expected %zu numbers, not %zu", n->columns,
					       json_array_size(row));
		for (size_t j = 0; j < n->columns; j++) {
			const json_t *cell = json_array_get(row, j);
			double value = import_json_figure(cell);
			const char *text = json_string_value(cell);

			if (isnan(value) && (!text || strcmp(text, "N/A") != 0))
				import_json_item_error(import, row, j,
						       "expected a number or \"N/A\"");
			nvbandwidth_add_number(n, value);
		}
	}
	if (!building_stopped(import))
		nvbandwidth_add_matrix(import);
}

static void nvbandwidth_read_test(struct import *import, const json_t *test)
{
	struct nvb *n = import->state;
	const json_t *name = import_json_member(import, test, "name", JSON_STRING);
	const json_t *member = import_json_member(import, test, "status", JSON_STRING);
	const char *error = import_json_string(test, "error"), *status;

	if (!name || !member)
		return;
	status = json_string_value(member);
	snprintf(n->test, sizeof(n->test), "%s", json_string_value(name));
	/* The machine or the build does not support the test, so it was skipped. */
	if (strcmp(status, "Waived") == 0 || strcmp(status, "Not Found") == 0)
		return;
	if (strcmp(status, "Passed") != 0 || *error) {
		n->told |= !*error && *n->error;
		error = *error ? error : n->error;
		nvbandwidth_add_failure(import, n->test, *error ? error : status);
		return;
	}
	n->matrix = import_json_member(import, test, "bandwidth_matrix", JSON_ARRAY);
	if (n->matrix)
		nvbandwidth_read_matrix(import, n);
}

/* "0: NVIDIA H200 (00000000:3b:00): (host)" */
static void nvbandwidth_read_devices(struct import *import, const json_t *root)
{
	const json_t *list = json_object_get(root, "GPU Device list");

	if (list && !json_is_null(list) && !json_is_array(list))
		import_json_error(import, root, "GPU Device list", "expected an array");
	for (size_t i = 0; i < json_array_size(list); i++) {
		const char *text = json_string_value(json_array_get(list, i));
		const char *name = text ? strstr(text, ": ") : NULL;
		char *copy = name ? xstrdup(name + 2) : NULL;

		if (!copy || !nvbandwidth_add_device(import, copy, ""))
			import_json_item_error(import, list, i, "expected \"0: NAME (PCI)\"");
		free(copy);
	}
}

static void nvbandwidth_read_root(struct import *import, const json_t *json)
{
	struct nvb *n = import->state;
	const json_t *root = import_json_member(import, json, "nvbandwidth", JSON_OBJECT);
	const json_t *list = json_object_get(root, "testcases");
	const json_t *runtime = json_object_get(root, "CUDA Runtime Version");
	int version = (int)json_integer_value(runtime);
	char text[32];

	if (!root)
		return;
	n->error = import_json_string(root, "error");
	if (!list && !*n->error)
		import_json_error(import, root, NULL, "'testcases' is missing");
	building_tool(import, "nvbandwidth %s", import_json_string(root, "version"));
	building_fact(import, "driver", import_json_string(root, "Driver Version"));
	building_fact(import, "warning", import_json_string(root, "warning"));
	snprintf(text, sizeof(text), "%d.%d", version / 1000, version % 1000 / 10);
	building_fact(import, "cuda runtime", json_is_integer(runtime) ? text : "");
	nvbandwidth_read_devices(import, root);
	import_json_each(import, list, nvbandwidth_read_test);
	if (*n->error && !n->told)
		nvbandwidth_add_failure(import, "nvbandwidth", n->error);
}

static void nvbandwidth_release(void *state)
{
	struct nvb *n = state;

	free(n->failure);
	free(n->cells);
	free(n->devices);
}

const struct import_format import_nvbandwidth = {
	.name = "nvbandwidth",
	.summary = "nvbandwidth -j > FILE (without -j the values are rounded)",
	.marks = { "\"nvbandwidth\"", "nvbandwidth Version" },
	.silent = "samples, size of the buffers (512 MiB unless set), clocks, power, temperatures, "
		  "start time",
	.tool = "nvbandwidth (text)",
	.rules = nvb_lines,
	.state_bytes = sizeof(struct nvb),
	.finish = nvbandwidth_end_running,
	.release = nvbandwidth_release,
	.read_json = nvbandwidth_read_root,
};
