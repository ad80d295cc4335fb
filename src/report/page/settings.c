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

static enum status page_settings_check_memory_limits(const char *text, struct error *err)
{
	struct memory_limit limits[LIMITS_MOST];
	size_t count;

	return memory_limits_parse(text, limits, &count, err);
}

static enum status report_settings_check_baseline(const char *text, struct error *err)
{
	return report_reference_check("", text, err);
}

static enum status report_settings_check_reference(const char *text, struct error *err)
{
	return report_reference_check(text, "", err);
}

const struct key report_keys[] = {
	{ .name = "title",
	  .type = KEY_TEXT,
	  .fallback = "",
	  .help = "title of a run's page and of its acceptance page; empty: a title derived from "
		  "the run" },
	{ .name = "author",
	  .type = KEY_TEXT,
	  .fallback = "",
	  .help = "name of the person or organisation that publishes the page" },
	{ .name = "note",
	  .type = KEY_TEXT,
	  .fallback = "",
	  .help = "text of the publisher, shown below the title of the page" },
	{ .name = "licence",
	  .type = KEY_TEXT,
	  .fallback = "",
	  .help = "licence of the page and its charts, such as CC-BY-4.0" },
	{ .name = "reference",
	  .type = KEY_TEXT,
	  .fallback = "",
	  .help = "reference GPUs to show next to the measured ones, with published figures and "
		  "data sheets: all, or ids and architectures from `gpuproof list gpus`",
	  .check = report_settings_check_reference },
	{ .name = "claims",
	  .type = KEY_BOOL,
	  .fallback = "no",
	  .help = "test the claims of published guides on memory and several GPUs against the "
		  "measurements" },
	{ .name = "memory_limits",
	  .type = KEY_TEXT,
	  .fallback = "",
	  .help = "memory sizes of a device for which the page names the fastest strategy of each "
		  "model: sizes (8GiB) or ids from `gpuproof list gpus`",
	  .check = page_settings_check_memory_limits },
	{ .name = "baseline",
	  .type = KEY_TEXT,
	  .fallback = "",
	  .help = "reference GPU for ratios; empty: the one that shares most figures with the "
		  "measured GPU",
	  .check = report_settings_check_baseline },
	{ 0 },
};
