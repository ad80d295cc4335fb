/* The door to mstch, and the only C++ of the program. No exception leaves it. */
#include <cstdlib>
#include <cstring>
#include <exception>
#include <map>
#include <string>

#include <mstch/mstch.hpp>

#include "report/template/template.h"

static mstch::node template_mstch_to_node(const struct tree *tree)
{
	switch (tree->kind) {
	case TREE_TEXT:
		return std::string(tree->text);
	case TREE_FLAG:
		return tree->flag;
	case TREE_LIST: {
		mstch::array list;
		list.reserve(tree->count);
		for (size_t i = 0; i < tree->count; i++)
			list.push_back(template_mstch_to_node(tree->children[i]));
		return list;
	}
	case TREE_MAP: {
		mstch::map map;
		for (size_t i = 0; i < tree->count; i++)
			map.emplace(tree->children[i]->name,
				    template_mstch_to_node(tree->children[i]));
		for (size_t i = 0; i < tree->count; i++)
			if (tree->children[i]->kind == TREE_LIST)
				map.emplace(std::string("has_") + tree->children[i]->name,
					    tree->children[i]->count != 0);
		return map;
	}
	}
	return nullptr;
}

static std::string template_mstch_escape(const std::string &s)
{
	struct text out = TEXT_EMPTY;
	template_escape(&out, s.data(), s.size());
	std::string escaped(out.data ? out.data : "", out.length);
	text_release(&out);
	return escaped;
}

static char *template_mstch_render(const std::string &text, const struct tree *root,
				   const struct template_text *partials, size_t partial_count,
				   size_t *length)
{
	std::map<std::string, std::string> texts;

	for (size_t i = 0; i < partial_count; i++)
		texts[partials[i].name] = std::string(partials[i].text, partials[i].length);
	mstch::config::escape = template_mstch_escape;
	std::string out = mstch::render(text, template_mstch_to_node(root), texts);
	*length = out.size();
	char *copy = static_cast<char *>(std::malloc(out.size() + 1));
	if (copy)
		std::memcpy(copy, out.c_str(), out.size() + 1);
	return copy;
}

extern "C" char *template_mstch_render_text(const char *text, size_t text_length,
					    const struct tree *root,
					    const struct template_text *partials,
					    size_t partial_count, size_t *length, struct error *err)
{
	try {
		char *out = template_mstch_render(std::string(text, text_length), root, partials,
						  partial_count, length);
		if (!out)
			error_set(err, STATUS_NO_MEMORY, "no memory for a page of %zu bytes",
				  *length);
		return out;
	} catch (const std::exception &e) {
		error_set(err, STATUS_USAGE, "template: %s", e.what());
	} catch (...) {
		error_set(err, STATUS_USAGE, "template: mstch gave up");
	}
	return nullptr;
}
