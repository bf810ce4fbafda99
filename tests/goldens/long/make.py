#!/usr/bin/env python3
"""Makes the long cases beside it, where torch and transformers are installed: make.py OUT [NAME…]

Tiny models of random weights, texts of 700 tokens: longer than the pieces in which a prompt is read, than every window and
than the lengths at which scalings of positions change; then greedy decoding after 600. A scaling of rotary positions stands
in the newest spelling (rope_parameters, rope_type) and, as NAME-old, in the older one (rope_theta and rope_scaling with
"type"), each loaded by the reference from just that config.json.
"""

import json
import math
import pathlib
import sys

import torch
import transformers
from safetensors.torch import save_file

LENGTH, PROMPT, NEW = 704, 600, 40
VOCABULARY = 48
SEEDS = 12  # of which the one with the clearest greedy choices is kept

common = {"vocab_size": VOCABULARY, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4,
          "intermediate_size": 48, "max_position_embeddings": 1024, "tie_word_embeddings": False}
grouped = common | {"num_key_value_heads": 2}
gemma = grouped | {"head_dim": 8, "tie_word_embeddings": True}
bart = {"vocab_size": VOCABULARY, "d_model": 32, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4,
        "decoder_attention_heads": 4, "encoder_ffn_dim": 48, "decoder_ffn_dim": 48, "max_position_embeddings": 1024}
t5 = {"vocab_size": VOCABULARY, "d_model": 32, "d_kv": 8, "d_ff": 48, "num_layers": 2, "num_heads": 4,
      "decoder_start_token_id": 0}
deepseek = common | {"num_key_value_heads": 4, "kv_lora_rank": 16, "q_lora_rank": None, "qk_nope_head_dim": 8,
                     "qk_rope_head_dim": 8, "v_head_dim": 8, "n_routed_experts": 4, "num_experts_per_tok": 2,
                     "n_shared_experts": 1, "moe_intermediate_size": 16, "first_k_dense_replace": 1, "n_group": 1,
                     "topk_group": 1, "topk_method": "greedy", "norm_topk_prob": False}
encoder = common | {"max_position_embeddings": 1030, "tie_word_embeddings": True}

vision = {"model_type": "siglip_vision_model", "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 1,
          "num_attention_heads": 4, "image_size": 32, "patch_size": 16, "vision_use_head": False}
image_token = VOCABULARY - 1

# name: (architecture, settings)
plain = {
    "gpt2": ("GPT2LMHeadModel", {"vocab_size": VOCABULARY, "n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 1024}),
    "gpt-neox": ("GPTNeoXForCausalLM", common),
    "llama": ("LlamaForCausalLM", grouped),
    "mistral": ("MistralForCausalLM", grouped | {"sliding_window": 100}),
    "mixtral": ("MixtralForCausalLM", grouped | {"sliding_window": 100, "num_local_experts": 4}),
    "falcon-7b": ("FalconForCausalLM", common | {"multi_query": True}),
    "falcon-40b": ("FalconForCausalLM", common | {"new_decoder_architecture": True, "num_kv_heads": 2}),
    "falcon-rw": ("FalconForCausalLM", common | {"alibi": True, "multi_query": False, "parallel_attn": False, "bias": True}),
    "falcon-rw-6-heads": ("FalconForCausalLM", common | {"alibi": True, "multi_query": False, "parallel_attn": False,
                                                         "bias": True, "hidden_size": 36, "num_attention_heads": 6}),
    "gemma": ("GemmaForCausalLM", gemma),
    "gemma2": ("Gemma2ForCausalLM", gemma | {"sliding_window": 100, "query_pre_attn_scalar": 8}),
    "gemma3-text": ("Gemma3ForCausalLM", gemma | {"sliding_window": 100, "query_pre_attn_scalar": 8, "num_hidden_layers": 3,
                                                  "layer_types": ["sliding_attention", "sliding_attention", "full_attention"]}),
    "paligemma": ("PaliGemmaForConditionalGeneration",
                  {"text_config": gemma | {"model_type": "gemma"}, "vision_config": vision, "projection_dim": 32,
                   "hidden_size": 32, "image_token_index": image_token, "vocab_size": VOCABULARY}),
    "qwen2": ("Qwen2ForCausalLM", grouped),
    "qwen2-window": ("Qwen2ForCausalLM", grouped | {"use_sliding_window": True, "sliding_window": 100, "max_window_layers": 1}),
    "qwen3": ("Qwen3ForCausalLM", grouped | {"head_dim": 12}),
    "phi3": ("Phi3ForCausalLM", grouped | {"pad_token_id": 0}),
    "phi3-window": ("Phi3ForCausalLM", grouped | {"pad_token_id": 0, "sliding_window": 100}),
    "deepseek-v2": ("DeepseekV2ForCausalLM", deepseek | {"q_lora_rank": 16}),
    "deepseek-v2-lite": ("DeepseekV2ForCausalLM", deepseek),
    "t5": ("T5ForConditionalGeneration", t5),
    "t5-v1.1": ("T5ForConditionalGeneration", t5 | {"feed_forward_proj": "gated-gelu", "tie_word_embeddings": False}),
    "bart": ("BartForConditionalGeneration", bart),
    "marian": ("MarianMTModel", bart | {"pad_token_id": 1, "decoder_start_token_id": 1, "eos_token_id": 2,
                                        "activation_function": "relu", "forced_eos_token_id": None}),
    "bert": ("BertForMaskedLM", encoder),
    "roberta": ("RobertaForMaskedLM", encoder | {"pad_token_id": 1}),
    "bert-untied": ("BertForMaskedLM", encoder | {"tie_word_embeddings": False}),
    "roberta-untied": ("RobertaForMaskedLM", encoder | {"pad_token_id": 1, "tie_word_embeddings": False}),
    "longformer": ("LongformerForMaskedLM", encoder | {"pad_token_id": 1, "attention_window": [64, 64]}),
}

original = {"original_max_position_embeddings": 256}
longrope = {"rope_type": "longrope", "short_factor": [1.0, 1.1, 1.3, 1.6], "long_factor": [1.5, 2.0, 3.0, 4.0]}
# name: (architecture, settings, rope): both spellings of each are made.
scaled = {
    "llama-linear": ("LlamaForCausalLM", grouped, {"rope_type": "linear", "factor": 4.0}),
    "llama-dynamic": ("LlamaForCausalLM", grouped | {"max_position_embeddings": 256}, {"rope_type": "dynamic", "factor": 4.0}),
    # Begins to stretch while decoding.
    "llama-dynamic-later": ("LlamaForCausalLM", grouped | {"max_position_embeddings": 620}, {"rope_type": "dynamic", "factor": 2.0}),
    "llama-yarn": ("LlamaForCausalLM", grouped, {"rope_type": "yarn", "factor": 4.0} | original),
    "llama3": ("LlamaForCausalLM", grouped, {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0,
                                             "high_freq_factor": 4.0} | original),
    "qwen2-yarn": ("Qwen2ForCausalLM", grouped, {"rope_type": "yarn", "factor": 4.0} | original),
    "gpt-neox-dynamic": ("GPTNeoXForCausalLM", common | {"max_position_embeddings": 256, "hidden_size": 64},
                         {"rope_type": "dynamic", "factor": 4.0, "partial_rotary_factor": 0.5}),
    "gemma-linear": ("GemmaForCausalLM", gemma, {"rope_type": "linear", "factor": 2.0}),
    "gemma3-linear": ("Gemma3ForCausalLM", plain["gemma3-text"][1], {"rope_type": "linear", "factor": 8.0}),
    "falcon-dynamic": ("FalconForCausalLM", common | {"max_position_embeddings": 256}, {"rope_type": "dynamic", "factor": 4.0}),
    "mistral-yarn": ("MistralForCausalLM", grouped | {"sliding_window": 100}, {"rope_type": "yarn", "factor": 4.0} | original),
    "phi3-longrope": ("Phi3ForCausalLM", grouped | {"pad_token_id": 0} | original, longrope),
    # Its factors change while decoding.
    "phi3-longrope-later": ("Phi3ForCausalLM", grouped | {"pad_token_id": 0, "original_max_position_embeddings": 620}, longrope),
    "deepseek-yarn": ("DeepseekV2ForCausalLM", deepseek, {"rope_type": "yarn", "factor": 4.0, "beta_fast": 32, "beta_slow": 1,
                                                          "mscale": 1.0, "mscale_all_dim": 0.8} | original),
    "deepseek-yarn-0.707": ("DeepseekV2ForCausalLM", deepseek | {"q_lora_rank": 16},
                            {"rope_type": "yarn", "factor": 4.0, "beta_fast": 32, "beta_slow": 1, "mscale": 0.707,
                             "mscale_all_dim": 0.707} | original),
}


def spelled(config, rope, old):
    """The config.json's fields with a scaling of rotary positions, in either spelling."""
    theta = 10000.0
    if "layer_types" in config:  # Gemma 3: only layers that see all are scaled
        if old:
            return config | {"rope_theta": 1e6, "rope_local_base_freq": theta, "rope_scaling": rope}
        return config | {"rope_parameters": {"full_attention": {"rope_theta": 1e6} | rope,
                                             "sliding_attention": {"rope_theta": theta, "rope_type": "default"}}}
    if not old:
        return config | {"rope_parameters": {"rope_theta": theta} | rope}
    rest = {"type" if key == "rope_type" else key: value for key, value in rope.items()}
    top = {"rope_theta": theta}
    if "partial_rotary_factor" in rest:
        top["rotary_pct"] = rest.pop("partial_rotary_factor")
    return config | top | {"rope_scaling": rest}


def random_weights(model, seed):
    torch.manual_seed(seed)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.ndim > 1:
                is_lookup = "embed" in name or "wte" in name or "wpe" in name or name.startswith("shared")
                parameter.normal_(0, 0.7 if is_lookup else 1.5 / math.sqrt(parameter.shape[-1]))
            elif name.endswith("bias"):
                parameter.normal_(0, 0.1)
            else:
                parameter.add_(0.1 * torch.randn_like(parameter))


def opened(folder):
    """Anew for each use: some scalings remember the longest text that they have met."""
    config = transformers.AutoConfig.from_pretrained(folder)
    kind = getattr(transformers, config.architectures[0])
    caps = getattr(config, "attn_logit_softcapping", None) is not None
    return kind.from_pretrained(folder, dtype=torch.float32, **({"attn_implementation": "eager"} if caps else {})).eval()


def inputs_of(model, seed):
    torch.manual_seed(1000 + seed)
    inputs = {"input_ids": torch.randint(3, VOCABULARY, (1, LENGTH))}
    name = type(model).__name__
    if name.startswith("PaliGemma"):
        inputs["input_ids"] = torch.randint(3, image_token, (1, LENGTH))
        inputs["input_ids"][0, :4] = image_token
        inputs["pixel_values"] = torch.randn(1, 3, 32, 32)
    if model.config.is_encoder_decoder:
        inputs["attention_mask"] = torch.ones_like(inputs["input_ids"])
        inputs["labels"] = torch.randint(3, VOCABULARY, (1, PROMPT))
        start = torch.full((1, 1), model.config.decoder_start_token_id)
        inputs["decoder_input_ids"] = torch.cat([start, inputs["labels"][:, :-1]], dim=1)
    elif name.endswith("ForMaskedLM"):
        inputs["attention_mask"] = torch.ones_like(inputs["input_ids"])
        inputs["labels"] = torch.where(torch.rand(inputs["input_ids"].shape) < 0.3, inputs["input_ids"], -100)
        if name.startswith("Longformer"):
            inputs["global_attention_mask"] = torch.zeros_like(inputs["input_ids"])
            inputs["global_attention_mask"][0, [0, 300]] = 1
    return inputs


def greedy(folder, inputs):
    """Greedy tokens, and the smallest lead of a chosen one over the next.

    Where LongRoPE's factors change, the reference means to read the text again but reads its last token alone, so there it
    goes without a cache."""
    model = opened(folder)
    if not model.can_generate() or type(model).__name__.endswith("ForMaskedLM"):
        return {}, math.inf
    settings = model.generation_config
    settings.eos_token_id = settings.forced_eos_token_id = settings.forced_bos_token_id = None
    how = {"do_sample": False, "num_beams": 1, "max_new_tokens": NEW, "output_logits": True, "return_dict_in_generate": True,
           "use_cache": "longrope" not in str(model.config.to_dict().get("rope_parameters"))}
    takes_all = model.config.is_encoder_decoder or "pixel_values" in inputs
    ids = inputs["input_ids"] if takes_all else inputs["input_ids"][:, :PROMPT]
    pictures = {"pixel_values": inputs["pixel_values"]} if "pixel_values" in inputs else {}
    out = model.generate(ids, attention_mask=torch.ones_like(ids), **pictures, **how)
    leads = [scores.topk(2).values for scores in out.logits]
    lead = min((two[0, 0] - two[0, 1]).item() for two in leads)
    begin = 1 if model.config.is_encoder_decoder else ids.shape[1]
    tokens = {"greedy_tokens": out.sequences[:, begin:]}
    return tokens if takes_all else {"greedy_prompt": ids} | tokens, lead


def results(folder, inputs):
    model = opened(folder)
    with torch.no_grad():
        logits = model(**{name: value for name, value in inputs.items() if name != "labels"}).logits
    if "pixel_values" in inputs:  # its loss is that of an answer alone
        return {"logits": logits}
    causal = not (model.config.is_encoder_decoder or type(model).__name__.endswith("ForMaskedLM"))
    labels = {"labels": inputs["input_ids"]} if causal else {}
    with torch.no_grad():
        loss = opened(folder)(**(inputs | labels)).loss
    return {"logits": logits, "loss": loss.reshape(1)}


def make(out, name, architecture, fields):
    folder = out / name
    kind = getattr(transformers, architecture)
    settings = {key: value for key, value in fields.items() if key not in ("rope_parameters", "rope_scaling", "rope_theta", "rotary_pct")}
    model = kind(kind.config_class(**settings))
    best = None
    for seed in range(SEEDS):
        random_weights(model, seed)
        model.save_pretrained(folder)
        config = json.loads((folder / "config.json").read_text())
        if any(key in fields for key in ("rope_parameters", "rope_scaling")):
            config.pop("rope_parameters", None)
            config |= {key: fields[key] for key in ("rope_parameters", "rope_scaling", "rope_theta", "rotary_pct") if key in fields}
            if architecture.startswith("GPTNeoX") and "rope_theta" in config:
                config["rotary_emb_base"] = config.pop("rope_theta")
        (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n")
        inputs = inputs_of(model, seed)
        tokens, lead = greedy(folder, inputs)
        if best is None or lead > best[1]:
            best = (seed, lead, inputs, tokens, {path.name: path.read_bytes() for path in folder.iterdir()})
        if lead > 0.05:
            break
    seed, lead, inputs, tokens, files = best
    for path in folder.iterdir():
        path.unlink()
    for file in ("config.json", "model.safetensors"):
        (folder / file).write_bytes(files[file])
    expected = inputs | results(folder, inputs) | tokens
    metadata = {"source": f"transformers {transformers.__version__}, torch {torch.__version__}", "greedy_margin": f"{lead:.4f}"}
    if model.config.is_encoder_decoder:
        metadata["decoder_start"] = str(model.config.decoder_start_token_id)
    save_file({key: value.detach().contiguous().clone() for key, value in expected.items()},
              str(folder / "expected.safetensors"), metadata=metadata)
    print(f"{name}: seed {seed}, lead {lead:.4f}", flush=True)


def main():
    out, wanted = pathlib.Path(sys.argv[1]), sys.argv[2:]
    cases = {name: case for name, case in plain.items()}
    for name, (architecture, fields, rope) in scaled.items():
        for old in (False, True):
            cases[name + ("-old" if old else "")] = (architecture, spelled(fields, rope, old))
    for name, (architecture, fields) in cases.items():
        if wanted and name not in wanted:
            continue
        try:
            make(out, name, architecture, fields)
        except Exception as error:  # the others are made all the same
            print(f"{name}: {type(error).__name__}: {error}", flush=True)


if __name__ == "__main__":
    torch.set_num_threads(4)
    main()
