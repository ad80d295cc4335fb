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
	if (status == STATUS_OK && !limits_make_sense(limits, result, &errors)) {
		limits_release(limits);
		status = STATUS_USAGE;
	}
	if (errors.data)
		fputs(errors.data, stderr);
	text_release(&errors);
	return status;
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
