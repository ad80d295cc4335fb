/*
 * Facts about the host: what is there is found, what is not is left out, and nothing else gets in.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/memory.h"
#include "result/host/environment.h"
#include "result/result.h"

struct facts {
	struct fact items[128];
	size_t count;
};

static void collect(void *context, const char *name, const char *value)
{
	struct facts *facts = context;

	assert_true(facts->count < ARRAY_SIZE(facts->items));
	facts->items[facts->count++] = (struct fact){ xstrdup(name), xstrdup(value) };
}

static const char *fact(const struct facts *facts, const char *name)
{
	for (size_t i = 0; i < facts->count; i++)
		if (strcmp(facts->items[i].name, name) == 0)
			return facts->items[i].value;
	return NULL;
}

static void release(struct facts *facts)
{
	for (size_t i = 0; i < facts->count; i++) {
		free(facts->items[i].name);
		free(facts->items[i].value);
	}
}

static void a_two_socket_machine(void **state)
{
	static const struct {
		const char *name, *value;
	} rows[] = {
		{ "os", "Test OS 12 (\"twelve\")" },
		{ "cpu", "Test CPU @ 2.00GHz" },
		{ "cpu sockets", "2" },
		{ "cpu cores", "3" },
		{ "cpu threads", "4" },
		{ "numa nodes", "2" },
		{ "cpu governor", "mixed" },
		{ "memory", "270.3 GB" },
		{ "transparent huge pages", "madvise" },
		{ "hypervisor", "Test VM" },
		{ "container", "podman" },
		{ "iommu", "on" },
	};
	struct facts facts = { .count = 0 };

	(void)state;
	environment_read(TESTS_DIR "/environment/two_sockets", collect, &facts);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (!fact(&facts, rows[i].name))
			fail_msg("no fact \"%s\"", rows[i].name);
		assert_string_equal(fact(&facts, rows[i].name), rows[i].value);
	}
	release(&facts);
}

static void what_is_not_there_is_left_out(void **state)
{
	struct facts facts = { .count = 0 };

	(void)state;
	environment_read("/nonexistent", collect, &facts);
	assert_null(fact(&facts, "cpu"));
	assert_null(fact(&facts, "cpu sockets"));
	assert_null(fact(&facts, "container"));
	assert_non_null(fact(&facts, "gpuproof"));
	assert_non_null(fact(&facts, "compiler"));
	for (size_t i = 0; i < facts.count; i++)
		assert_true(facts.items[i].value[0] != '\0');
	release(&facts);
}

static void variables_by_allow_list_only(void **state)
{
	struct facts facts = { .count = 0 };

	(void)state;
	setenv("CUDA_VISIBLE_DEVICES", "1,0", 1);
	setenv("GPUPROOF_TEST_TOKEN", "hunter2", 1);
	setenv("NCCL_SOCKET_IFNAME", "hunter2", 1);
	unsetenv("NCCL_ALGO");
	environment_collect(collect, &facts);
	assert_string_equal(fact(&facts, "env CUDA_VISIBLE_DEVICES"), "1,0");
	assert_null(fact(&facts, "env NCCL_ALGO"));
	for (size_t i = 0; i < facts.count; i++)
		assert_null(strstr(facts.items[i].value, "hunter2"));
	release(&facts);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_two_socket_machine),
		cmocka_unit_test(what_is_not_there_is_left_out),
		cmocka_unit_test(variables_by_allow_list_only),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
