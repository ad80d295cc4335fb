/* Folders of nodes become one result; a node whose folder contradicts it fails. */
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/memory.h"
#include "fleet/merge.h"
#include "run/journal.h"
#include "sample_result.h"

#define NODES 4

static char directory[] = "/tmp/gpuproof-merge-XXXXXX";

static int remove_entry(const char *path, const struct stat *st, int flag, struct FTW *at)
{
	(void)st, (void)flag, (void)at;
	return remove(path);
}

static int begin(void **state)
{
	(void)state;
	strcpy(directory + strlen(directory) - 6, "XXXXXX");
	return mkdtemp(directory) == NULL;
}

static int end(void **state)
{
	(void)state;
	return nftw(directory, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}

static void put(char **text, const char *value)
{
	free(*text);
	*text = xstrdup(value);
}

/* Writes `text` to DIR/nodes/NAME/FILE. */
static void write_text(const char *name, const char *file, const char *text)
{
	char *path = xasprintf("%s/nodes/%s/%s", directory, name, file);
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
	free(path);
}

/* A node that measured the two cases of the sample by this driver, in this state. */
static void write_node(const char *name, const char *driver, const char *run_state, size_t planned)
{
	char *folder = xasprintf("%s/nodes/%s", directory, name);
	struct error err = ERROR_NONE;
	struct result r;

	sample_result(&r);
	put(&r.state, run_state);
	r.planned = planned;
	result_add_fact(&r, "driver", driver);
	mkdir(directory, 0700);
	*strrchr(folder, '/') = '\0';
	mkdir(folder, 0700);
	folder[strlen(folder)] = '/';
	mkdir(folder, 0700);
	assert_int_equal(result_write_to(&r, folder, &err), STATUS_OK);
	write_text(name, JOURNAL_NAME, "{\"journal\":1,\"plan\":\"0\",\"header\":{}}\n");
	result_release(&r);
	free(folder);
}

static void whole_nodes_have_nothing_to_do(void **state)
{
	static const struct {
		const char *state;
		size_t planned;
		bool whole;
	} rows[] = { { "complete", 2, true },
		     { "complete", 3, false },
		     { "interrupted", 2, false },
		     { "incomplete", 2, false } };

	(void)state;
	assert_false(merge_node_whole(directory, "n0"));
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		write_node("n0", "580.1", rows[i].state, rows[i].planned);
		assert_int_equal(merge_node_whole(directory, "n0"), rows[i].whole);
		write_text("n0", "confirm", "transfer/h2d/pinned/64MiB@cuda:0\n");
		assert_false(merge_node_whole(directory, "n0"));
		char *confirm = merge_confirm_path(directory, "n0");

		assert_int_equal(unlink(confirm), 0);
		free(confirm);
	}
	write_text("n0", "result.json", "{");
	assert_false(merge_node_whole(directory, "n0"));
}

static void init_nodes(struct result *r)
{
	memset(r, 0, sizeof(*r));
	r->state = xstrdup("complete");
	for (size_t i = 0; i < NODES; i++) {
		ARRAY_GROW(r->nodes, r->node_count, r->node_capacity);
		r->nodes[r->node_count++] =
			(struct result_node){ xasprintf("n%zu", i), NODE_OK, xstrdup(""),
					      xstrdup(""),          0,       0 };
	}
}

/* Every node's devices and cases get its name, and a driver of its own is told. */
static void nodes_become_one_result(void **state)
{
	const struct config config = { 0 };
	struct result merged, again;
	bool kept[NODES];
	size_t drifts = 0;

	(void)state;
	for (size_t i = 0; i < NODES; i++) {
		char name[8];

		snprintf(name, sizeof(name), "n%zu", i);
		write_node(name, i == 2 ? "570.9" : "580.1", "complete", 2);
	}
	init_nodes(&merged);
	fleet_merge(&merged, NULL, NULL, &config, directory);
	assert_int_equal(merged.case_count, 2 * NODES);
	assert_int_equal(merged.planned, 2 * NODES);
	assert_int_equal(merged.device_count, 2 * NODES);
	for (size_t i = 0; i < NODES; i++) {
		char id[80];

		assert_int_equal(merged.nodes[i].status, NODE_OK);
		assert_int_equal(merged.nodes[i].finished, 2);
		assert_string_equal(merged.cases[2 * i].node, merged.nodes[i].name);
		snprintf(id, sizeof(id), "n%zu/cuda:0", i);
		assert_string_equal(merged.devices[2 * i].id, id);
		assert_string_equal(merged.cases[2 * i].devices[0], id);
		snprintf(id, sizeof(id), "transfer/d2h/pinned/64MiB@n%zu/cuda:1", i);
		assert_string_equal(merged.cases[2 * i + 1].id, id);
	}
	for (size_t i = 0; i < merged.preflight_count; i++)
		if (strncmp(merged.preflight[i].topic, "drift", 5) == 0) {
			assert_string_equal(merged.preflight[i].node, "n2");
			assert_non_null(strstr(merged.preflight[i].text, "570.9"));
			drifts++;
		}
	assert_int_equal(drifts, 1);
	assert_null(result_fact(&merged, "driver"));
	/* Cases of kept nodes come from the result before, those of others are read. */
	for (int mask = 0; mask < 1 << NODES; mask++) {
		struct result before;

		init_nodes(&before);
		fleet_merge(&before, NULL, NULL, &config, directory);
		for (size_t i = 0; i < before.case_count; i++)
			before.cases[i].seconds = 4711;
		for (size_t i = 0; i < NODES; i++)
			kept[i] = mask >> i & 1;
		init_nodes(&again);
		fleet_merge(&again, &before, kept, &config, directory);
		assert_int_equal(again.case_count, 2 * NODES);
		for (size_t i = 0; i < again.case_count; i++) {
			assert_string_equal(again.cases[i].id, merged.cases[i].id);
			assert_int_equal(again.cases[i].seconds == 4711, kept[i / 2]);
		}
		result_release(&again);
		result_release(&before);
	}
	result_release(&merged);
}

/* A node that says it ended well, and whose folder says otherwise, has failed. */
static void a_folder_that_contradicts_its_node_fails_it(void **state)
{
	static const struct {
		const char *state; /* NULL: there is no folder */
		size_t planned;
		enum node_status said, status;
		const char *reason;
	} rows[] = {
		{ "complete", 2, NODE_OK, NODE_OK, "" },
		{ NULL, 2, NODE_OK, NODE_ERROR, " are not in " },
		{ NULL, 2, NODE_LOST, NODE_LOST, "" },
		{ "complete", 3, NODE_OK, NODE_ERROR, "2 of 3 cases" },
		{ "interrupted", 2, NODE_OK, NODE_ERROR, "interrupted" },
		{ "interrupted", 3, NODE_INTERRUPTED, NODE_INTERRUPTED, "" },
	};
	const struct config config = { 0 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		for (size_t at = 0; at < NODES; at++) {
			struct result r;

			end(state);
			for (size_t n = 0; n < NODES; n++) {
				char name[8];

				snprintf(name, sizeof(name), "n%zu", n);
				if (n != at)
					write_node(name, "580.1", "complete", 2);
				else if (rows[i].state)
					write_node(name, "580.1", rows[i].state, rows[i].planned);
			}
			init_nodes(&r);
			r.nodes[at].status = rows[i].said;
			fleet_merge(&r, NULL, NULL, &config, directory);
			for (size_t n = 0; n < NODES; n++)
				assert_int_equal(r.nodes[n].status,
						 n == at ? rows[i].status : NODE_OK);
			if (!strstr(r.nodes[at].reason, rows[i].reason) ||
			    !*rows[i].reason != !*r.nodes[at].reason)
				fail_msg("'%s' instead of '%s'", r.nodes[at].reason,
					 rows[i].reason);
			assert_string_equal(result_fact(&r, "driver"), "580.1");
			result_release(&r);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(whole_nodes_have_nothing_to_do, begin, end),
		cmocka_unit_test_setup_teardown(nodes_become_one_result, begin, end),
		cmocka_unit_test_setup_teardown(a_folder_that_contradicts_its_node_fails_it, begin,
						end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
