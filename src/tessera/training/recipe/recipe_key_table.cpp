// The keys of a recipe, each declared once: reading, checking, completing, explaining and resuming follow from it.
#include <charconv>

#include "tessera/training/recipe/recipe_keys.h"
#include "tessera/training/recipe/recipe_value.h"
namespace tessera::training {
namespace {

using enum KeyKind;

// "i/n": part i of n, from 0.
void store_shard(Recipe& recipe, const RecipeValue& value) {
    constexpr std::int64_t most_shards = 1 << 20;
    const std::string given = value.text();
    const char* const end = given.data() + given.size();
    const auto first = std::from_chars(given.data(), end, recipe.shard);
    const bool has_slash = first.ec == std::errc() && first.ptr != end && *first.ptr == '/';
    const auto second = std::from_chars(has_slash ? first.ptr + 1 : end, end, recipe.shards);
    if (second.ec != std::errc() || second.ptr != end || recipe.shard < 0 || recipe.shard >= recipe.shards ||
        recipe.shards > most_shards)
        value.reject(text_of("expected a part of several, such as 0/4 to 3/4, found \"", given, "\""));
}

void store_optimizer(Recipe& recipe, const RecipeValue& value) {
    recipe.optimizer = value.choice<OptimizerKind>({{"adamw", OptimizerKind::AdamW},
                                                    {"adafactor", OptimizerKind::Adafactor},
                                                    {"sgd", OptimizerKind::Sgd},
                                                    {"count", OptimizerKind::Count}});
}

void store_schedule(Recipe& recipe, const RecipeValue& value) {
    recipe.schedule.kind = value.choice<ScheduleKind>({{"constant", ScheduleKind::Constant},
                                                       {"cosine", ScheduleKind::Cosine},
                                                       {"linear", ScheduleKind::Linear},
                                                       {"inverse_square_root", ScheduleKind::InverseSquareRoot}});
}

void store_targets(Recipe& recipe, const RecipeValue& value) {
    recipe.lora->targets = value.texts();
    if (recipe.lora->rank > 0 && recipe.lora->targets.empty()) value.reject("expected names of layers, found none");
}

constexpr KeyUse changeable{.may_change = true}, kept{.kept_by_eval = true};

constexpr RecipeKey keys[] = {
    {"model", PathOrObject, nullptr, "a checkpoint, a config.json, a preset's name, or the config itself",
     [](Recipe& r, const RecipeValue& v) { r.model = v.json(); }},
    {"from_scratch", Boolean, "false", "random weights even where the model is a checkpoint",
     [](Recipe& r, const RecipeValue& v) { r.from_scratch = v.boolean(); }},
    {"weights", Path, "\"\"",
     "a checkpoint whose parameters of the same name and shape the model starts from; its tokenizer is taken where one "
     "would be made",
     [](Recipe& r, const RecipeValue& v) { r.weights = v.text(); }},
    {"tokenizer", Path, "\"\"",
     "a folder or file; empty: the model's own folder; characters, bytes, words, bpe, unigram or wordpiece: made from "
     "the data",
     [](Recipe& r, const RecipeValue& v) { r.tokenizer = v.text(); }},
    {"vocabulary", Count, "4000", "tokens of a bpe, unigram or wordpiece tokenizer made from the data",
     [](Recipe& r, const RecipeValue& v) { r.vocabulary = v.count(); }},
    {"objective", Text, "\"causal\"", "what is learned; see docs/training.md",
     [](Recipe& r, const RecipeValue& v) { r.objective = v.text(); }, kept},
    {"data.train", Paths, nullptr, "files or folders",
     [](Recipe& r, const RecipeValue& v) { r.train_data = v.texts(); }},
    {"data.validation", Paths, "[]", "files or folders; empty: no evaluation",
     [](Recipe& r, const RecipeValue& v) { r.validation_data = v.texts(); }},
    {"data.length", Count, "128", "tokens of one sequence; where nothing is said, no more than the model's context",
     [](Recipe& r, const RecipeValue& v) { r.length = v.positive(); }, kept},
    {"beyond_context", Boolean, "false", "sequences may be longer than the model's context, where positions do not end",
     [](Recipe& r, const RecipeValue& v) { r.beyond_context = v.boolean(); }},
    {"data.separator", Text, "\"\"", "cuts text files into documents where it stands",
     [](Recipe& r, const RecipeValue& v) { r.separator = v.text(); }, kept},
    {"data.field", Text, "\"text\"", "the member of a JSON line that holds the text",
     [](Recipe& r, const RecipeValue& v) { r.field = v.text(); }, kept},
    {"data.limit", Count, "0", "learn from the first so many examples only; 0: from all",
     [](Recipe& r, const RecipeValue& v) { r.limit = v.count(); }},
    {"data.held_out", Count, "0",
     "the last so many examples are not learned from, and evaluated on where data.validation is empty",
     [](Recipe& r, const RecipeValue& v) { r.held_out = v.count(); }},
    {"data.shuffle", Boolean, "true", "another order every epoch, by the seed",
     [](Recipe& r, const RecipeValue& v) { r.shuffle = v.boolean(); }},
    {"data.shard", Text, "\"0/1\"", "the part of the examples for this process: 2/4 is the third of four",
     [](Recipe& r, const RecipeValue& v) { store_shard(r, v); }},
    {"data.mask", Number, "0.15", "masked: the share of tokens to predict",
     [](Recipe& r, const RecipeValue& v) { r.mask = v.number(); }, kept},
    {"data.whole_words", Boolean, "false", "masked: words are masked whole",
     [](Recipe& r, const RecipeValue& v) { r.whole_words = v.boolean(); }, kept},
    {"data.noise", Number, "0.15", "span and denoise: the share of tokens taken out",
     [](Recipe& r, const RecipeValue& v) { r.noise = v.number(); }, kept},
    {"data.span", Number, "3", "span and denoise: the mean length of a span",
     [](Recipe& r, const RecipeValue& v) { r.span = v.number(); }, kept},
    {"data.permute", Boolean, "true", "denoise: sentences change places",
     [](Recipe& r, const RecipeValue& v) { r.permute = v.boolean(); }, kept},
    {"batch", Count, "8", "sequences or images of one step",
     [](Recipe& r, const RecipeValue& v) { r.batch = v.positive(); }, kept},
    {"accumulate", Count, "1", "batches whose gradients are added up before a step",
     [](Recipe& r, const RecipeValue& v) { r.accumulate = v.positive(); }},
    {"steps", CountOrNull, "1000", "how many steps; null: as many as epochs say",
     [](Recipe& r, const RecipeValue& v) { r.steps = v.is_null() ? 0 : v.positive(); }, changeable},
    {"epochs", NumberOrNull, "null", "how often all examples are learned from, in place of steps",
     [](Recipe& r, const RecipeValue& v) {
         if (!v.is_null()) r.epochs = v.above_zero();
     },
     changeable},
    {"optimizer.name", Text, "\"adamw\"", "adamw, adafactor, sgd; or count: one pass that counts n-grams",
     [](Recipe& r, const RecipeValue& v) { store_optimizer(r, v); }},
    {"optimizer.learning_rate", Number, "0.0003", "the highest of the schedule",
     [](Recipe& r, const RecipeValue& v) { r.schedule.peak = v.from_zero(); }, changeable},
    {"optimizer.beta1", Number, "0.9", "adamw",
     [](Recipe& r, const RecipeValue& v) { r.adamw.beta1 = v.from_zero(1); }},
    {"optimizer.beta2", Number, "0.95", "adamw",
     [](Recipe& r, const RecipeValue& v) { r.adamw.beta2 = v.from_zero(1); }},
    {"optimizer.epsilon", Number, "1e-8", "adamw",
     [](Recipe& r, const RecipeValue& v) { r.adamw.epsilon = v.from_zero(); }},
    {"optimizer.momentum", Number, "0", "sgd",
     [](Recipe& r, const RecipeValue& v) { r.sgd.momentum = v.from_zero(1); }},
    {"optimizer.weight_decay", Number, "0.1", "of matrices; vectors do not decay",
     [](Recipe& r, const RecipeValue& v) {
         r.adamw.weight_decay = r.sgd.weight_decay = r.adafactor.weight_decay = v.from_zero();
     }},
    {"schedule.name", Text, "\"cosine\"", "constant, cosine, linear or inverse_square_root",
     [](Recipe& r, const RecipeValue& v) { store_schedule(r, v); }, changeable},
    {"schedule.warmup", Count, "0", "steps of linear warm-up",
     [](Recipe& r, const RecipeValue& v) { r.schedule.warmup_steps = v.count(); }, changeable},
    {"schedule.floor", Number, "0.1", "where cosine and linear end, as a share of the learning rate",
     [](Recipe& r, const RecipeValue& v) { r.schedule.floor_fraction = v.share(); }, changeable},
    {"clip", Number, "1", "the largest norm of all gradients together; 0: as they are",
     [](Recipe& r, const RecipeValue& v) { r.clip = v.from_zero(); }},
    {"label_smoothing", Number, "0", "this share of each target is spread over all classes",
     [](Recipe& r, const RecipeValue& v) { r.loss.label_smoothing = v.from_zero(1); }},
    {"z_loss", Number, "0", "this times the squared log of the softmax's sum is added to the loss",
     [](Recipe& r, const RecipeValue& v) { r.loss.z_loss = v.from_zero(); }},
    {"balance", NumberOrNull, "null",
     "this times how unequally experts are busy is added to the loss; null: as much as the model's config says",
     [](Recipe& r, const RecipeValue& v) {
         if (!v.is_null()) r.loss.balance = v.from_zero();
     }},
    {"layer_wise", Boolean, "false",
     "autoencode and classify: layers learn one after another, each for its share of the steps",
     [](Recipe& r, const RecipeValue& v) { r.layer_wise = v.boolean(); }},
    {"freeze", Texts, "[]", "names of parameters that do not learn, or parts of them: embed_tokens, layers.0",
     [](Recipe& r, const RecipeValue& v) { r.freeze = v.texts(); }},
    {"rates", NumbersByName, "{}", "learning rates times this factor for parameters of this name, or with it as a part",
     [](Recipe& r, const RecipeValue& v) { r.rates = v.factors(); }},
    {"lora.rank", Count, "0", "learn adapters of this rank beside frozen weights; 0: the weights themselves",
     [](Recipe& r, const RecipeValue& v) { r.lora.emplace().rank = v.count(); }},
    {"lora.alpha", Number, "0", "adapters count alpha / rank; 0: twice the rank",
     [](Recipe& r, const RecipeValue& v) { r.lora->alpha = v.number(); }},
    {"lora.dropout", Number, "0", "the share of what adapters see that is dropped while they learn",
     [](Recipe& r, const RecipeValue& v) { r.lora->dropout = v.from_zero(1); }},
    {"lora.targets", Texts, "[\"all-linear\"]", "the Hub's names of layers to adapt, such as q_proj,v_proj",
     [](Recipe& r, const RecipeValue& v) { store_targets(r, v); }},
    {"precision", Text, "\"f32\"", "f32 or bf16: of the weights in use; the optimizer keeps f32",
     [](Recipe& r, const RecipeValue& v) {
         r.precision = v.choice<DType>({{"f32", DType::F32}, {"bf16", DType::BF16}});
     }},
    {"recompute", Boolean, "false", "blocks are computed again in backward: less memory, a third more time",
     [](Recipe& r, const RecipeValue& v) { r.recompute = v.boolean(); }, changeable},
    {"ema", Number, "0", "keeps a moving average of the weights with this decay, and saves it beside them",
     [](Recipe& r, const RecipeValue& v) { r.ema = v.from_zero(1); }},
    {"seed", Count, "0", "of weights, order and dropout",
     [](Recipe& r, const RecipeValue& v) { r.seed = static_cast<std::uint64_t>(v.count()); }},
    {"evaluate.every", Count, "0", "steps between evaluations; 0: at the end only",
     [](Recipe& r, const RecipeValue& v) { r.evaluate_every = v.count(); }, changeable},
    {"evaluate.batches", Count, "16", "batches of one evaluation at most",
     [](Recipe& r, const RecipeValue& v) { r.evaluate_batches = v.positive(); }, changeable},
    {"sample.every", Count, "0", "steps between printed samples; 0: none",
     [](Recipe& r, const RecipeValue& v) { r.sample_every = v.count(); }, changeable},
    {"sample.prompt", Text, "\"\"", "what a sample continues",
     [](Recipe& r, const RecipeValue& v) { r.sample_prompt = v.text(); }, changeable},
    {"sample.tokens", Count, "64", "how long it is",
     [](Recipe& r, const RecipeValue& v) { r.sample_tokens = v.positive(); }, changeable},
    {"save.every", Count, "0", "steps between checkpoints; 0: at the end only",
     [](Recipe& r, const RecipeValue& v) { r.save_every = v.count(); }, changeable},
    {"save.keep", Count, "2", "the newest so many stay, and the best",
     [](Recipe& r, const RecipeValue& v) { r.save_keep = v.positive(); }, changeable},
    {"spike", Number, "4", "a loss above this times its moving average stops the run; 0: never",
     [](Recipe& r, const RecipeValue& v) { r.spike = v.from_zero(); }, changeable},
    {"device", Text, "\"cpu\"", "cpu or cuda", [](Recipe& r, const RecipeValue& v) { r.device = v.text(); },
     changeable},
};

}  // namespace

std::span<const RecipeKey> recipe_keys() { return keys; }

}  // namespace tessera::training
