#include "cli/input/layout_option.h"

#include <string.h>

enum status layout_take_option(const char *value, bool *separate_css, struct error *err)
{
	*separate_css = strcmp(value, "dir") == 0;
	if (*separate_css || strcmp(value, "single") == 0)
		return STATUS_OK;
	return error_set(err, STATUS_USAGE, "--layout takes single or dir, not '%.40s'", value);
}
