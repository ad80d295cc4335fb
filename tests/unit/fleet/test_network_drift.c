/* A node whose ranks chose another network than most nodes' is named, from what they wrote. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/memory.h"
#include "fleet/drift.h"
#include "run/group.h"

#define INFINIBAND "NET/IB over mlx5_0:1/IB, GPUDirect RDMA"
#define SOCKET "NET/Socket over eth0, no GPUDirect RDMA"

/* Takes a node whose ranks wrote `lines`. */
static void take(struct drift *drift, size_t index, const char *lines)
{
	char folder[] = "/tmp/gpuproof-networks-XXXXXX", *path;
	struct result own = { 0 };
	FILE *f;

	assert_non_null(mkdtemp(folder));
	path = xasprintf("%s/" GROUP_NETWORKS_NAME, folder);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(lines, f);
	fclose(f);
	run_group_take_networks(folder, &own);
	drift_take(drift, index, &own);
	result_release(&own);
	unlink(path);
	rmdir(folder);
	free(path);
}

static void add_node(struct result *result, const char *name)
{
	ARRAY_GROW(result->nodes, result->node_count, result->node_capacity);
	result->nodes[result->node_count++] = (struct result_node){ .name = xstrdup(name),
								    .reason = xstrdup(""),
								    .lost_at = xstrdup("") };
}

static void another_network_is_named(void **state)
{
	struct result result = { 0 };
	struct drift drift = { 0 };

	(void)state;
	for (size_t i = 0; i < 4; i++)
		add_node(&result, (const char *[]){ "n1", "n2", "n3", "n4" }[i]);
	take(&drift, 0, INFINIBAND "\n" INFINIBAND "\n");
	take(&drift, 1, INFINIBAND "\n");
	take(&drift, 2, SOCKET "\n");
	take(&drift, 3, INFINIBAND "\n");
	drift_tell(&drift, &result);
	assert_int_equal(result.preflight_count, 1);
	assert_string_equal(result.preflight[0].subject, "drift of NCCL's network on n3");
	assert_string_equal(result.preflight[0].topic, FINDING_DRIFT);
	assert_string_equal(result.preflight[0].node, "n3");
	assert_string_equal(result.preflight[0].text,
			    SOCKET ", but " INFINIBAND " on 3 of 4 nodes");
	result_release(&result);
}

static void the_order_of_the_ranks_is_no_drift(void **state)
{
	struct result result = { 0 };
	struct drift drift = { 0 };

	(void)state;
	for (size_t i = 0; i < 3; i++)
		add_node(&result, (const char *[]){ "n1", "n2", "n3" }[i]);
	take(&drift, 0, INFINIBAND "\n" SOCKET "\n");
	take(&drift, 1, SOCKET "\n" INFINIBAND "\n" SOCKET "\n");
	take(&drift, 2, SOCKET "\n" INFINIBAND "\n");
	drift_tell(&drift, &result);
	assert_int_equal(result.preflight_count, 0);
	result_release(&result);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(another_network_is_named),
		cmocka_unit_test(the_order_of_the_ranks_is_no_drift),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
