// Any bytes as a recipe, with key=value settings on the lines after a blank one: either one Error, or a recipe that
// says the same when it is resolved again.
#include <cstdint>
#include <cstdlib>

#include "tessera/core/error.h"
#include "tessera/training/recipe/recipe.h"
#include "tessera/training/recipe/recipe_keys.h"

using namespace tessera;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    const std::string_view all(reinterpret_cast<const char*>(bytes), size);
    const std::size_t blank = all.find("\n\n");
    std::vector<std::string> settings;
    for (std::size_t at = blank; at != all.npos && at < all.size();) {
        const std::size_t begin = all.find_first_not_of('\n', at);
        if (begin == all.npos) break;
        at = all.find('\n', begin);
        settings.emplace_back(all.substr(begin, at == all.npos ? at : at - begin));
    }
    try {
        const formats::Config resolved =
            training::resolve_recipe(formats::Json::parse(all.substr(0, blank), "fuzz.json"), settings, "fuzz.json");
        if (!(training::resolve_recipe(resolved.json(), {}, "again").json() == resolved.json())) std::abort();
        const training::Recipe recipe = training::read_recipe(resolved);
        if (recipe.batch < 1 || recipe.steps < 1 || recipe.length < 1) std::abort();
    } catch (const Error&) {
    }
    return 0;
}
