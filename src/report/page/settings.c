#include "report/page/html.h"

#include <string.h>

#include "plan/schema.h"
#include "report/reference/reference.h"
#include "report/view/memory_limit.h"

const char *report_setting(const struct result *result, const char *key)
{
	for (size_t i = 0; i < result->setting_count; i++)
		if (strcmp(view_string(result->settings[i].section), "report") == 0 &&
		    strcmp(view_string(result->settings[i].key), key) == 0)
			return view_string(result->settings[i].value);
	return "";
}

static enum status check_memory_limits(const char *text, struct error *err)
{
	struct memory_limit limits[LIMITS_MOST];
	size_t count;

	return memory_limits_parse(text, limits, &count, err);
}

static enum status report_settings_check_baseline(const char *text, struct error *err)
{
	return reference_check("", text, err);
}

static enum status report_settings_check_reference(const char *text, struct error *err)
{
	return reference_check(text, "", err);
}

const struct key report_keys[] = {
	{ .name = "title",
	  .type = KEY_TEXT,
	  .fallback = "",
	  .help = "title of a run's page and of its acceptance page; empty: derived from the run" },
	{ .name = "author", .type = KEY_TEXT, .fallback = "", .help = "who publishes the page" },
	{ .name = "note",
	  .type = KEY_TEXT,
	  .fallback = "",
	  .help = "the publisher's own words, below the title of the page" },
	{ .name = "licence",
	  .type = KEY_TEXT,
	  .fallback = "",
	  .help = "licence of the page and its charts: CC-BY-4.0" },
	{ .name = "reference",
	  .type = KEY_TEXT,
	  .fallback = "",
	  .help = "GPUs whose published figures and data sheets are shown with the measured ones: "
		  "all, or ids and architectures of `gpuproof list gpus`",
	  .check = report_settings_check_reference },
	{ .name = "claims",
	  .type = KEY_BOOL,
	  .fallback = "no",
	  .help = "test the claims of guides about memory and several GPUs against the "
		  "measurements" },
	{ .name = "memory_limits",
	  .type = KEY_TEXT,
	  .fallback = "",
	  .help = "memory of a device for which the page names the best strategy of each model: "
		  "sizes (8GiB) and ids of `gpuproof list gpus`",
	  .check = check_memory_limits },
	{ .name = "baseline",
	  .type = KEY_TEXT,
	  .fallback = "",
	  .help = "reference: the GPU that ratios refer to; empty: the one with the most figures "
		  "in common with the measured GPU",
	  .check = report_settings_check_baseline },
	{ 0 },
};
