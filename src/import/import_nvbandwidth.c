/*
 * nvbandwidth -j. A test is a matrix of numbers as text, "N/A" where there is none; figures in GB/s. The size of its
 * buffers is not in the file: 512 MiB unless it was told otherwise.
 *
 * In tests of two devices the row is the device whose engine copies: of "read" tests the destination, of "write" tests
 * the source. Tests in both directions append three matrices: each direction, then the sum.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "import/reading.h"

#define BUFFER_BYTES (512.0 * (1 << 20))
#define GB 1e9

enum shape { HOST, WITHIN, PEER_READ, PEER_WRITE, PEER_BOTH };

static const struct test {
	const char *name, *direction, *metric;
	enum shape shape;
	const char *label; /* tells tests of one direction apart */
} tests[] = {
	{ "host_to_device_memcpy", "h2d", "transfer.bandwidth", HOST, "" },
	{ "device_to_host_memcpy", "d2h", "transfer.bandwidth", HOST, "" },
	{ "host_to_device_bidirectional_memcpy", "both", "transfer.bandwidth_h2d", HOST, "h2d" },
	{ "device_to_host_bidirectional_memcpy", "both", "transfer.bandwidth_d2h", HOST, "d2h" },
	{ "device_local_copy", "local", "transfer.bandwidth", WITHIN, "" },
	{ "device_to_device_memcpy_read", "p2p", "transfer.bandwidth", PEER_READ, "read" },
	{ "device_to_device_memcpy_write", "p2p", "transfer.bandwidth", PEER_WRITE, "write" },
	{ "device_to_device_bidirectional_memcpy_read", "p2p_both", "transfer.bandwidth", PEER_BOTH,
	  "read" },
	{ "device_to_device_bidirectional_memcpy_write", "p2p_both", "transfer.bandwidth",
	  PEER_BOTH, "write" },
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

static void add_case(struct import *import, const struct test *test, const char *engine, int row,
		     int column, double value)
{
	char ids[2][32];
	const char *devices[2] = { ids[0], ids[1] };
	bool peers = test->shape >= PEER_READ;
	int first = test->shape == PEER_WRITE || test->shape == PEER_BOTH ? row : column;
	int second = test->shape == PEER_READ ? row : column;
	struct case_result *c;

	snprintf(ids[0], sizeof(ids[0]), "cuda:%d", first);
	snprintf(ids[1], sizeof(ids[1]), "cuda:%d", second);
	c = import_case(import, "transfer", devices, peers ? 2 : 1);
	free(c->label);
	c->label = xstrdup(test->label);
	import_word(c, "direction", test->direction);
	if (strcmp(engine, "ce") != 0)
		import_word(c, "engine", engine);
	if (test->shape == HOST)
		import_word(c, "memory", "pinned");
	if (peers)
		import_word(c, "access", "on");
	import_bytes(c, "size", BUFFER_BYTES);
	import_metric(c, test->metric, "B/s", BETTER_HIGHER, value * GB);
	import_named(c);
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
		return import_json_error(import, path, "expected a bandwidth above 0");
	if (column >= import->result->device_count ||
	    (test->shape >= PEER_READ && row >= import->result->device_count))
		return import_json_error(import, path, "there is no such device in the list");
	add_case(import, test, engine, (int)row, (int)column, value);
	return STATUS_OK;
}

static enum status read_matrix(struct import *import, const struct test *test, const char *engine,
			       const json_t *matrix, const struct json_path *path)
{
	size_t rows = json_array_size(matrix), first = 0;

	if (test->shape == PEER_BOTH) {
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

/* Tests that have no counterpart are named in the result. */
static enum status read_test(struct import *import, const json_t *test_json,
			     const struct json_path *path, struct text *unknown)
{
	const json_t *name = import_member(import, test_json, path, "name", JSON_STRING);
	const json_t *status = import_member(import, test_json, path, "status", JSON_STRING);
	const struct json_path matrix_path = { path, "bandwidth_matrix", 0 };
	const struct test *test;
	const json_t *matrix;
	const char *engine;

	if (!name || !status)
		return STATUS_USAGE;
	if (strcmp(json_string_value(status), "Passed") != 0)
		return STATUS_OK;
	test = test_named(json_string_value(name), &engine);
	if (!test) {
		text_addf(unknown, "%s%s", unknown->length ? ", " : "", json_string_value(name));
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
	struct text unknown = TEXT_EMPTY;
	enum status status;

	if (!root ||
	    !(devices = import_member(import, root, &top, "GPU Device list", JSON_ARRAY)) ||
	    !(list = import_member(import, root, &top, "testcases", JSON_ARRAY)))
		return STATUS_USAGE;
	read_facts(import, root);
	status = read_devices(import, devices, &devices_path);
	for (size_t i = 0; status == STATUS_OK && i < json_array_size(list); i++) {
		const struct json_path here = { &tests_path, NULL, i };

		status = read_test(import, json_array_get(list, i), &here, &unknown);
	}
	if (unknown.length)
		import_fact(import, "not imported", unknown.data);
	text_release(&unknown);
	return status;
}

static enum status nvbandwidth_read(struct import *import)
{
	json_t *json;
	enum status status = import_json(import, &json);

	if (status != STATUS_OK)
		return status;
	status = read_root(import, json);
	json_decref(json);
	return status;
}

const struct import_format import_nvbandwidth = {
	.name = "nvbandwidth",
	.summary = "nvbandwidth -j > FILE",
	.read = nvbandwidth_read,
};
