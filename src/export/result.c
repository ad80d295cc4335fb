/* JSON export: the document unchanged, or as --anonymise left it. */
#include <stdlib.h>

#include "export/export.h"

static void export_result_json(const struct export_input *input, struct text *out)
{
	char *json = result_to_json(input->result);

	text_add(out, json);
	free(json);
}

const struct exporter export_result = { export_result_json, NULL };
