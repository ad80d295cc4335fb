/*
 * The arithmetic of the elementwise kernels on the host, once in FP32 and once in FP64: included with REAL, the
 * type, LOOP(name), the function's name. No include guard.
 */

HOST_VECTORISED
static void LOOP(scale)(REAL *x, uint64_t count, REAL factor)
{
	for (uint64_t i = 0; i < count; i++)
		x[i] *= factor;
}

HOST_VECTORISED
static void LOOP(bias)(REAL *y, const REAL *bias, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++)
		y[i] += bias[i];
}

HOST_VECTORISED
static void LOOP(bias_relu)(REAL *y, const REAL *bias, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++) {
		REAL sum = y[i] + bias[i];

		y[i] = sum > 0 ? sum : 0;
	}
}

HOST_VECTORISED
static void LOOP(relu_backward)(REAL *dy, const REAL *y, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++)
		dy[i] = y[i] > 0 ? dy[i] : 0;
}

#undef REAL
#undef LOOP
