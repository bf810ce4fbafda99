// The interface of every model: logits and a loss from a batch, and token-by-token decoding where it
// generates text. A model is built without memory (its parameters are deferred) from the fields of a config.json.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>

#include "tessera/formats/config.h"
#include "tessera/models/capabilities.h"
#include "tessera/models/loss_options.h"
#include "tessera/models/weights.h"
#include "tessera/nn/context.h"
#include "tessera/nn/module.h"

namespace tessera::models {

using formats::Config;

// Inputs under the Hub's names, each undefined where there is none. Ids and masks are i64.
struct Batch {
    Tensor input_ids = {};               // (B, T)
    Tensor attention_mask = {};          // (B, T) 1 where a token stands, 0 where padding does
    Tensor token_type_ids = {};          // (B, T)
    Tensor global_attention_mask = {};   // (B, T) 1 where a token sees and is seen by all
    Tensor pixel_values = {};            // (B, C, H, W)
    Tensor decoder_input_ids = {};       // (B, U)
    Tensor decoder_attention_mask = {};  // (B, U)
    Tensor labels = {};                  // ids, or classes (B); −100 is ignored

    // Every tensor by its name. The binding names all members, so that a new one does not compile before it stands
    // here.
    template <class OnTensor>
    void visit(const OnTensor& on_tensor) {
        auto& [ids, mask, types, global_mask, pixels, decoder_ids, decoder_mask, targets] = *this;
        on_tensor("input_ids", ids);
        on_tensor("attention_mask", mask);
        on_tensor("token_type_ids", types);
        on_tensor("global_attention_mask", global_mask);
        on_tensor("pixel_values", pixels);
        on_tensor("decoder_input_ids", decoder_ids);
        on_tensor("decoder_attention_mask", decoder_mask);
        on_tensor("labels", targets);
    }
};

// The tensors of a batch, a context or a mask, on a device.
template <class Visitable>
Visitable moved_to(Visitable value, Device device) {
    value.visit([&](const char*, Tensor& tensor) {
        if (tensor.defined()) tensor = tensor.to(device);
    });
    return value;
}

// Told what passes by inside a model, under the names of the reference: "hidden_after_embed", "hidden_after_layer_1",
// "last_hidden", "encoder_last_hidden", "image_embeds", …
using Observer = std::function<void(const std::string& name, const Tensor& value)>;

// One running generation: the caches, and what was seen so far.
class DecodingSession {
   public:
    virtual ~DecodingSession() = default;
    // Reads a prompt (all inputs of the batch) and returns the logits of the token after it, (B, V). Prompts of
    // different lengths are padded on the left.
    virtual Tensor prefill(const Batch& prompt) = 0;
    // Reads more tokens, (B, T), and returns the logits after the last of them, (B, V).
    virtual Tensor step(const Tensor& ids) = 0;
    // Row i goes on as row rows[i] would have: rows leave where their text has ended, and stand there several times or
    // change places as beams do.
    virtual void reorder(std::span<const std::int64_t> rows) = 0;
    // Forgets all but the first `tokens` of the text read so far. False, and nothing has changed, where that is not
    // possible and the text must be read again.
    virtual bool truncate(std::int64_t) { return false; }
    virtual std::int64_t cache_bytes() const = 0;

    // How much of a long prompt is read at once: what passes through the layers takes memory. 0: all of it.
    std::int64_t prefill_chunk = 512;
    // Told after each of these parts how much of the prompt has been read.
    std::function<void(std::int64_t done, std::int64_t total)> on_prefill = {};
};

class Model : public nn::Module {
   public:
    // The logits: (B, T, V) of a language model, (B, classes) of a classifier.
    virtual Tensor forward(const Batch& batch, const nn::Context& context = {},
                           const Observer& observer = {}) const = 0;
    // The mean loss of the batch's labels, one element.
    virtual Tensor loss(const Batch& batch, const LossOptions& options = {}, const nn::Context& context = {}) const = 0;
    // Of a model that can Generate; throws otherwise. `capacity`: how many tokens the caches can hold.
    virtual std::unique_ptr<DecodingSession> decode(std::int64_t capacity) const;
    // How many tokens a text may have, where learned positions end somewhere; 0: as many as wanted.
    virtual std::int64_t longest_text() const { return 0; }
    // The model's context: how many tokens it was made to read, which is never more than the above. Whoever asks it to
    // generate, to learn or to predict keeps to this one unless told otherwise. 0: nobody says.
    virtual std::int64_t context_length() const { return longest_text(); }
    // How many tokens it knows: of those it writes, where it reads others. 0: it knows none.
    virtual std::int64_t vocabulary() const { return 0; }

    bool can(Capability one) const { return capabilities.has(one); }
    bool has_encoder() const { return can(Capability::EncodeDecode); }
    // "a vit classifies images; it does not generate text"
    std::string cannot(Capability wanted) const;
    // Throws "SOURCE: …" with the above where the model cannot.
    void require(Capability wanted, const std::string& source) const;

    // Facts, said by the model's family when it is built: nothing asks the configuration again.
    Capabilities capabilities = {};
    std::vector<std::string> class_names = {};  // of a classifier, in the order of its logits
    std::int64_t padding_token = 0;
    std::int64_t decoder_start_token = 0;  // of a model that can EncodeDecode
    // Whether keys are rotated by the length that the text has when they are read (dynamic NTK): what is cached stays
    // as it was rotated then, so that a text read again, or in pieces, gives other logits.
    bool rotates_by_length = false;
    Config config;
    formats::Json generation_config = {};  // how it wants to be asked, as its checkpoint says; null: nothing is said
    WeightTable weights;                   // the checkpoint's names of our parameters
    // Parameters whose initial values spread differently from the configuration's initializer_range.
    std::vector<nn::InitStd::Other> init_stds = {};
};

}  // namespace tessera::models
