// Capabilities: what a model can do, said once by its class and asked by commands, objectives and errors.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

namespace tessera::models {

enum class Capability : std::uint8_t {
    Generate,        // decode(): writes a text token by token
    Score,           // predicts each token of a text from those before it
    EncodeDecode,    // input_ids are read by an encoder, and what is written begins with decoder_input_ids
    Align,           // leaves what it looked at in the encoder's states (nn::Context::cross_attention)
    Fill,            // gives logits of the token at each place, from both sides
    EmbedTexts,      // tells "last_hidden" of a text
    EmbedImages,     // gives a summary or states of images
    ClassifyTexts,   // gives logits of classes from a text
    ClassifyImages,  // gives logits of classes from an image
    LearnClasses,    // becomes a classifier of other classes under a new head (models/new_head.h)
    CompareImages,   // gives logits of images against texts
    DescribeImages,  // continues texts about images
    Reconstruct,     // gives an image again
    LearnLayerwise,  // is a LayerWise
    Count            // is a CountTrainable
};

class Capabilities {
   public:
    Capabilities() = default;
    Capabilities(std::initializer_list<Capability> all) {
        for (const Capability one : all) bits_ |= bit(one);
    }

    void add(Capability one) { bits_ |= bit(one); }
    bool has(Capability one) const { return (bits_ & bit(one)) != 0; }
    bool has_all(Capabilities others) const { return (bits_ & others.bits_) == others.bits_; }
    bool empty() const { return bits_ == 0; }
    std::vector<Capability> list() const;  // in the order of the enumeration
    friend bool operator==(Capabilities, Capabilities) = default;

   private:
    static std::uint32_t bit(Capability one) { return std::uint32_t{1} << static_cast<unsigned>(one); }
    std::uint32_t bits_ = 0;
};

const std::vector<Capability>& all_capabilities();
const char* name_of(Capability one);            // "classify_images", as JSON has it
const char* infinitive_of(Capability one);      // "classify images"
std::string text_of_all(Capabilities several);  // "generates text and scores texts"; "does nothing by itself"

}  // namespace tessera::models
