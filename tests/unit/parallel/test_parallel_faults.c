/*
 * An error planted in a product, a kernel, a collective or the optimizer is found by the
 * verification of the suite `parallel`, on every rank, before anything is timed.
 */
#include "kernels/training/training.h"
#include "parallel_setups.h"

#include <stdlib.h>

#include "base/memory.h"

/*
 * Planted errors: a copy of the device's backend with one function that does something slightly
 * wrong.
 */

static const struct backend *sound;

static enum status sum_for_average(struct communicator *c, struct stream *stream, void *to,
				   const void *from, size_t count, enum precision precision,
				   enum reduction reduction, struct error *err)
{
	(void)reduction;
	return sound->all_reduce(c, stream, to, from, count, precision, REDUCE_SUM, err);
}

static enum status forget_the_last_bucket(struct communicator *c, struct stream *stream, void *to,
					  const void *from, size_t count, enum precision precision,
					  enum reduction reduction, struct error *err)
{
	static int calls;

	if (++calls % 4 == 0)
		return STATUS_OK;
	return sound->all_reduce(c, stream, to, from, count, precision, reduction, err);
}

/* One more ulp on rank 1 only: within every tolerance, yet the replicas part. */
static enum status disagree_slightly(struct communicator *c, struct stream *stream, void *to,
				     const void *from, size_t count, enum precision precision,
				     enum reduction reduction, struct error *err)
{
	enum status status =
		sound->all_reduce(c, stream, to, from, count, precision, reduction, err);

	if (status == STATUS_OK && c->rank == 1)
		status = sound->stream_synchronize(stream, err);
	if (status == STATUS_OK && c->rank == 1)
		((float *)to)[0] *= 1 + 0x1p-20f;
	return status;
}

static enum status average_for_sum(struct communicator *c, struct stream *stream, void *to,
				   const void *from, size_t count, enum precision precision,
				   enum reduction reduction, struct error *err)
{
	(void)reduction;
	return sound->all_reduce(c, stream, to, from, count, precision, REDUCE_AVERAGE, err);
}

/* A gradient that arrives in the place of another. */
static enum status receive_the_one_before(struct communicator *c, struct stream *stream, void *to,
					  size_t bytes, int peer, struct error *err)
{
	static struct communicator *gradients;
	static char *before;
	char *now;
	enum status status = sound->receive(c, stream, to, bytes, peer, err);

	/* The first rank receives gradients only, until its results are collected. */
	gradients = gradients ? gradients : c;
	if (c->rank > 0 || c != gradients)
		return status;
	now = xmalloc(bytes);
	if (status == STATUS_OK)
		status = sound->stream_synchronize(stream, err);
	memcpy(now, to, bytes);
	if (before)
		memcpy(to, before, bytes);
	free(before);
	before = now;
	return status;
}

static enum status forget_the_third(struct communicator *c, struct stream *stream, void *to,
				    const void *from, size_t count, enum precision precision,
				    enum reduction reduction, struct error *err)
{
	static int calls;

	if (++calls % 3 == 0)
		return STATUS_OK;
	return sound->all_reduce(c, stream, to, from, count, precision, reduction, err);
}

/* The slices of the first two ranks change places. */
static enum status gather_in_disorder(struct communicator *c, struct stream *stream, void *to,
				      const void *from, size_t count, enum precision precision,
				      struct error *err)
{
	size_t bytes = count * precision_bytes(precision);
	char *first = xmalloc(bytes);
	enum status status = sound->all_gather(c, stream, to, from, count, precision, err);

	if (status == STATUS_OK)
		status = sound->stream_synchronize(stream, err);
	memcpy(first, to, bytes);
	memcpy(to, (char *)to + bytes, bytes);
	memcpy((char *)to + bytes, first, bytes);
	free(first);
	return status;
}

static enum status gather_nothing(struct communicator *c, struct stream *stream, void *to,
				  const void *from, size_t count, enum precision precision,
				  struct error *err)
{
	(void)c;
	(void)stream;
	(void)to;
	(void)from;
	(void)count;
	(void)precision;
	(void)err;
	return STATUS_OK;
}

static enum status sum_and_scatter(struct communicator *c, struct stream *stream, void *to,
				   const void *from, size_t count, enum precision precision,
				   enum reduction reduction, struct error *err)
{
	(void)reduction;
	return sound->reduce_scatter(c, stream, to, from, count, precision, REDUCE_SUM, err);
}

static enum status broadcast_nothing(struct communicator *c, struct stream *stream, void *buffer,
				     size_t bytes, int root, struct error *err)
{
	(void)c;
	(void)stream;
	(void)buffer;
	(void)bytes;
	(void)root;
	(void)err;
	return STATUS_OK;
}

static enum status reduce_nothing(struct communicator *c, struct stream *stream, void *to,
				  const void *from, size_t count, enum precision precision,
				  enum reduction reduction, int root, struct error *err)
{
	(void)c;
	(void)stream;
	(void)to;
	(void)from;
	(void)count;
	(void)precision;
	(void)reduction;
	(void)root;
	(void)err;
	return STATUS_OK;
}

static enum status receive_late(struct communicator *c, struct stream *stream, void *to,
				size_t bytes, int peer, struct error *err)
{
	char *copy = xmalloc(bytes);
	enum status status = sound->receive(c, stream, to, bytes, peer, err);

	/* As if each row arrived one element late. */
	if (status == STATUS_OK)
		status = sound->stream_synchronize(stream, err);
	memcpy(copy, to, bytes);
	memcpy((char *)to + 4, copy, bytes - 4);
	free(copy);
	return status;
}

static enum status gemm_slightly_off(struct stream *stream, const struct gemm *gemm,
				     struct error *err)
{
	struct gemm off = *gemm;

	off.alpha *= 1.0001;
	return sound->gemm(stream, &off, err);
}

/*
 * A product with a ReLU writes zeros: no unit passes, and a reference with the run's masks computes
 * zeros as well.
 */
static enum status gemm_cuts_all(struct stream *stream, const struct gemm *gemm, struct error *err)
{
	struct gemm off = *gemm;

	if (gemm->epilogue == EPILOGUE_BIAS_RELU) {
		off.alpha = off.beta = 0;
		off.epilogue = EPILOGUE_NONE;
		off.bias = NULL;
	}
	return sound->gemm(stream, &off, err);
}

static enum status nothing(struct stream *stream, const void *arguments, struct error *err)
{
	(void)stream;
	(void)arguments;
	(void)err;
	return STATUS_OK;
}

/* The pass over the outputs' gradients, without one of the things it does. */
static enum status pass_without_mask(struct stream *stream, const void *arguments,
				     struct error *err)
{
	struct output_gradient_arguments pass =
		*(const struct output_gradient_arguments *)arguments;

	pass.y = NULL;
	return sound->kernel("output_gradient")(stream, &pass, err);
}

static enum status pass_without_sum(struct stream *stream, const void *arguments, struct error *err)
{
	struct output_gradient_arguments pass =
		*(const struct output_gradient_arguments *)arguments;

	pass.sum = NULL;
	return sound->kernel("output_gradient")(stream, &pass, err);
}

/* The second half of the rows is left out. */
static enum status pass_half_transposed(struct stream *stream, const void *arguments,
					struct error *err)
{
	struct output_gradient_arguments pass =
		*(const struct output_gradient_arguments *)arguments;

	if (pass.transposed)
		pass.rows /= 2;
	return sound->kernel("output_gradient")(stream, &pass, err);
}

static kernel_fn *no_relu_backward(const char *name)
{
	return strcmp(name, "output_gradient") == 0 ? pass_without_mask : sound->kernel(name);
}

static kernel_fn *no_bias_gradient(const char *name)
{
	return strcmp(name, "output_gradient") == 0 ? pass_without_sum : sound->kernel(name);
}

static kernel_fn *half_transposed(const char *name)
{
	return strcmp(name, "output_gradient") == 0 ? pass_half_transposed : sound->kernel(name);
}

static kernel_fn *no_optimizer(const char *name)
{
	return strncmp(name, "optimizer", 9) == 0 ? nothing : sound->kernel(name);
}

struct planted {
	struct setup setup;
	struct backend changes; /* non-NULL members replace the device's */
};

static enum status run_planted(struct device *device, struct world *world, void *context,
			       struct error *err)
{
	const struct planted *planted = context;
	static struct backend broken;

	sound = device->backend;
	broken = *sound;
	if (planted->changes.all_reduce)
		broken.all_reduce = planted->changes.all_reduce;
	if (planted->changes.all_gather)
		broken.all_gather = planted->changes.all_gather;
	if (planted->changes.reduce_scatter)
		broken.reduce_scatter = planted->changes.reduce_scatter;
	if (planted->changes.broadcast)
		broken.broadcast = planted->changes.broadcast;
	if (planted->changes.reduce)
		broken.reduce = planted->changes.reduce;
	if (planted->changes.receive)
		broken.receive = planted->changes.receive;
	if (planted->changes.gemm)
		broken.gemm = planted->changes.gemm;
	if (planted->changes.kernel)
		broken.kernel = planted->changes.kernel;
	device->backend = &broken;
	return run_reference(device, world, (void *)&planted->setup, err);
}

static void expect_found(struct planted planted, const char *what, const char *words)
{
	int ranks = planted.setup.ranks;
	const struct rank_outcome *outcomes = run_ranks(ranks, run_planted, &planted);

	assert_ranks(outcomes, ranks, STATUS_MISMATCH, what);
	for (int rank = 0; rank < ranks; rank++)
		if (!strstr(outcomes[rank].err.message, words))
			fail_msg("%s: \"%s\" does not say \"%s\"", what, outcomes[rank].err.message,
				 words);
}

static void planted_errors_are_found(void **state)
{
	struct setup ddp = tiny("ddp", 2, PRECISION_FP32),
		     split = tiny("layer_split", 2, PRECISION_FP32);
	struct setup single = tiny("single", 1, PRECISION_FP32),
		     tensor = tiny("tensor", 2, PRECISION_FP32),
		     pipeline = tiny("1f1b", 2, PRECISION_FP32),
		     eager = tiny("1f1b_eager", 2, PRECISION_FP32);

	(void)state;
	ddp.bucket_bytes = 1;
	pipeline.microbatches = eager.microbatches = 8;
	expect_found((struct planted){ tensor, { .all_reduce = average_for_sum } },
		     "average for sum", "loss");
	expect_found((struct planted){ tensor, { .all_reduce = forget_the_third } },
		     "forgotten sum", "gradient");
	expect_found((struct planted){ tensor, { .all_reduce = disagree_slightly } },
		     "replicated biases", "bitwise equal");
	expect_found((struct planted){ pipeline, { .receive = receive_late } },
		     "shifted activations", "loss");
	expect_found((struct planted){ pipeline, { .receive = receive_the_one_before } },
		     "micro-batches in the wrong order", "gradient");
	expect_found((struct planted){ eager, { .receive = receive_the_one_before } },
		     "micro-batches in the wrong order", "gradient");
	expect_found((struct planted){ ddp, { .all_reduce = sum_for_average } }, "sum for average",
		     "gradient");
	expect_found((struct planted){ ddp, { .all_reduce = forget_the_last_bucket } },
		     "forgotten bucket", "gradient");
	expect_found((struct planted){ ddp, { .all_reduce = disagree_slightly } }, "replicas",
		     "bitwise equal");
	expect_found((struct planted){ split, { .receive = receive_late } }, "shifted activations",
		     "loss");
	expect_found((struct planted){ single, { .gemm = gemm_slightly_off } }, "product", "loss");
	expect_found((struct planted){ single, { .kernel = no_relu_backward } }, "no ReLU mask",
		     "gradient");
	expect_found((struct planted){ single, { .kernel = no_bias_gradient } }, "no bias gradient",
		     "bias");
	expect_found((struct planted){ single, { .kernel = no_optimizer } }, "no optimizer",
		     "updates");
	single.fusion = FUSION_ON;
	expect_found((struct planted){ single, { .gemm = gemm_cuts_all } }, "dead units",
		     "ReLU inputs whose sign");
	single.fusion = FUSION_AUTO;
	single.weight_gradient = WGRAD_TRANSPOSED;
	expect_found((struct planted){ single, { .kernel = half_transposed } },
		     "half a transposed copy", "gradient");
}

static void planted_errors_in_zero_are_found(void **state)
{
	(void)state;
	for (int stage = 1; stage <= 3; stage++) {
		char mode[] = "zero1";
		struct setup zero;

		mode[4] = (char)('0' + stage);
		zero = tiny(mode, 2, PRECISION_FP32);
		expect_found((struct planted){ zero, { .reduce_scatter = sum_and_scatter } }, mode,
			     "gradient");
		/* Stages 1 and 2 gather after the update, stage 3 before it computes. */
		expect_found((struct planted){ zero, { .all_gather = gather_in_disorder } }, mode,
			     stage < 3 ? "parameter" : "loss");
		expect_found((struct planted){ zero, { .all_gather = gather_nothing } }, mode,
			     stage < 3 ? "bitwise equal" : "loss");
	}
}

static void planted_errors_with_a_server_are_found(void **state)
{
	(void)state;
	for (int on_server = 0; on_server <= 1; on_server++) {
		struct setup naive = tiny("dp_naive", 2, PRECISION_FP32);

		naive.loss_on_server = on_server;
		expect_found((struct planted){ naive, { .broadcast = broadcast_nothing } },
			     "no parameters", "loss");
		expect_found((struct planted){ naive, { .reduce = reduce_nothing } },
			     "no sum of gradients", "gradient");
		expect_found((struct planted){ naive, { .receive = receive_late } },
			     "shifted input", "loss");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(planted_errors_are_found),
		cmocka_unit_test(planted_errors_in_zero_are_found),
		cmocka_unit_test(planted_errors_with_a_server_are_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
