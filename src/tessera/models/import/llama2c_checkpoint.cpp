#include "tessera/models/import/llama2c_checkpoint.h"

#include "tessera/core/mapped_file.h"
#include "tessera/formats/byte_reader.h"
#include "tessera/models/import/rope_rows.h"

namespace tessera::models {
namespace {

using formats::Json;

constexpr std::int32_t versioned_magic = 0x616b3432;  // "ak42": the later exports, laid out differently
constexpr std::int64_t bos = 1, eos = 2;              // of the tokenizer that all of these files use

struct Header {
    std::int64_t width, hidden, layers, heads, kv_heads, vocabulary, context;
    bool tied;
};

Header read_header(formats::ByteReader& in, const std::string& source) {
    const auto size = [&](const char* field) {
        const auto value = in.read<std::int32_t>(field);
        check(value > 0, source, ": ", field, ": expected a positive integer, found ", value);
        return std::int64_t{value};
    };
    Header h{};
    h.width = size("dim");
    check(h.width != versioned_magic, source,
          ": dim: the file begins with 'ak42'; versioned exports are not supported");
    h.hidden = size("hidden_dim");
    h.layers = size("n_layers");
    h.heads = size("n_heads");
    h.kv_heads = size("n_kv_heads");
    const auto vocabulary = in.read<std::int32_t>("vocab_size");
    check(vocabulary != 0, source, ": vocab_size: is 0");
    h.tied = vocabulary > 0;  // a negative size says that the output head has a tensor of its own
    h.vocabulary = std::abs(std::int64_t{vocabulary});
    h.context = size("seq_len");
    check(h.width % (2 * h.heads) == 0, source, ": n_heads: a width of ", h.width, " does not split into ", h.heads,
          " heads of pairs");
    check(h.heads % h.kv_heads == 0, source, ": n_kv_heads: ", h.heads, " heads cannot share ", h.kv_heads,
          " key-value heads");
    return h;
}

// Hands out the file's tensors one after another, none past its end.
class Tensors {
   public:
    Tensors(std::span<std::byte> data, std::shared_ptr<Storage> storage, std::int64_t begin, const std::string& source)
        : left_(static_cast<std::int64_t>(data.size()) / 4 - begin),
          at_(begin),
          storage_(std::move(storage)),
          source_(source) {}

    Tensor take(const char* name, const Shape& shape) {
        std::int64_t elements = 1;
        bool fits = true;
        for (const std::int64_t size : shape) fits = fits && !__builtin_mul_overflow(elements, size, &elements);
        check(fits && elements <= left_, source_, ": ", name, ": f32 of shape ", shape, " passes the ", left_ * 4,
              " bytes that are left of the file");
        const Tensor out(storage_, DType::F32, shape, contiguous_strides(shape), at_);
        left_ -= elements;
        at_ += elements;
        return out;
    }
    std::int64_t left() const { return left_; }

   private:
    std::int64_t left_, at_;  // in f32
    std::shared_ptr<Storage> storage_;
    const std::string& source_;
};

Json config_of(const Header& h) {
    return Json::object()
        .set("model_type", "llama")
        .set("hidden_size", h.width)
        .set("intermediate_size", h.hidden)
        .set("num_hidden_layers", h.layers)
        .set("num_attention_heads", h.heads)
        .set("num_key_value_heads", h.kv_heads)
        .set("vocab_size", h.vocabulary)
        .set("max_position_embeddings", h.context)
        .set("rms_norm_eps", 1e-5)
        .set("rope_parameters", Json::object().set("rope_type", "default").set("rope_theta", 10000.0))
        .set("hidden_act", "silu")
        .set("tie_word_embeddings", h.tied)
        .set("dtype", "float32")
        .set("bos_token_id", bos)
        .set("eos_token_id", eos);
}

// Stories were trained on one after another, each begun by a bos: where the model writes one, its story is over.
Json generation_config() {
    return Json::object().set("bos_token_id", bos).set("eos_token_id", Json::array().push_back(bos).push_back(eos));
}

struct LayerTensor {
    const char* hub_name;
    Tensor all;                  // (layers, …)
    std::int64_t rotated_heads;  // 0: rows stay where they are
};

Tensor layer_of(const Tensor& all, std::int64_t layer) {
    Shape shape;
    for (int dim = 1; dim < all.rank(); ++dim) shape.push_back(all.shape()[dim]);
    return all.with_layout(shape, contiguous_strides(shape), all.offset() + layer * all.stride(0));
}

}  // namespace

formats::Checkpoint parse_llama2c(std::span<std::byte> file, const std::shared_ptr<const void>& owner,
                                  const std::string& source) {
    formats::ByteReader in(file, source);
    const Header h = read_header(in, source);
    check(file.size() % 4 == 0, source, ": ", file.size(), " bytes are not whole f32 values");
    const auto storage = std::make_shared<Storage>(cpu, file.data(), file.size(), owner);
    Tensors tensors(file, storage, static_cast<std::int64_t>(in.position() / 4), source);
    const std::int64_t head_width = h.width / h.heads, kv_width = head_width * h.kv_heads;

    const Tensor embedding = tensors.take("token_embedding_table", {h.vocabulary, h.width});
    std::vector<LayerTensor> layers;
    const auto take_layers = [&](const char* name, const char* hub_name, Shape shape, std::int64_t rotated_heads = 0) {
        Shape stacked{h.layers};
        for (const std::int64_t size : shape) stacked.push_back(size);
        layers.push_back({hub_name, tensors.take(name, stacked), rotated_heads});
    };
    take_layers("rms_att_weight", "input_layernorm", {h.width});
    take_layers("wq", "self_attn.q_proj", {h.width, h.width}, h.heads);
    take_layers("wk", "self_attn.k_proj", {kv_width, h.width}, h.kv_heads);
    take_layers("wv", "self_attn.v_proj", {kv_width, h.width});
    take_layers("wo", "self_attn.o_proj", {h.width, h.width});
    take_layers("rms_ffn_weight", "post_attention_layernorm", {h.width});
    take_layers("w1", "mlp.gate_proj", {h.hidden, h.width});
    take_layers("w2", "mlp.down_proj", {h.width, h.hidden});
    take_layers("w3", "mlp.up_proj", {h.hidden, h.width});
    const Tensor final_norm = tensors.take("rms_final_weight", {h.width});
    tensors.take("freq_cis_real", {h.context, head_width / 2});  // tables that follow from the sizes
    tensors.take("freq_cis_imag", {h.context, head_width / 2});
    const Tensor head = h.tied ? Tensor() : tensors.take("wcls", {h.vocabulary, h.width});
    check(tensors.left() == 0, source, ": ", tensors.left() * 4, " bytes are left after the last tensor");

    formats::Checkpoint out{.folder = source,
                            .config = formats::Config(config_of(h), source),
                            .generation_config = formats::Config(generation_config(), source),
                            .tensors = {{"model.embed_tokens.weight", embedding}, {"model.norm.weight", final_norm}}};
    if (head.defined()) out.tensors.emplace("lm_head.weight", head);
    for (const auto& [hub_name, all, rotated_heads] : layers)
        for (std::int64_t layer = 0; layer < h.layers; ++layer) {
            Tensor one = layer_of(all, layer);
            if (rotated_heads > 0) one = rows_in_halves(one, rotated_heads, source);
            out.tensors.emplace(text_of("model.layers.", layer, ".", hub_name, ".weight"), one);
        }
    return out;
}

formats::Checkpoint open_llama2c(const std::filesystem::path& path) {
    const auto file = std::make_shared<const MappedFile>(path);
    return parse_llama2c({file->data(), file->bytes()}, file, path.string());
}

}  // namespace tessera::models
