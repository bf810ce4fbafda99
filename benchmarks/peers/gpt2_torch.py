#!/usr/bin/env python3
"""A GPT-2 training step in plain PyTorch, as fast as PyTorch 1.13 does it on a CPU.

Prints one JSON object: seconds a step, and the parts of a step; with --interactive, prints "ready" and then does one
step for each line of its input, answering with the seconds of its parts. The model is the one of
benchmarks/gpt2_step.h: tied embeddings, learned positions, pre-norm blocks, tanh GELU, no dropout; AdamW with weight decay.

    gpt2_torch.py --steps 5
"""

import argparse
import json
import math
import os
import statistics
import sys
import time


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=5, help="timed steps, after two to warm up")
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--length", type=int, default=256)
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--width", type=int, default=768)
    parser.add_argument("--heads", type=int, default=12)
    parser.add_argument("--vocabulary", type=int, default=50257)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--bf16", action="store_true", help="mixed precision, by autocast")
    parser.add_argument("--interactive", action="store_true")
    parser.add_argument("--attention", choices=["baddbmm", "matmul"], default="baddbmm")
    parser.add_argument("--optimizer", choices=["foreach", "single", "flat"], default="single")
    parser.add_argument("--profile", action="store_true", help="the ten costliest operators, to stderr")
    return parser.parse_args()


arguments = parse_arguments()
os.environ["OMP_NUM_THREADS"] = str(arguments.threads)

import torch  # noqa: E402
from torch import nn  # noqa: E402
from torch.nn import functional  # noqa: E402


class Attention(nn.Module):
    def __init__(self, width, heads, length):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        mask = torch.full((length, length), -math.inf).triu(1)
        self.register_buffer("mask", mask, persistent=False)

    def forward(self, x):
        batch, length, width = x.shape
        head_width = width // self.heads
        qkv = self.qkv(x).view(batch, length, 3, self.heads, head_width).permute(2, 0, 3, 1, 4)
        scale = 1 / math.sqrt(head_width)
        if arguments.attention == "baddbmm":  # mask, scale and product in one call
            query, key, value = qkv.reshape(3, batch * self.heads, length, head_width).unbind(0)
            scores = torch.baddbmm(self.mask, query, key.transpose(1, 2), alpha=scale)
            mixed = torch.bmm(scores.softmax(-1), value)
            mixed = mixed.view(batch, self.heads, length, head_width)
        else:
            query, key, value = qkv.unbind(0)
            scores = (query * scale) @ key.transpose(-1, -2) + self.mask
            mixed = scores.softmax(-1) @ value
        return self.out(mixed.transpose(1, 2).reshape(batch, length, width))


class Block(nn.Module):
    def __init__(self, width, heads, length):
        super().__init__()
        self.norm_1, self.norm_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = Attention(width, heads, length)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        x = x + self.attention(self.norm_1(x))
        return x + self.down(functional.gelu(self.up(self.norm_2(x)), approximate="tanh"))


class GPT2(nn.Module):
    def __init__(self, layers, width, heads, length, vocabulary):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(vocabulary, width), nn.Embedding(length, width)
        self.blocks = nn.ModuleList(Block(width, heads, length) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        nn.init.normal_(self.tokens.weight, std=0.02)
        nn.init.normal_(self.positions.weight, std=0.02)

    def forward(self, ids, targets):
        x = self.tokens(ids) + self.positions.weight[: ids.shape[1]]
        for block in self.blocks:
            x = block(x)
        logits = functional.linear(self.norm(x).flatten(0, 1), self.tokens.weight)
        return functional.cross_entropy(logits, targets.flatten())


def make_optimizer(model):
    options = dict(lr=6e-4, betas=(0.9, 0.95), weight_decay=0.1)
    if arguments.optimizer == "flat":  # all parameters in one buffer: one kernel an operation instead of 148
        parameters = list(model.parameters())
        flat = torch.cat([p.data.flatten() for p in parameters])
        flat.grad = torch.zeros_like(flat)
        offset = 0
        for p in parameters:
            p.data = flat[offset : offset + p.numel()].view_as(p)
            p.grad = flat.grad[offset : offset + p.numel()].view_as(p)
            offset += p.numel()
        return torch.optim.AdamW([flat], foreach=False, **options)
    return torch.optim.AdamW(model.parameters(), foreach=arguments.optimizer == "foreach", **options)


def main():
    torch.manual_seed(1)
    torch.set_num_threads(arguments.threads)
    model = GPT2(arguments.layers, arguments.width, arguments.heads, arguments.length, arguments.vocabulary)
    optimizer = make_optimizer(model)
    ids = torch.randint(arguments.vocabulary, (arguments.batch, arguments.length + 1))
    inputs, targets = ids[:, :-1].contiguous(), ids[:, 1:].contiguous()
    times = {"forward": [], "backward": [], "optimizer": [], "step": []}

    def step():
        start = time.perf_counter()
        with torch.autocast("cpu", torch.bfloat16, enabled=arguments.bf16):
            loss = model(inputs, targets)
        forward_done = time.perf_counter()
        loss.backward()
        backward_done = time.perf_counter()
        optimizer.step()
        # The flat optimizer's gradients are views that must stay; otherwise none is the cheapest zero.
        optimizer.zero_grad(set_to_none=arguments.optimizer != "flat")
        end = time.perf_counter()
        times["forward"].append(forward_done - start)
        times["backward"].append(backward_done - forward_done)
        times["optimizer"].append(end - backward_done)
        times["step"].append(end - start)
        return loss.item()

    step(), step()
    for part in times.values():
        part.clear()
    if arguments.interactive:
        print("ready", flush=True)
        for _ in sys.stdin:
            step()
            print(json.dumps({name: part[-1] for name, part in times.items()}), flush=True)
    elif arguments.profile:
        with torch.profiler.profile() as profiler:
            step()
        print(profiler.key_averages().table(sort_by="self_cpu_time_total", row_limit=12), file=sys.stderr)
    else:
        for _ in range(arguments.steps):
            loss = step()
        medians = {name: statistics.median(part) for name, part in times.items()}
        print(json.dumps(medians | {"best": min(times["step"]), "loss": loss}))


main()
