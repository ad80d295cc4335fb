/*
 * usage: bench_soak_faults [TRIALS] [SOUND]   (400, 10000)
 *
 * How often soaks on an emulated device that breaks find it, compared with what their results
 * state, for each way to fail; and how many of SOUND soaks of a sound device raise an alarm (a
 * false alarm ends the program). tests/unit/suites/test_soak_faults.c checks the same in reduced
 * size.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "sample_soak.h"

int main(int argc, char **argv)
{
	static const double probabilities[] = { 0.3, 0.63, 0.95 };
	int trials = argc > 1 ? atoi(argv[1]) : 400, sound = argc > 2 ? atoi(argv[2]) : 10000;

	printf("found of %d trials, in %%, where 30, 63 and 95 %% are stated; alarms of sound "
	       "devices\n",
	       trials);
	for (int fault = 0; fault < SOAK_FAULTS; fault++) {
		struct soak_rig *rig = soak_rig_open((enum soak_fault)fault);
		int share = sound / SOAK_FAULTS + (fault < sound % SOAK_FAULTS), alarms = 0;

		printf("%-16s", soak_fault_name((enum soak_fault)fault));
		for (int p = 0; p < 3; p++)
			printf(" %6.2f", 100 * soak_rig_found(rig, trials, probabilities[p]));
		for (int i = 0; i < share; i++)
			alarms += soak_rig_run(rig, INFINITY, 1000000 + (uint64_t)i);
		printf("   %d of %d\n", alarms, share);
		fflush(stdout);
		soak_rig_close(rig);
	}
	return 0;
}
