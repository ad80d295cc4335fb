/* The signatures of soak_units.h on the CPU, whose "multiprocessors" are threads. */
#include "kernels/soak_units.h"

#include <math.h>
#include <string.h>

#include "device/host/host_kernel.h"
#include "kernels/half.h"

/* Words of a quarter's "shared memory" on the host. */
#define HOST_WORDS 256

/* The values of a warp: chains of lanes, each with as many bits as its class has. */
struct host_warp {
	uint64_t sums[UNIT_LANES]; /* a signature per lane */
	uint64_t fault;            /* the bit that lane 0 turns in its first value */
};

static uint32_t soak_units_host_bits_of_float(float x)
{
	uint32_t bits;

	memcpy(&bits, &x, sizeof(bits));
	return bits;
}

static void soak_units_host_fold_value(struct host_warp *w, uint32_t lane, uint64_t bits)
{
	w->sums[lane] = soak_units_fold(w->sums[lane], bits ^ (lane == 0 ? w->fault : 0));
	if (lane == 0)
		w->fault = 0;
}

#define CHAIN_VALUES (UNIT_LANES * UNIT_CHAINS)

VECTORISED
static void soak_units_host_steps_float(float *x, uint32_t steps)
{
	for (uint32_t step = 0; step < steps; step++)
		for (int i = 0; i < CHAIN_VALUES; i++)
			x[i] = __builtin_fmaf(x[i], x[i], UNIT_SHIFT);
}

VECTORISED
static void soak_units_host_steps_double(double *x, uint32_t steps)
{
	for (uint32_t step = 0; step < steps; step++)
		for (int i = 0; i < CHAIN_VALUES; i++)
			x[i] = __builtin_fma(x[i], x[i], (double)UNIT_SHIFT);
}

VECTORISED
static void soak_units_host_steps_half(uint16_t *x, uint32_t steps)
{
	for (uint32_t step = 0; step < steps; step++)
		for (int i = 0; i < CHAIN_VALUES; i++) {
			double value = (double)half_to_float(x[i]);

			/* Exact in FP64: rounded once. */
			x[i] = half_from_double(value * value + (double)UNIT_SHIFT);
		}
}

static void soak_units_host_float(struct host_warp *w, const struct soak_units_arguments *a)
{
	float x[CHAIN_VALUES];

	for (uint32_t i = 0; i < CHAIN_VALUES; i++)
		x[i] = soak_units_start(a->seed, i / UNIT_CHAINS, i % UNIT_CHAINS);
	soak_units_host_steps_float(x, a->steps);
	for (uint32_t i = 0; i < CHAIN_VALUES; i++)
		soak_units_host_fold_value(w, i / UNIT_CHAINS, soak_units_host_bits_of_float(x[i]));
}

static void soak_units_host_double(struct host_warp *w, const struct soak_units_arguments *a)
{
	double x[CHAIN_VALUES];

	for (uint32_t i = 0; i < CHAIN_VALUES; i++)
		x[i] = (double)soak_units_start(a->seed, i / UNIT_CHAINS, i % UNIT_CHAINS);
	soak_units_host_steps_double(x, a->steps);
	for (uint32_t i = 0; i < CHAIN_VALUES; i++) {
		uint64_t bits;

		memcpy(&bits, &x[i], sizeof(bits));
		soak_units_host_fold_value(w, i / UNIT_CHAINS, bits);
	}
}

/* Pairs, each half a chain of its own. */
static void soak_units_host_half(struct host_warp *w, const struct soak_units_arguments *a)
{
	uint16_t low[CHAIN_VALUES], high[CHAIN_VALUES];

	for (uint32_t i = 0; i < CHAIN_VALUES; i++) {
		float start = soak_units_start(a->seed, i / UNIT_CHAINS, i % UNIT_CHAINS);

		low[i] = half_from_float(start);
		high[i] = half_from_float(0.5f * start);
	}
	soak_units_host_steps_half(low, a->steps);
	soak_units_host_steps_half(high, a->steps);
	for (uint32_t i = 0; i < CHAIN_VALUES; i++)
		soak_units_host_fold_value(w, i / UNIT_CHAINS, low[i] | (uint32_t)high[i] << 16);
}

static uint32_t soak_units_host_convert_step(uint32_t x)
{
	float single = (float)(int32_t)x;
	double wide = (double)(x >> 4);
	uint16_t half = half_from_float(single * 0x1p-20f);

	return soak_units_imad(x ^ soak_units_host_bits_of_float(half_to_float(half)) ^
			       soak_units_host_bits_of_float(single) ^
			       soak_units_host_bits_of_float((float)wide) ^
			       (uint32_t)(int32_t)(single * 0.25f));
}

static void soak_units_host_shuffle(struct host_warp *w, const struct soak_units_arguments *a)
{
	for (uint32_t chain = 0; chain < UNIT_CHAINS; chain++) {
		uint32_t x[UNIT_LANES], old[UNIT_LANES];

		for (uint32_t lane = 0; lane < UNIT_LANES; lane++)
			x[lane] = soak_units_start_bits(a->seed, lane, chain);
		for (uint32_t step = 0; step < a->steps; step++) {
			memcpy(old, x, sizeof(old));
			for (uint32_t lane = 0; lane < UNIT_LANES; lane++)
				x[lane] = soak_units_imad(old[lane]) + old[lane ^ (step % 31 + 1)] +
					  old[(lane + 5 + step) % UNIT_LANES];
		}
		for (uint32_t lane = 0; lane < UNIT_LANES; lane++)
			soak_units_host_fold_value(w, lane, x[lane]);
	}
}

static void soak_units_host_registers(struct host_warp *w, const struct soak_units_arguments *a)
{
	for (uint32_t lane = 0; lane < UNIT_LANES; lane++) {
		uint32_t r[UNIT_REGISTERS_MOVED];

		for (uint32_t i = 0; i < UNIT_REGISTERS_MOVED; i++)
			r[i] = soak_units_start_bits(a->seed, lane, i);
		for (uint32_t step = 0; step < a->steps; step++) {
			uint32_t first = r[0];

			for (uint32_t i = 0; i + 1 < UNIT_REGISTERS_MOVED; i++)
				r[i] = soak_units_move(r[i + 1]);
			r[UNIT_REGISTERS_MOVED - 1] = soak_units_move(first);
		}
		for (uint32_t i = 0; i < UNIT_REGISTERS_MOVED; i++)
			soak_units_host_fold_value(w, lane, r[i]);
	}
}

/* March C-: each lane's sum over what it reads, in the order of its reads. */
static void soak_units_host_shared(struct host_warp *w, const struct soak_units_arguments *a,
				   uint32_t words)
{
	for (uint32_t lane = 0; lane < UNIT_LANES; lane++) {
		uint32_t sum = 0;

		for (uint32_t pass = 0; pass < a->steps; pass++)
			for (int element = 0; element < 5; element++) {
				uint32_t turned = element % 2 ? UINT32_MAX : 0;
				bool down = element == 2 || element == 3;

				for (uint32_t n = lane; n < words; n += UNIT_LANES) {
					uint32_t i = down ? words - UNIT_LANES + 2 * lane - n : n;

					sum = soak_units_imad(sum) +
					      (soak_units_pattern(a->seed, pass, i) ^ turned);
				}
			}
		soak_units_host_fold_value(w, lane, sum);
	}
}

/* Bits of a sum as the class keeps it. */
static uint64_t soak_units_host_mma_sum_bits(enum unit_class unit, int64_t sum)
{
	double wide = (double)sum;
	uint64_t bits;

	if (unit == UNIT_MMA_INT8)
		return (uint32_t)(int32_t)sum;
	if (unit != UNIT_MMA_FP64)
		return soak_units_host_bits_of_float((float)sum);
	memcpy(&bits, &wide, sizeof(bits));
	return bits;
}

/* The sums of the whole product as the lanes hold them: by tile, then by element. */
static void soak_units_host_mma(struct host_warp *w, const struct soak_units_arguments *a)
{
	int64_t products[UNIT_LEFTS * 16][UNIT_RIGHTS * 8];
	int elements = a->unit == UNIT_MMA_FP64 ? 2 : 4;

	for (int left = 0; left < UNIT_LEFTS * 16; left++)
		for (int right = 0; right < UNIT_RIGHTS * 8; right++) {
			int64_t sum = 0;

			for (int k = 0; k < (a->unit == UNIT_MMA_FP64   ? 4
					     : a->unit == UNIT_MMA_TF32 ? 8
					     : a->unit < UNIT_MMA_TF32  ? 16
									: 32);
			     k++)
				sum += (int64_t)soak_units_element(a->seed, 0, left, k) *
				       soak_units_element(a->seed, 1, right, k);
			products[left][right] = sum;
		}
	for (uint32_t done = 0; done < a->steps; done += UNIT_EXACT_STEPS) {
		uint32_t steps =
			a->steps - done < UNIT_EXACT_STEPS ? a->steps - done : UNIT_EXACT_STEPS;

		for (int n = 0; n < UNIT_LANES * UNIT_LEFTS * UNIT_RIGHTS * elements; n++) {
			int element = n % elements,
			    tile = n / elements % (UNIT_LEFTS * UNIT_RIGHTS),
			    lane = n / elements / (UNIT_LEFTS * UNIT_RIGHTS);
			int left = tile / UNIT_RIGHTS * 16 + lane / 4 + element / 2 * 8,
			    right = tile % UNIT_RIGHTS * 8 + lane % 4 * 2 + element % 2;

			soak_units_host_fold_value(w, (uint32_t)lane,
						   soak_units_host_mma_sum_bits(
							   a->unit, steps * products[left][right]));
		}
	}
}

static uint64_t soak_units_host_warp_signature(const struct soak_units_arguments *a, uint32_t words,
					       uint64_t fault)
{
	struct host_warp w = { .fault = fault };
	uint64_t signature = 0;

	if (a->unit == UNIT_FFMA || a->unit == UNIT_MUFU)
		soak_units_host_float(&w, a);
	else if (a->unit == UNIT_DFMA)
		soak_units_host_double(&w, a);
	else if (a->unit == UNIT_HFMA2)
		soak_units_host_half(&w, a);
	else if (a->unit == UNIT_SHUFFLE)
		soak_units_host_shuffle(&w, a);
	else if (a->unit == UNIT_REGISTERS)
		soak_units_host_registers(&w, a);
	else if (a->unit == UNIT_SHARED)
		soak_units_host_shared(&w, a, words);
	else if (a->unit >= UNIT_MMA_FP16)
		soak_units_host_mma(&w, a);
	else
		for (uint32_t i = 0; i < CHAIN_VALUES; i++) {
			uint32_t x =
				soak_units_start_bits(a->seed, i / UNIT_CHAINS, i % UNIT_CHAINS);

			for (uint32_t step = 0; step < a->steps; step++)
				x = a->unit == UNIT_IMAD    ? soak_units_imad(x)
				    : a->unit == UNIT_LOGIC ? soak_units_logic(x)
							    : soak_units_host_convert_step(x);
			soak_units_host_fold_value(&w, i / UNIT_CHAINS, x);
		}
	for (uint32_t lane = 0; lane < UNIT_LANES; lane++)
		signature += soak_units_fold(w.sums[lane], lane);
	return signature;
}

bool soak_units_host_expected(const struct soak_units_arguments *a, uint32_t words, uint64_t *out)
{
	*out = soak_units_host_warp_signature(a, words, 0);
	return a->unit != UNIT_MUFU;
}

static void soak_units_host_slice(void *context, unsigned part, uint64_t begin, uint64_t end)
{
	const struct soak_units_arguments *a = context;

	(void)part;
	for (uint64_t i = begin; i < end; i++) {
		uint32_t block = (uint32_t)i / UNIT_QUARTERS, quarter = (uint32_t)i % UNIT_QUARTERS;
		bool faulty = a->fault.is && a->fault.multiprocessor == block &&
			      a->fault.quarter == quarter;

		a->out[i] = (struct soak_unit){
			.signature = soak_units_host_warp_signature(
				a, HOST_WORDS, faulty ? UINT64_C(1) << a->fault.bit : 0),
			.began = block,
			.ended = block,
			.words = HOST_WORDS,
		};
	}
}

static enum status soak_units_run(struct stream *stream, const void *arguments, struct error *err)
{
	struct soak_units_arguments a = *(const struct soak_units_arguments *)arguments;

	(void)err;
	host_stream_parallel(stream, (uint64_t)a.blocks * UNIT_QUARTERS, 1, soak_units_host_slice,
			     &a);
	return STATUS_OK;
}
HOST_KERNEL(soak_units)
