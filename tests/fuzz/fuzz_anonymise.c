/* Any text: what was learned does not survive, and text stays text. */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "result/anonymise/anonymise.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct anonymiser *anonymiser;
	struct error err = ERROR_NONE;
	char *text = xstrndup((const char *)data, size), *out;

	if (!anonymiser) {
		if (anonymiser_new(&anonymiser, NULL, &err) != STATUS_OK)
			abort();
		anonymiser_learn(anonymiser, "host", "gollum7.corp.example");
		anonymiser_learn(anonymiser, "label", "acme-rack");
		anonymiser_learn(anonymiser, "uuid", "GPU-8f1c2d3e-1111-2222-3333-444455556666");
	}
	out = anonymise_text(anonymiser, text);
	if (strcasestr(out, "gollum7.corp.example") || strstr(out, "acme-rack") ||
	    (text_is_utf8(text, strlen(text)) && !text_is_utf8(out, strlen(out))))
		abort();
	free(out);
	free(text);
	return 0;
}
