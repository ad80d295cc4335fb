/*
 * The arithmetic of the optimizers on the host, once in FP32 and once in FP64: included with REAL, the
 * type, LOOP(name), the function's name, and REAL_SQRT. No include guard.
 */

HOST_VECTORISED
static void LOOP(sgd)(REAL *restrict w, const REAL *restrict g, uint64_t count, REAL rate, REAL scale)
{
	for (uint64_t i = 0; i < count; i++)
		w[i] -= rate * (g[i] * scale);
}

HOST_VECTORISED
static void LOOP(sgd_momentum)(REAL *restrict w, REAL *restrict velocity, const REAL *restrict g, uint64_t count,
			       REAL rate, REAL momentum, REAL scale)
{
	for (uint64_t i = 0; i < count; i++) {
		velocity[i] = momentum * velocity[i] + g[i] * scale;
		w[i] -= rate * velocity[i];
	}
}

HOST_VECTORISED
static void LOOP(adam)(REAL *restrict w, REAL *restrict m, REAL *restrict v, const REAL *restrict gradient,
		       uint64_t count, const struct optimizer_adam_arguments *a)
{
	REAL b1 = (REAL)a->beta1, b2 = (REAL)a->beta2, rest1 = (REAL)(1 - a->beta1), rest2 = (REAL)(1 - a->beta2);
	REAL c1 = (REAL)a->correction1, c2 = (REAL)a->correction2, rate = (REAL)a->rate;
	REAL epsilon = (REAL)a->epsilon, scale = (REAL)a->gradient_scale;

	for (uint64_t i = 0; i < count; i++) {
		REAL g = gradient[i] * scale;

		m[i] = b1 * m[i] + rest1 * g;
		v[i] = b2 * v[i] + rest2 * g * g;
		w[i] -= rate * (m[i] / c1) / (REAL_SQRT(v[i] / c2) + epsilon);
	}
}

#undef REAL
#undef LOOP
#undef REAL_SQRT
