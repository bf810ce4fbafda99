// The post-processors of tokenizer.json by their names there: all of them put special tokens around a text or two.
#include <algorithm>

#include "tessera/core/error.h"
#include "tessera/formats/byte_reader.h"
#include "tessera/tokenizers/json/component.h"
#include "tessera/tokenizers/limits.h"

namespace tessera::tokenizers {
namespace {

using formats::Json;
using Item = SpecialTemplate::Item;

std::int64_t checked_id(std::int64_t id, const std::string& named) {
    check(id >= 0 && id < Vocabulary::most_ids, named, ": id ", id, " is outside 0 … ", Vocabulary::most_ids - 1);
    return id;
}

Ids special_ids(const Component& component, const formats::Config& tokens, const std::string& name) {
    check(tokens.has(name), component.named("special_tokens"), ": no entry for ", formats::shown(name));
    const Json* entry = tokens.json().find(name);
    const Json* listed = entry->is_object() ? entry->find("ids") : nullptr;
    check(!listed || !listed->is_array() || listed->items().size() <= limits::most_template_ids,
          component.named("special_tokens"), ": ", formats::shown(name), ": more than ", limits::most_template_ids,
          " ids");
    Ids ids = tokens.section(name).integers("ids");
    for (const std::int64_t id : ids) checked_id(id, component.named("special_tokens"));
    return ids;
}

// A list of {"Sequence": {"id": "A"}} and {"SpecialToken": {"id": "[CLS]"}}.
std::vector<Item> read_items(const Component& component, const char* name) {
    const formats::Config tokens = component.settings().section_or_empty("special_tokens");
    std::vector<Item> items;
    std::size_t ids = 0, texts = 0;
    for (const Component& piece : component.list(name)) {
        if (piece.settings().has("SpecialToken")) {
            const std::string id = piece.settings().section("SpecialToken").text("id");
            items.push_back({Item::Special, special_ids(component, tokens, id)});
            ids += items.back().ids.size();
            check(ids <= limits::most_template_ids, component.named(name), ": more than ", limits::most_template_ids,
                  " ids around a text");
            continue;
        }
        const std::string id = piece.settings().section("Sequence").text("id");
        check(id == "A" || id == "B", piece.named("Sequence.id"), ": expected A or B, found ", formats::shown(id));
        check(++texts <= limits::most_template_texts, component.named(name), ": more than ",
              limits::most_template_texts, " texts");
        items.push_back({id == "A" ? Item::First : Item::Second});
    }
    return items;
}

// ["[SEP]", 102]
Ids read_pair(const Component& component, const char* name) {
    const Json* pair = component.settings().json().find(name);
    check(pair && pair->is_array() && pair->items().size() == 2 && pair->items()[1].is_integer(), component.named(name),
          ": expected a token and its id");
    return {checked_id(pair->items()[1].as_integer(), component.named(name))};
}

SpecialTemplate read_separators(const Component& component, bool twice) {
    const Item begin{Item::Special, read_pair(component, "cls")}, end{Item::Special, read_pair(component, "sep")};
    SpecialTemplate around{.single = {begin, {Item::First}, end}, .pair = {begin, {Item::First}, end}};
    if (twice) around.pair.push_back(end);
    around.pair.push_back({Item::Second});
    around.pair.push_back(end);
    return around;
}

bool only_texts(const std::vector<Item>& items) {
    return std::none_of(items.begin(), items.end(), [](const Item& item) { return item.kind == Item::Special; });
}

SpecialTemplate read_sequence(const Component& component) {
    SpecialTemplate around;
    bool taken = false;
    for (const Component& part : component.list("processors")) {
        SpecialTemplate next = read_post_processor(part);
        const bool plain = only_texts(next.single) && only_texts(next.pair);
        check(plain || !taken, part.named("type"), ": a second processor that adds special tokens");
        if (!plain) around = std::move(next);
        taken = taken || !plain;
    }
    return around;
}

}  // namespace

SpecialTemplate read_post_processor(const Component& component) {
    const std::string type = component.type();
    if (type == "TemplateProcessing") {
        SpecialTemplate around{.single = read_items(component, "single"), .pair = read_items(component, "pair")};
        check(std::none_of(around.single.begin(), around.single.end(),
                           [](const Item& item) { return item.kind == Item::Second; }),
              component.named("single"), ": names a second text");
        return around;
    }
    if (type == "BertProcessing") return read_separators(component, false);
    if (type == "RobertaProcessing") return read_separators(component, true);
    if (type == "ByteLevel") return {};
    if (type == "Sequence") return read_sequence(component);
    component.unknown("post-processor");
}

}  // namespace tessera::tokenizers
