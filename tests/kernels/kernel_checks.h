/*
 * Checks of a backend's kernels and matrix products against straightforward references in double,
 * for any backend: test_kernels_host.c runs them on host:0, tests/gpu on a GPU. They use no test
 * framework.
 *
 * Adding a check: a function in one of the kernel_checks_*.c files and a row in kernel_checks.def.
 */
#ifndef GPUPROOF_TESTS_KERNELS_KERNEL_CHECKS_H
#define GPUPROOF_TESTS_KERNELS_KERNEL_CHECKS_H

#include "device/backend.h"

/*
 * STATUS_OK; STATUS_MISMATCH naming the element; STATUS_UNSUPPORTED where the device cannot do it.
 */
struct kernel_check {
	const char *name;
	enum status (*run)(struct device *device, struct error *err);
};

/*
 * Leaves out what takes a tool that follows every access minutes: large shapes, and of many alike
 * all but some.
 */
extern bool kernel_checks_small;

/* Ends with { NULL }. */
extern const struct kernel_check kernel_checks[];

#define CHECK(name) enum status check_##name(struct device *device, struct error *err);
#include "kernel_checks.def"
#undef CHECK

/*
 * For the checks: a stream and the device memory of one check. After a failure every later call
 * does nothing, so a check asks only at its end: `return bench_close(&b)`.
 */
struct bench {
	struct device *device;
	struct stream *stream;
	struct {
		void *memory;
		size_t bytes;
	} buffers[24];
	int count;
	struct error *err;
};

void bench_open(struct bench *b, struct device *device, struct error *err);
/* Device memory with a copy of `data` (NULL: bytes of 0xee). */
void *bench_upload(struct bench *b, const void *data, size_t bytes);
/* Launches, and waits. */
void bench_launch(struct bench *b, const char *kernel, const void *arguments);
void bench_gemm(struct bench *b, const struct gemm *gemm);
void bench_download(struct bench *b, void *to, const void *from, size_t bytes);
bool bench_ok(const struct bench *b);
enum status bench_close(struct bench *b);

/*
 * Elements as double. Stores exactly representable ones of the pair's precision, rounded to nearest
 * even.
 */
double element_get(const void *tensor, enum precision precision, size_t index);
void element_set(void *tensor, enum precision precision, size_t index, double value);
/* Half a unit in the last place of `value`: the error of storing it. */
double element_rounding(enum precision precision, double value);

/* A tensor of `count` random elements in [-scale, scale), freed by the caller. */
void *random_tensor(enum precision precision, size_t count, uint64_t seed, double scale);
double random_uniform(uint64_t *state);

/*
 * A tensor on the host and on the device, with a few elements after its end that no kernel may
 * touch. `was` keeps what was uploaded, tensor_fetch() brings what is there now to `now`.
 */
struct tensor {
	enum precision precision;
	size_t count;
	void *was, *now;
	void *device;
};
/* Random elements in [-scale, scale). */
void tensor_make(struct bench *b, struct tensor *t, enum precision precision, size_t count,
		 uint64_t seed, double scale);
void tensor_fetch(struct bench *b, struct tensor *t, const char *what);
/* On the device what was uploaded, again. */
void tensor_restore(struct bench *b, const struct tensor *t);
void tensor_free(struct tensor *t);
static inline double tensor_was(const struct tensor *t, size_t index)
{
	return element_get(t->was, t->precision, index);
}
static inline double tensor_now(const struct tensor *t, size_t index)
{
	return element_get(t->now, t->precision, index);
}
/* The rounding error of one operation in the arithmetic for `precision`: 2^-53 or 2^-24. */
double arithmetic_rounding(enum precision precision);

/* Sets STATUS_MISMATCH unless |got - expected| <= tolerance; NaN passes for NaN only. */
bool compare(struct error *err, const char *what, enum precision precision, size_t index,
	     double got, double expected, double tolerance);

#endif
