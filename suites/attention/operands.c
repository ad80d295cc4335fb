#include "suites/attention/operands.h"

#include "kernels/memory/fill.h"

uint64_t attention_count(const struct attention *a, enum tensor tensor)
{
	const struct attention_shape *s = &a->shape;
	uint64_t rows = (uint64_t)s->batch * s->sequence;
	bool fused = a->implementation == FUSED, backward = a->pass == BACKWARD;

	switch (tensor) {
	case INPUTS:
		return rows * s->ld_qkv;
	case OUTPUT_GRADIENTS:
		return backward ? rows * s->ld_o : 0;
	case OUTPUTS:
		return fused || !backward ? rows * s->ld_o : 0;
	case RESULTS:
		return backward ? rows * s->ld_qkv : 0;
	case LSE:
		return fused ? attention_row_values(s) : 0;
	case DELTA:
		return fused && backward ? attention_row_values(s) : 0;
	case HEAD:
		return (uint64_t)s->sequence * s->head_size;
	default:
		return fused ? 0 : (uint64_t)a->scored * s->sequence * s->sequence;
	}
}

size_t attention_element_bytes(const struct attention *a, enum tensor tensor)
{
	return tensor == LSE || tensor == DELTA ? sizeof(float)
						: precision_bytes(a->shape.precision);
}

uint64_t attention_bytes(const struct attention *a, bool all)
{
	const struct attention_shape *s = &a->shape;
	uint64_t bytes = 0, scores = attention_count(a, SCORES);

	for (int t = 0; t < SCORES; t++)
		bytes += attention_count(a, (enum tensor)t) *
			 attention_element_bytes(a, (enum tensor)t);
	if (all)
		scores = scores / a->scored * s->heads * s->batch;
	return bytes + scores * attention_element_bytes(a, SCORES);
}

char *attention_at(const struct attention *a, enum tensor tensor, uint64_t element)
{
	return (char *)a->tensors[tensor].memory + element * attention_element_bytes(a, tensor);
}

uint64_t attention_place(const struct attention *a, enum part part, uint64_t b, uint64_t i,
			 uint64_t h)
{
	return (b * a->shape.sequence + i) * a->shape.ld_qkv + (uint64_t)part * a->shape.ld_o +
	       h * a->shape.head_size;
}

uint64_t attention_place_out(const struct attention *a, uint64_t b, uint64_t i, uint64_t h)
{
	return (b * a->shape.sequence + i) * a->shape.ld_o + h * a->shape.head_size;
}

enum status attention_fill(struct attention *a, enum tensor tensor, struct error *err)
{
	static const enum fill_kind kind_of[PRECISION_COUNT] = { [PRECISION_FP32] = FILL_FP32,
								 [PRECISION_FP16] = FILL_FP16,
								 [PRECISION_BF16] = FILL_BF16 };
	struct fill_arguments fill = { .memory = a->tensors[tensor].memory,
				       .kind = kind_of[a->shape.precision],
				       .count = attention_count(a, tensor),
				       .seed = a->seed + (uint64_t)tensor,
				       .scale = SPREAD };

	return backend_launch(a->stream, "fill", &fill, err);
}
