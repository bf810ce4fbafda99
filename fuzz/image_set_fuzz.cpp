// Any bytes are a set of images (idx, CIFAR-10), a file of tokens, or one Error each; whatever opens can be read from
// its first example to its last.
#include <cstdlib>

#include "scratch_folder.h"
#include "tessera/core/error.h"
#include "tessera/data/labelled_images.h"
#include "tessera/data/token_file.h"

using namespace tessera;

namespace {

void read_all(const data::LabelledImages& set) {
    for (std::int64_t i = 0; i < set.size(); ++i) {
        const formats::Image image = set.image(i);
        if (image.pixels.size() != static_cast<std::size_t>(image.width * image.height * 3)) std::abort();
        if (set.label(i) < -1 || set.label(i) > 255) std::abort();
    }
}

// The first byte says where the labels end and the images begin.
void read_idx(const ScratchFolder& folder, const std::uint8_t* bytes, std::size_t size) {
    if (size == 0) return;
    const std::size_t labels = std::min<std::size_t>(bytes[0], size - 1);
    folder.write("fuzz-labels-idx1-ubyte", bytes + 1, labels);
    const auto images = folder.write("fuzz-images-idx3-ubyte", bytes + 1 + labels, size - 1 - labels);
    data::is_idx_file(images);
    read_all(*data::open_idx_images(images, {.with_labels = labels > 0}));
}

void read_tokens(const std::filesystem::path& path) {
    const data::TokenFile file(path);
    std::uint64_t sum = 0, before = 0;
    for (const std::uint32_t id : file.tokens()) sum += id;
    for (const std::uint64_t end : file.document_ends()) {
        if (end < before || end > file.tokens().size()) std::abort();
        before = end;
    }
    if (sum > file.tokens().size() * UINT32_MAX) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    static const ScratchFolder folder;
    try {
        read_idx(folder, bytes, size);
    } catch (const Error&) {
    }
    const std::filesystem::path file = folder.write("fuzz.bin", bytes, size);
    try {
        read_all(*data::open_cifar_images(file));
    } catch (const Error&) {
    }
    try {
        read_tokens(file);
    } catch (const Error&) {
    }
    return 0;
}
