#include "cli/input/result_limits.h"

#include <stdio.h>
#include <string.h>

#include "judge/judge.h"

enum status result_limits(const char *named, const struct result *result, bool shipped,
			  struct limits *limits)
{
	struct text errors = TEXT_EMPTY;
	enum status status = STATUS_OK;

	*limits = (struct limits){ 0 };
	if (named)
		status = limits_load(limits, named, &errors);
	else if ((shipped && !judge_by_trend(result)) || strstr(result->config_text, "[limit "))
		status = limits_of_result(limits, result, &errors);
	if (errors.data)
		fputs(errors.data, stderr);
	text_release(&errors);
	if (status == STATUS_OK && !limits_fit(limits, result)) {
		limits_release(limits);
		status = STATUS_USAGE;
	}
	return status;
}

bool limits_fit(const struct limits *limits, const struct result *result)
{
	struct text errors = TEXT_EMPTY;
	bool fit = limits_make_sense(limits, result, &errors);

	if (errors.data)
		fputs(errors.data, stderr);
	text_release(&errors);
	return fit;
}

bool result_keeps_judgement(struct result *result, const char *limits, size_t baselines,
			    bool strict)
{
	if (!result->judgement || limits || baselines)
		return false;
	if (strict && !result->judgement->strict) {
		result->judgement->strict = true;
		verdicts_finish(result->judgement);
	}
	return true;
}
