/*
 * Detects a power limit that set in during sampling. Long GEMMs soon meet the power limit, at a
 * random moment: of two healthy H200s that multiplied 8192 x 8192 matrices in TF32, one met it
 * halfway through its samples and the other not at all, 13 % apart. With [suite ...] preheat = 1s
 * both reach their steady state before the first sample.
 */
#include "judge/judging.h"
#include "judge/population/population_key.h"

bool judge_power_cap_hit_mid_sampling(const struct judge_input *input,
				      const struct subject *subject)
{
	const struct telemetry_during *during = &subject->first->during;

	return during->throttled > 0 && during->throttled < during->readings &&
	       case_throttle_reasons(subject->first) == THROTTLE_POWER_LIMIT &&
	       !case_is_preheated(&input->results[0], subject->first);
}

enum verdict judge_downgrade_if_throttled(const struct judge_input *input,
					  const struct subject *subject, enum verdict verdict)
{
	if ((verdict == VERDICT_FAIL || verdict == VERDICT_WARN) &&
	    judge_power_cap_hit_mid_sampling(input, subject))
		return VERDICT_INCONCLUSIVE;
	return verdict;
}
