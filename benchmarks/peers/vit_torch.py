#!/usr/bin/env python3
"""A ViT-S/16 training step in plain PyTorch, as fast as PyTorch 1.13 does it on a CPU.

Prints one JSON object: the median seconds of a step, and the best. Pre-norm blocks with biases, exact GELU, a class
token, learned positions, no dropout; AdamW with weight decay. The pictures are there already: no time goes into
loading them.

    vit_torch.py --steps 5
"""

import argparse
import json
import math
import os
import statistics
import time


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=5, help="timed steps, after two to warm up")
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--size", type=int, default=224)
    parser.add_argument("--patch", type=int, default=16)
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--width", type=int, default=384)
    parser.add_argument("--heads", type=int, default=6)
    parser.add_argument("--classes", type=int, default=1000)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--bf16", action="store_true", help="mixed precision, by autocast")
    return parser.parse_args()


arguments = parse_arguments()
os.environ["OMP_NUM_THREADS"] = str(arguments.threads)

import torch  # noqa: E402
from torch import nn  # noqa: E402
from torch.nn import functional  # noqa: E402


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm_1, self.norm_2 = nn.LayerNorm(width, eps=1e-12), nn.LayerNorm(width, eps=1e-12)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def attention(self, x):
        batch, length, width = x.shape
        head_width = width // self.heads
        qkv = self.qkv(x).view(batch, length, 3, self.heads, head_width).permute(2, 0, 3, 1, 4)
        query, key, value = qkv.reshape(3, batch * self.heads, length, head_width).unbind(0)
        nothing = torch.zeros(1, 1, 1)  # beta = 0 leaves it out
        scores = torch.baddbmm(nothing, query, key.transpose(1, 2), beta=0, alpha=1 / math.sqrt(head_width))
        mixed = torch.bmm(scores.softmax(-1), value).view(batch, self.heads, length, head_width)
        return self.out(mixed.transpose(1, 2).reshape(batch, length, width))

    def forward(self, x):
        x = x + self.attention(self.norm_1(x))
        return x + self.down(functional.gelu(self.up(self.norm_2(x))))


class ViT(nn.Module):
    def __init__(self):
        super().__init__()
        width, patches = arguments.width, (arguments.size // arguments.patch) ** 2
        self.patches = nn.Conv2d(3, width, arguments.patch, arguments.patch)
        self.first = nn.Parameter(torch.zeros(1, 1, width))
        self.positions = nn.Parameter(torch.randn(1, 1 + patches, width) * 0.02)
        self.blocks = nn.ModuleList(Block(width, arguments.heads) for _ in range(arguments.layers))
        self.norm = nn.LayerNorm(width, eps=1e-12)
        self.classifier = nn.Linear(width, arguments.classes)

    def forward(self, pixels, labels):
        x = self.patches(pixels).flatten(2).transpose(1, 2)
        x = torch.cat([self.first.expand(x.shape[0], -1, -1), x], 1) + self.positions
        for block in self.blocks:
            x = block(x)
        return functional.cross_entropy(self.classifier(self.norm(x)[:, 0]), labels)


def main():
    torch.manual_seed(1)
    torch.set_num_threads(arguments.threads)
    model = ViT()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, betas=(0.9, 0.95), weight_decay=0.1, foreach=False)
    pixels = torch.rand(arguments.batch, 3, arguments.size, arguments.size) * 2 - 1
    labels = torch.randint(arguments.classes, (arguments.batch,))
    times = []
    for _ in range(arguments.steps + 2):
        start = time.perf_counter()
        with torch.autocast("cpu", torch.bfloat16, enabled=arguments.bf16):
            loss = model(pixels, labels)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        times.append(time.perf_counter() - start)
    print(json.dumps({"step": statistics.median(times[2:]), "best": min(times[2:]), "loss": loss.item()}))


main()
