/*
 * A soak finds each way to fail as often as its result says, and raises no alarm where nothing is
 * wrong. tests/bench/bench_soak_faults.c does the same at length.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "sample_soak.h"

#define TRIALS 20
#define SOUND 5

static void faults_are_found_as_often_as_stated(void **state)
{
	static const double probabilities[] = { 0.3, 0.63, 0.95 };

	(void)state;
	for (int fault = 0; fault < SOAK_FAULTS; fault++) {
		struct soak_rig *rig = soak_rig_open((enum soak_fault)fault);
		double stated = probabilities[fault % 3], found;

		found = soak_rig_found(rig, TRIALS, stated);
		if (fabs(found - stated) > 1.0 / TRIALS + 0.02)
			fail_msg("%s: found %g, stated %g", soak_fault_name((enum soak_fault)fault),
				 found, stated);
		for (int i = 0; i < SOUND; i++)
			assert_false(soak_rig_run(rig, INFINITY, 1000 + (uint64_t)i));
		soak_rig_close(rig);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(faults_are_found_as_often_as_stated),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
