/* Buffers of the suites: the CPU's data and check against the device's, on the host backend. */
#include "suite_fixture.h"

#include "base/parallel.h"
#include "suites/shared/buffers.h"

#define SEED 20261120

struct pair {
	struct stream *stream;
	struct buffer device, host;
};

static void open_pair(struct pair *p, struct device *device, size_t bytes)
{
	struct error err = ERROR_NONE;

	assert_int_equal(backend_stream_create(device, false, &p->stream, &err), STATUS_OK);
	assert_int_equal(buffer_alloc(&p->device, device, ALLOCATOR_DEVICE, bytes, &err),
			 STATUS_OK);
	assert_int_equal(buffer_alloc(&p->host, device, ALLOCATOR_PAGEABLE, bytes, &err),
			 STATUS_OK);
}

static void close_pair(struct pair *p)
{
	buffer_free(&p->device);
	buffer_free(&p->host);
	buffer_free(&p->host); /* twice is once */
	backend_stream_destroy(p->stream);
	assert_nothing_open("pair");
}

/* Two implementations of one byte stream: the device's kernel and the CPU's threads. */
static void test_cpu_and_device_agree(void **state)
{
	static const size_t sizes[] = { 1, 7, 8, 16, 1001, 1 << 20, (4 << 20) + 3 };
	struct fixture *f = *state;

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		struct error err = ERROR_NONE;
		struct pair p;

		open_pair(&p, f->devices[0], sizes[i]);
		buffer_fill(&p.device, p.stream, SEED, &err);
		buffer_fill(&p.host, p.stream, SEED, &err);
		assert_memory_equal(p.device.memory, p.host.memory, sizes[i]);
		buffer_check(&p.device, p.stream, 0, sizes[i], SEED, &err);
		buffer_check(&p.host, p.stream, 0, sizes[i], SEED, &err);
		assert_int_equal(err.status, STATUS_OK);
		assert_int_equal(buffer_check(&p.host, p.stream, 0, sizes[i], SEED + 1, &err),
				 STATUS_MISMATCH);
		close_pair(&p);
	}
}

static void expect_wrong(const struct buffer *b, struct stream *stream, size_t offset, size_t bytes,
			 const char *start, const char *end)
{
	struct error err = ERROR_NONE;

	assert_int_equal(buffer_check(b, stream, offset, bytes, SEED, &err), STATUS_MISMATCH);
	if (!text_starts_with(err.message, start) || !text_ends_with(err.message, end))
		fail_msg("%s", err.message);
}

/*
 * The first wrong word is named whichever thread finds it, and wrong bytes outside the range don't
 * count.
 */
static void test_wrong_words_are_named(void **state)
{
	struct fixture *f = *state;
	size_t bytes = (4 << 20) + 3;
	struct error err = ERROR_NONE;
	struct pair p;
	struct buffer *buffers[2] = { &p.device, &p.host };

	open_pair(&p, f->devices[0], bytes);
	for (int i = 0; i < 2; i++) {
		unsigned char *memory = buffers[i]->memory;

		buffer_fill(buffers[i], p.stream, SEED, &err);
		memory[bytes - 1] ^= 1;
		expect_wrong(buffers[i], p.stream, 0, bytes,
			     "wrong data at byte 4194304: expected 0x0000000000",
			     "(1 of 524289 8-byte words wrong)");
		memory[3000000] ^= 0x80;
		memory[3000016] ^= 0x80;
		expect_wrong(buffers[i], p.stream, 0, bytes,
			     "wrong data at byte 3000000:", "(3 of 524289 8-byte words wrong)");
		expect_wrong(buffers[i], p.stream, 1600, 3000000,
			     "wrong data at byte 3000000:", "(2 of 375000 8-byte words wrong)");
		assert_int_equal(buffer_check(buffers[i], p.stream, 1600, 2998400, SEED, &err),
				 STATUS_OK);
	}
	close_pair(&p);
}

static void test_poison_is_no_data(void **state)
{
	struct fixture *f = *state;
	struct error err = ERROR_NONE;
	struct pair p;

	open_pair(&p, f->devices[0], 4096);
	buffer_fill(&p.device, p.stream, SEED, &err);
	buffer_poison(&p.device, p.stream, &err);
	expect_wrong(&p.device, p.stream, 0, 4096,
		     "wrong data at byte 0:", "(512 of 512 8-byte words wrong)");
	assert_true(isnan(*(float *)p.device.memory) && isnan(*(double *)p.device.memory));
	close_pair(&p);
}

/*
 * A constant fill, in device memory (copied in pieces, the last one partial) and in memory that the
 * CPU reads.
 */
static void test_one_byte_is_checked(void **state)
{
	struct fixture *f = *state;
	size_t bytes = (8 << 20) + 3;
	struct error err = ERROR_NONE;
	struct pair p;
	struct buffer *buffers[2] = { &p.device, &p.host };

	open_pair(&p, f->devices[0], bytes);
	for (int i = 0; i < 2; i++) {
		unsigned char *memory = buffers[i]->memory;

		assert_int_equal(backend_memory_set(p.stream, memory, 0x5a, bytes, &err),
				 STATUS_OK);
		assert_int_equal(buffer_check_byte(buffers[i], p.stream, 0x5a, &err), STATUS_OK);
		memory[bytes - 1] = 0x5b;
		memory[5000001] = 0;
		assert_int_equal(buffer_check_byte(buffers[i], p.stream, 0x5a, &err),
				 STATUS_MISMATCH);
		assert_string_equal(err.message, "wrong data at byte 5000001: expected 0x5a, got "
						 "0x00 (2 of 8388611 bytes wrong)");
		err = (struct error)ERROR_NONE;
	}
	close_pair(&p);
}

static void test_errors_say_what_was_asked_for(void **state)
{
	struct fixture *f = *state;
	struct error err = ERROR_NONE;
	struct buffer b;

	assert_int_equal(buffer_alloc(&b, f->devices[1], ALLOCATOR_DEVICE, (size_t)1 << 50, &err),
			 STATUS_NO_MEMORY);
	assert_true(text_starts_with(err.message, "1PiB of device memory on host:1: ") ||
		    text_starts_with(err.message, "1024TiB of device memory on host:1: "));
	buffer_free(&b);
}

static void test_rotation(void **state)
{
	(void)state;
	assert_int_equal(buffer_rotation(1000, 0, 64), 1); /* no cache, or none known */
	assert_int_equal(buffer_rotation(1 << 30, 50 << 20, 64), 1);
	assert_int_equal(buffer_rotation(10 << 20, 50 << 20, 64), 10); /* twice the cache */
	assert_int_equal(buffer_rotation(1024, 50 << 20, 64), 64);
}

/* A virtual machine shows the caches of a whole socket: no case moves gigabytes because of that. */
static void test_a_host_device_reaches_part_of_the_cache_shown(void **state)
{
	struct device_info cpu = { .l2_bytes = UINT64_C(1) << 30,
				   .capabilities = DEVICE_SHARES_HOST_MEMORY };
	struct device_info gpu = { .l2_bytes = UINT64_C(1) << 30 };

	(void)state;
	assert_int_equal(buffer_cache_bytes(&cpu), 64 << 20);
	assert_int_equal(buffer_cache_bytes(&gpu), 1 << 30);
	cpu.l2_bytes = 32 << 20;
	assert_int_equal(buffer_cache_bytes(&cpu), 32 << 20);
}

static void count_each(void *context, size_t begin, size_t end)
{
	unsigned char *seen = context;

	for (size_t i = begin; i < end; i++)
		seen[i]++;
}

static void test_parallel_for_covers_all_once(void **state)
{
	static const size_t counts[] = { 0, 1, 15, 16, 17, 100003 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(counts); i++) {
		unsigned char *seen = xcalloc(counts[i], 1);

		parallel_for(counts[i], 1, count_each, seen);
		for (size_t k = 0; k < counts[i]; k++)
			assert_int_equal(seen[k], 1);
		free(seen);
	}
}

static void test_a_thread_is_worth_its_start(void **state)
{
	(void)state;
	assert_true(parallel_grain(1) >= 100000);
	assert_true(parallel_grain(1000) * 1000 >= 100000);
	assert_int_equal(parallel_grain(UINT64_MAX), 1);
	assert_true(parallel_grain(0) >= 100000);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup(name, fixture_reset)
	const struct CMUnitTest tests[] = {
		TEST(test_cpu_and_device_agree),
		TEST(test_wrong_words_are_named),
		TEST(test_poison_is_no_data),
		TEST(test_one_byte_is_checked),
		TEST(test_errors_say_what_was_asked_for),
		TEST(test_rotation),
		TEST(test_a_host_device_reaches_part_of_the_cache_shown),
		TEST(test_parallel_for_covers_all_once),
		TEST(test_a_thread_is_worth_its_start),
	};

	return cmocka_run_group_tests(tests, fixture_open, fixture_close);
}
