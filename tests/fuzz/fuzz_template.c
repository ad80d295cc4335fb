/*
 * A page and, after a line "===", a partial "part": what the checks let through, mstch renders
 * without a crash.
 */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "report/template/template.h"

#define SEPARATOR "\n===\n"

/* One item a list: sections within each other must not multiply. */
static struct tree *data(void)
{
	struct tree *root = tree_new(TREE_MAP), *item;

	tree_text(root, "a", "<text> & {{more}}");
	tree_flag(root, "b", true);
	tree_flag(root, "c", false);
	tree_list(root, "empty");
	item = tree_item(tree_list(root, "list"));
	tree_text(item, "a", "inner");
	tree_text(tree_map(root, "map"), "x", "y");
	return root;
}

static void render(const struct template_text *items, size_t count)
{
	struct error err = ERROR_NONE;
	struct tree *root = data();
	size_t length;
	char *page = template_mstch_render_text(items[0].text, items[0].length, root, items, count,
						&length, &err);

	if (!page && !err.message[0])
		abort();
	free(page);
	tree_free(root);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	char *text = xstrndup((const char *)bytes, size), *part = strstr(text, SEPARATOR);
	struct template_text items[2] = { { "page", text, 0 }, { "part", "", 0 } };
	struct error err = ERROR_NONE;
	bool sound = true;

	if (part) {
		*part = '\0';
		items[1].text = part + strlen(SEPARATOR);
	}
	for (size_t i = 0; i < 2; i++) {
		items[i].length = strlen(items[i].text);
		sound = sound && template_check(items[i].name, items[i].text, items[i].length,
						&err) == STATUS_OK;
	}
	sound = sound && template_check_partials(&items[0], items, 2, &err) == STATUS_OK;
	if (sound)
		render(items, 2);
	else if (!err.message[0] || !text_is_utf8(err.message, strlen(err.message)))
		abort();
	free(text);
	return 0;
}
