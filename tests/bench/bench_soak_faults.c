/*
 * usage: bench_soak_faults [TRIALS] [SOUND] [PERCENT]...   (400, 10000; 30, 63 and 95)
 *
 * How often soaks on an emulated device that breaks find it, for each way to fail, where their
 * results state PERCENT; and how many of SOUND soaks of a sound device raise an alarm (a false
 * alarm ends the program). tests/unit/suites/test_soak_faults.c checks the same in reduced size. On
 * a machine with other work, one core alone (taskset -c 0) is the fastest.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "sample_soak.h"

int main(int argc, char **argv)
{
	static const char *const usual[] = { "30", "63", "95" };
	int trials = argc > 1 ? atoi(argv[1]) : 400, sound = argc > 2 ? atoi(argv[2]) : 10000;
	const char *const *stated = argc > 3 ? (const char *const *)argv + 3 : usual;
	int count = argc > 3 ? argc - 3 : 3;

	printf("%% found of %d trials, where these are stated; alarms of sound devices\n%-16s",
	       trials, "");
	for (int p = 0; p < count; p++)
		printf(" %6s", stated[p]);
	printf("\n");
	for (int fault = 0; fault < SOAK_FAULTS; fault++) {
		struct soak_rig *rig = soak_rig_open((enum soak_fault)fault);
		int share = sound / SOAK_FAULTS + (fault < sound % SOAK_FAULTS), alarms = 0;

		printf("%-16s", soak_fault_name((enum soak_fault)fault));
		for (int p = 0; p < count && trials; p++)
			printf(" %6.2f", 100 * soak_rig_found(rig, trials, atof(stated[p]) / 100));
		for (int i = 0; i < share; i++)
			alarms += soak_rig_run(rig, INFINITY, 1000000 + (uint64_t)i);
		printf("   %d of %d\n", alarms, share);
		fflush(stdout);
		soak_rig_close(rig);
	}
	return 0;
}
