#include "cli/output/print.h"

#include <stdio.h>
#include <stdlib.h>

#include "result/json/json_writer.h"

void print_json(struct json_writer *w)
{
	char *text = writer_finish(w);

	fputs(text, stdout);
	free(text);
}

void print_date_member(struct json_writer *w, const char *name, int64_t day)
{
	char date[16];

	history_date(day, date);
	writer_text_member(w, name, date);
}
