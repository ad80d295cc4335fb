/* Collects the tests in a file of nccl-tests. */
#include "import/formats/nccl.h"

#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"

const struct nccl_collective nccl_collectives[NCCL_COLLECTIVES] = {
	{ "all_reduce", "all_reduce", 2, true, false, "redop" },
	{ "all_gather", "all_gather", 1, false, false, "" },
	{ "reduce_scatter", "reduce_scatter", 1, true, false, "redop" },
	{ "broadcast", "broadcast", 0, false, true, "root" },
	{ "reduce", "reduce", 0, true, true, "redop root" },
	{ "sendrecv", "send_recv", 0, true, false, "redop" },
	{ "alltoall", "all_to_all", 1, false, false, "redop" },
	{ "gather", NULL, 1, false, true, "root" },
	{ "scatter", NULL, 1, false, true, "root" },
	{ "hypercube", NULL, 0, false, false, "" },
	{ "alltoallv", NULL, 1, false, false, NULL },
};

/* "AllReduce", "all-reduce" and "all_reduce" are the same name. */
static bool nccl_tests_same_name(const char *a, size_t length, const char *b)
{
	size_t i = 0;

	for (; i < length || *b; b++) {
		while (i < length && (a[i] == '_' || a[i] == '-'))
			i++;
		while (*b == '_')
			b++;
		if (i >= length || !*b)
			return i >= length && !*b;
		if (tolower((unsigned char)a[i++]) != *b)
			return false;
	}
	return i >= length;
}

const struct nccl_collective *nccl_collective(const char *program)
{
	const char *base = strrchr(program, '/'), *suffix;
	size_t length;

	base = base ? base + 1 : program;
	suffix = strstr(base, "_perf");
	length = suffix ? (size_t)(suffix - base) : strcspn(base, " \t");
	for (size_t i = 0; i < NCCL_COLLECTIVES; i++) {
		const struct nccl_collective *c = &nccl_collectives[i];

		if (nccl_tests_same_name(base, length, c->theirs) ||
		    (c->ours && nccl_tests_same_name(base, length, c->ours)))
			return c;
	}
	return NULL;
}

struct nccl_test *nccl_begin_test(struct nccl_file *file, size_t line)
{
	ARRAY_GROW(file->tests, file->test_count, file->test_capacity);
	file->tests[file->test_count] = (struct nccl_test){ .line = line };
	return &file->tests[file->test_count++];
}

void nccl_add_rank(struct nccl_test *test, struct nccl_rank rank)
{
	ARRAY_GROW(test->ranks, test->rank_count, test->rank_capacity);
	rank.host = xstrdup(rank.host);
	rank.pci = xstrdup(rank.pci);
	rank.name = xstrdup(rank.name);
	test->ranks[test->rank_count++] = rank;
}

void nccl_set_words(char **words, const char *said)
{
	if (!*words)
		*words = text_trimmed(said, strlen(said));
}

void nccl_version_fact(struct import *import, double number)
{
	char text[32];
	int v = number > 0 && number < 1e6 ? (int)number : 0;

	if (v >= 10000) /* since 2.9 */
		snprintf(text, sizeof(text), "%d.%d.%d", v / 10000, v / 100 % 100, v % 100);
	else
		snprintf(text, sizeof(text), "%d.%d.%d", v / 1000, v / 100 % 10, v % 100);
	if (v)
		import_fact(import, "nccl", text);
}

void nccl_release(struct nccl_file *file)
{
	for (size_t i = 0; i < file->test_count; i++) {
		struct nccl_test *t = &file->tests[i];

		for (size_t r = 0; r < t->rank_count; r++) {
			free((char *)(uintptr_t)t->ranks[r].host);
			free((char *)(uintptr_t)t->ranks[r].pci);
			free((char *)(uintptr_t)t->ranks[r].name);
		}
		free(t->ranks);
		free(t->broken);
		free(t->failed);
	}
	free(file->tests);
	free(file->rows);
}
