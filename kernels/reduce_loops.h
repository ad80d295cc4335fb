/*
 * The arithmetic of the row-wise kernels on the host, once in FP32 and once in FP64: included with REAL, the
 * type, LOOP(name), the function's name, and REAL_EXP. No include guard.
 */

HOST_VECTORISED
static void LOOP(add_to)(double *sum, const REAL *x, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++)
		sum[i] += (double)x[i];
}

/* Turns the logits into their gradient and returns the loss. */
static double LOOP(softmax)(REAL *logits, uint64_t count, uint64_t label, REAL gradient_scale)
{
	REAL most = logits[0], chosen = logits[label], sum = 0;

	for (uint64_t i = 1; i < count; i++)
		most = logits[i] > most ? logits[i] : most;
	for (uint64_t i = 0; i < count; i++) {
		logits[i] = REAL_EXP(logits[i] - most);
		sum += logits[i];
	}
	for (uint64_t i = 0; i < count; i++)
		logits[i] = (logits[i] / sum - (i == label ? 1 : 0)) * gradient_scale;
	return log((double)sum) + (double)most - (double)chosen;
}

#undef REAL
#undef LOOP
#undef REAL_EXP
