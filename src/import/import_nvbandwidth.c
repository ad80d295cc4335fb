/*
 * nvbandwidth -j. A test is a matrix of numbers as text, "N/A" where there is none; figures in
 * GB/s. The size of its buffers is not in the file: 512 MiB unless an option sets it.
 *
 * The row is the device that issues the copy, of two: docs/nvbandwidth.md. Tests in both directions
 * append three
 * matrices: each direction, then the sum.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "import/reading.h"

#define BUFFER_BYTES (512.0 * (1 << 20))
#define LATENCY_BYTES (2.0 * (1 << 20))
#define GB 1e9
#define NS 1e-9

/*
 * Which devices a case is on. ROW: the row's and the column's; COLUMN: the column's; FIRST: the
 * column's, then the rest.
 */
enum shape { COLUMN, ROW, ROW_BOTH, FIRST };

static const struct test {
	const char *name, *direction;
	enum shape shape;
	bool memory, access; /* that parameter applies */
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
static const struct test *test_named(const char *name, const char **engine)
{
	size_t length = strlen(name);

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

static struct case_result *start_case(struct import *import, const struct test *test, size_t row,
				      size_t column)
{
	const struct result *r = import->result;
	const char **devices = xcalloc(r->device_count + 1, sizeof(*devices));
	struct case_result *c;
	size_t count = 0;

	if (test->shape == ROW || test->shape == ROW_BOTH)
		devices[count++] = r->devices[row].id;
	devices[count++] = r->devices[column].id;
	for (size_t i = 0; test->shape == FIRST && i < r->device_count; i++)
		if (i != column)
			devices[count++] = r->devices[i].id;
	c = import_case(import, "transfer", devices, count);
	free(devices);
	return c;
}

/* Tests that measure two sides of one case become metrics of that case. */
static void add_case(struct import *import, const struct test *test, const char *engine, size_t row,
		     size_t column, double value)
{
	bool latency = test->metric && strcmp(test->metric, "transfer.latency") == 0;
	struct case_result *c = start_case(import, test, row, column);

	import_word(c, "direction", test->direction);
	if (strcmp(engine, "ce") != 0 && !latency)
		import_word(c, "engine", engine);
	if (test->memory)
		import_word(c, "memory", "pinned");
	if (test->access)
		import_word(c, "access", "on");
	import_bytes(c, "size", latency ? LATENCY_BYTES : BUFFER_BYTES);
	import_named(c);
	c = import_merged(import, c);
	import_metric(c, test->metric ? test->metric : "transfer.bandwidth", latency ? "s" : "B/s",
		      latency ? BETTER_LOWER : BETTER_HIGHER, value * (latency ? NS : GB));
}

static enum status read_cell(struct import *import, const struct test *test, const char *engine,
			     size_t row, size_t column, const json_t *cell,
			     const struct json_path *path)
{
	const char *text = json_string_value(cell);
	double value = json_number_value(cell);

	if (text && strcmp(text, "N/A") == 0)
		return STATUS_OK;
	if (text ? !import_real(text, &value) : !json_is_number(cell))
		return import_json_error(import, path, "expected a number or \"N/A\"");
	if (value <= 0)
		return import_json_error(import, path, "expected a number above 0");
	if (column >= import->result->device_count ||
	    (test->shape <= ROW_BOTH && test->shape != COLUMN &&
	     row >= import->result->device_count))
		return import_json_error(import, path, "there is no such device in the list");
	add_case(import, test, engine, row, column, value);
	return STATUS_OK;
}

static enum status read_matrix(struct import *import, const struct test *test, const char *engine,
			       const json_t *matrix, const struct json_path *path)
{
	size_t rows = json_array_size(matrix), first = 0;

	if (test->shape == ROW_BOTH) {
		if (rows % 3)
			return import_json_error(import, path, "expected three matrices");
		first = rows / 3 * 2;
	}
	for (size_t i = first; i < rows; i++) {
		const struct json_path row_path = { path, NULL, i };
		const json_t *row = json_array_get(matrix, i);

		if (!json_is_array(row))
			return import_json_error(import, &row_path, "expected an array");
		for (size_t j = 0; j < json_array_size(row); j++) {
			const struct json_path cell_path = { &row_path, NULL, j };
			enum status status = read_cell(import, test, engine, i - first, j,
						       json_array_get(row, j), &cell_path);

			if (status != STATUS_OK)
				return status;
		}
	}
	return STATUS_OK;
}

/*
 * A test that ended in an error, wrong data for one, has no figure; who judges the result must not
 * take it for a good one.
 */
static enum status read_failure(struct import *import, const char *name, const char *status,
				const struct json_path *path)
{
	struct case_result *c;
	char *reason;

	if (!import->result->device_count)
		return import_json_error(import, path, "no device is in the list");
	c = import_case(import, "transfer", &(const char *){ import->result->devices[0].id }, 1);
	import_word(c, "test", name);
	import_named(c);
	reason = xasprintf("nvbandwidth says: %s", status);
	import_broken(c, reason);
	free(reason);
	return STATUS_OK;
}

/* Not for this machine, or not in that build: nothing was tried. */
static bool was_not_tried(const char *status)
{
	return strcmp(status, "Waived") == 0 || strcmp(status, "Not Found") == 0;
}

/* Tests that have no counterpart are named in the result. */
static enum status read_test(struct import *import, const json_t *test_json,
			     const struct json_path *path)
{
	const json_t *name = import_member(import, test_json, path, "name", JSON_STRING);
	const json_t *status = import_member(import, test_json, path, "status", JSON_STRING);
	const struct json_path matrix_path = { path, "bandwidth_matrix", 0 };
	const struct test *test;
	const json_t *matrix;
	const char *engine;

	if (!name || !status)
		return STATUS_USAGE;
	if (was_not_tried(json_string_value(status)))
		return STATUS_OK;
	if (strcmp(json_string_value(status), "Passed") != 0)
		return read_failure(import, json_string_value(name), json_string_value(status),
				    path);
	test = test_named(json_string_value(name), &engine);
	if (!test) {
		import_left_out(import, json_string_value(name));
		return STATUS_OK;
	}
	matrix = import_member(import, test_json, path, "bandwidth_matrix", JSON_ARRAY);
	return matrix ? read_matrix(import, test, engine, matrix, &matrix_path) : STATUS_USAGE;
}

/* "0: NVIDIA H200 (00000000:3b:00): (host)" */
static enum status read_devices(struct import *import, const json_t *list,
				const struct json_path *path)
{
	for (size_t i = 0; i < json_array_size(list); i++) {
		const struct json_path here = { path, NULL, i };
		const char *text = json_string_value(json_array_get(list, i));
		const char *name = text ? strstr(text, ": ") : NULL;
		const char *end = name ? strstr(name, " (") : NULL;
		char *copy;

		if (!end)
			return import_json_error(import, &here, "expected \"0: NAME (PCI)\"");
		copy = xstrndup(name + 2, (size_t)(end - name - 2));
		import_device(import, "cuda", (int)i, copy);
		free(copy);
	}
	return STATUS_OK;
}

static void read_facts(struct import *import, const json_t *root)
{
	char *tool = xasprintf("nvbandwidth %s", import_string(root, "version"));
	const json_t *runtime = json_object_get(root, "CUDA Runtime Version");

	import_tool(import, tool);
	free(tool);
	import_fact(import, "driver", import_string(root, "Driver Version"));
	if (json_is_integer(runtime)) {
		int version = (int)json_integer_value(runtime);
		char text[32];

		snprintf(text, sizeof(text), "%d.%d", version / 1000, version % 1000 / 10);
		import_fact(import, "cuda runtime", text);
	}
}

static enum status read_root(struct import *import, const json_t *json)
{
	const struct json_path top = { NULL, "nvbandwidth", 0 };
	const struct json_path devices_path = { &top, "GPU Device list", 0 };
	const struct json_path tests_path = { &top, "testcases", 0 };
	const json_t *root = import_member(import, json, NULL, "nvbandwidth", JSON_OBJECT);
	const json_t *devices, *list;
	enum status status;

	if (!root ||
	    !(devices = import_member(import, root, &top, "GPU Device list", JSON_ARRAY)) ||
	    !(list = import_member(import, root, &top, "testcases", JSON_ARRAY)))
		return STATUS_USAGE;
	read_facts(import, root);
	status = read_devices(import, devices, &devices_path);
	for (size_t i = 0; status == STATUS_OK && i < json_array_size(list); i++) {
		const struct json_path here = { &tests_path, NULL, i };

		status = read_test(import, json_array_get(list, i), &here);
	}
	return status;
}

static enum status nvbandwidth_read(struct import *import)
{
	return import_json(import, read_root);
}

const struct import_format import_nvbandwidth = {
	.name = "nvbandwidth",
	.summary = "nvbandwidth -j > FILE",
	.for_people = "nvbandwidth Version",
	.instead = "run it with -j",
	.read = nvbandwidth_read,
};
