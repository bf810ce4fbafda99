#!/usr/bin/env python3
"""How fast the libraries `tokenizers` and `tiktoken` encode a text on one thread.

Prints one JSON object: MB/s of each library that Python has here (the best of some rounds, and of the ways to hand over
the text), and how many ids came out. tiktoken gets the vocabulary of the same tokenizer.json, which has to be byte-level
with GPT-2's pattern.

    tokenizers_python.py DIR TEXT [--megabytes 10] [--rounds 3]
"""

import argparse
import json
import os
import time

os.environ["TOKENIZERS_PARALLELISM"] = "false"
os.environ["RAYON_NUM_THREADS"] = "1"

PATTERN = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"


def bytes_of_characters():
    """GPT-2's characters for bytes, turned around."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    table = {chr(byte): byte for byte in printable}
    others = [byte for byte in range(256) if byte not in printable]
    table.update({chr(256 + i): byte for i, byte in enumerate(others)})
    return table


def best_seconds(work, rounds):
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        count = work()
        times.append(time.perf_counter() - start)
    return min(times), count


def measure_tokenizers(path, text, rounds):
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(path)
    lines = text.splitlines(keepends=True)
    encode_batch = getattr(tokenizer, "encode_batch_fast", tokenizer.encode_batch)
    whole = best_seconds(lambda: len(tokenizer.encode(text, add_special_tokens=False).ids), rounds)
    batch = best_seconds(lambda: sum(len(e.ids) for e in encode_batch(lines, add_special_tokens=False)), rounds)
    return min(whole[0], batch[0]), whole[1]


def measure_tiktoken(path, text, rounds):
    import tiktoken

    with open(path, encoding="utf-8") as file:
        model = json.load(file)["model"]
    table = bytes_of_characters()
    ranks = {}
    for token, identifier in model["vocab"].items():
        if all(character in table for character in token) and not token.startswith("<|"):
            ranks[bytes(table[character] for character in token)] = identifier
    encoding = tiktoken.Encoding("measured", pat_str=PATTERN, mergeable_ranks=ranks, special_tokens={})
    return best_seconds(lambda: len(encoding.encode_ordinary(text)), rounds)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", help="holds tokenizer.json")
    parser.add_argument("text", help="a text file, repeated to the length")
    parser.add_argument("--megabytes", type=float, default=10)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    with open(arguments.text, "rb") as file:
        once = file.read()
    length = int(arguments.megabytes * 1e6)
    text = (once * (length // max(len(once), 1) + 1))[:length].decode("utf-8", errors="ignore")
    path = os.path.join(arguments.folder, "tokenizer.json")
    answer = {}
    for name, measure in (("tokenizers", measure_tokenizers), ("tiktoken", measure_tiktoken)):
        try:
            seconds, count = measure(path, text, arguments.rounds)
            answer[name] = {"megabytes_per_second": len(text.encode()) / seconds / 1e6, "ids": count}
        except ImportError:
            pass
    print(json.dumps(answer))


if __name__ == "__main__":
    main()
