#!/usr/bin/env python3
"""Makes a reference case for `tessera parity` from a model of your own.

    pip install torch transformers safetensors
    tools/reference.py MODEL OUT [--text-length 24] [--batch 2] [--new-tokens 16] [--seed 0] [--no-gradients]

MODEL is a folder or a name on the Hugging Face Hub. OUT gets config.json, model.safetensors (in float32) and
expected.safetensors: random inputs, and what transformers computes from them in float32 on a CPU. The names are listed
in docs/parity.md. Then:

    tessera parity OUT
"""

import argparse
import pathlib

import torch
import transformers
from safetensors.torch import save_file


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--text-length", type=int, default=24)
    parser.add_argument("--batch", type=int, default=2)
    parser.add_argument("--new-tokens", type=int, default=16)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--no-gradients", action="store_true", help="they take as much space as the weights")
    return parser.parse_args()


def load(name):
    """The model class that the checkpoint's config names."""
    config = transformers.AutoConfig.from_pretrained(name)
    kind = getattr(transformers, (config.architectures or [""])[0], None)
    if kind is None:
        raise SystemExit(f"{name}: config.json names no architecture that transformers has: {config.architectures}")
    # Only the plain attention caps scores; elsewhere the reference's default is what people run.
    caps = getattr(text_settings(config), "attn_logit_softcapping", None) is not None
    model = kind.from_pretrained(name, dtype=torch.float32, **({"attn_implementation": "eager"} if caps else {}))
    return model.eval()


def text_settings(config):
    return getattr(config, "text_config", config)


def picture_settings(config):
    vision = getattr(config, "vision_config", config)
    return vision if hasattr(vision, "image_size") else None


def random_inputs(model, options):
    """Inputs of the kind that the model takes."""
    config, inputs = model.config, {}
    vocabulary = getattr(text_settings(config), "vocab_size", None)
    vision = picture_settings(config)
    if vision is not None:
        size = vision.image_size
        inputs["pixel_values"] = torch.randn(options.batch, vision.num_channels, size, size)
    if vocabulary is not None:
        length = min(options.text_length, getattr(text_settings(config), "max_position_embeddings", options.text_length))
        inputs["input_ids"] = torch.randint(3, vocabulary - 1, (options.batch, length))
    image_token = getattr(config, "image_token_index", None) or getattr(config, "image_token_id", None)
    if image_token is not None and vision is not None:
        count = (vision.image_size // vision.patch_size) ** 2
        pictures = torch.full((options.batch, count), image_token)
        inputs["input_ids"] = torch.cat([pictures, inputs["input_ids"]], dim=1)
    if config.is_encoder_decoder:
        inputs["attention_mask"] = torch.ones_like(inputs["input_ids"])
        inputs["labels"] = torch.randint(3, vocabulary - 1, (options.batch, 9))
        start = torch.full((options.batch, 1), config.decoder_start_token_id)
        inputs["decoder_input_ids"] = torch.cat([start, inputs["labels"][:, :-1]], dim=1)
    elif type(model).__name__.endswith("ForMaskedLM"):
        inputs["attention_mask"] = torch.ones_like(inputs["input_ids"])
        inputs["labels"] = torch.where(torch.rand(inputs["input_ids"].shape) < 0.3, inputs["input_ids"], -100)
        inputs["labels"][0, 0] = inputs["input_ids"][0, 0]
    elif type(model).__name__.endswith("ForImageClassification"):
        inputs["labels"] = torch.randint(0, config.num_labels, (options.batch,))
    return inputs


def is_causal(model):
    return type(model).__name__.endswith("ForCausalLM") or type(model).__name__ == "GPT2LMHeadModel"


def forward_results(model, inputs):
    wants_hidden = "pixel_values" not in inputs
    with torch.no_grad():
        given = {name: value for name, value in inputs.items() if name != "labels"}
        out = model(**given, output_hidden_states=wants_hidden)
    results = {}
    for ours, theirs in [
        ("logits", "logits"),
        ("logits_per_image", "logits_per_image"),
        ("image_embeds", "image_embeds"),
        ("text_embeds", "text_embeds"),
        ("encoder_last_hidden", "encoder_last_hidden_state"),
    ]:
        if getattr(out, theirs, None) is not None:
            results[ours] = getattr(out, theirs)
    if getattr(out, "hidden_states", None):
        results["hidden_after_embed"] = out.hidden_states[0]
        results["hidden_after_layer_1"] = out.hidden_states[1]
        results["last_hidden"] = out.hidden_states[-1]
    return results


def loss_and_gradients(model, inputs, checkpoint_names):
    labels = inputs.get("labels", inputs["input_ids"] if is_causal(model) else None)
    if labels is None:
        return {}
    model.zero_grad()
    loss = model(**{**inputs, "labels": labels}).loss
    results = {"loss": loss.detach().reshape(1)}
    if checkpoint_names is not None:
        loss.backward()
        for name, parameter in model.named_parameters():
            if parameter.grad is not None and name in checkpoint_names:
                results[f"grad.{name}"] = parameter.grad
    return results


def greedy_results(model, inputs, options):
    if not model.can_generate():
        return {}
    keep = {"do_sample": False, "num_beams": 1, "max_new_tokens": options.new_tokens, "min_new_tokens": options.new_tokens}
    # Nothing but the scores decides: no token is forced or forbidden.
    model.generation_config.eos_token_id = None
    model.generation_config.forced_eos_token_id = None
    keep.pop("min_new_tokens")
    if is_causal(model):
        prompt = inputs["input_ids"][:1, :8]
        tokens = model.generate(prompt, attention_mask=torch.ones_like(prompt), **keep)
        return {"greedy_prompt": prompt, "greedy_tokens": tokens[:, prompt.shape[1] :]}
    if model.config.is_encoder_decoder:
        first = inputs["input_ids"][:1]
        tokens = model.generate(first, attention_mask=torch.ones_like(first), **keep)
        return {"greedy_tokens": tokens[:, 1:]}
    return {}


def main():
    options = arguments()
    torch.manual_seed(options.seed)
    model = load(options.model)
    inputs = random_inputs(model, options)
    options.out.mkdir(parents=True, exist_ok=True)
    model.save_pretrained(options.out, safe_serialization=True)
    names = None if options.no_gradients else set(model.state_dict())
    expected = dict(inputs)
    expected |= forward_results(model, inputs)
    expected |= loss_and_gradients(model, inputs, names)
    expected |= greedy_results(model, inputs, options)
    metadata = {"source": f"transformers {transformers.__version__}, torch {torch.__version__}"}
    if model.config.is_encoder_decoder:
        metadata["decoder_start"] = str(model.config.decoder_start_token_id)
    save_file({name: value.detach().contiguous().clone() for name, value in expected.items()},
              str(options.out / "expected.safetensors"), metadata=metadata)
    print(f"{options.out}: {len(expected)} tensors; now run: tessera parity {options.out}")


if __name__ == "__main__":
    main()
