#include "cli/result_limits.h"

#include <stdio.h>
#include <string.h>

enum status result_limits(const char *named, const struct result *result, bool shipped,
			  struct limits *limits)
{
	struct text errors = TEXT_EMPTY;
	enum status status = STATUS_OK;

	*limits = (struct limits){ 0 };
	if (named)
		status = limits_load(limits, named, &errors);
	else if (shipped || strstr(result->config_text, "[limit "))
		status = limits_of_result(limits, result, &errors);
	if (status == STATUS_OK && !limits_make_sense(limits, result, &errors)) {
		limits_release(limits);
		status = STATUS_USAGE;
	}
	if (status != STATUS_OK)
		fputs(errors.data ? errors.data : "", stderr);
	text_release(&errors);
	return status;
}
