"""A lean Qwen3-VL for training: the maths and parameter names of transformers' Qwen3VLForConditionalGeneration.

Differences, all for speed on small CPUs: every picture of a batch has the same size, so the vision tower sees one
dense [batch, patches, hidden] tensor; the picture stands at the same place in every row, so positions are shared;
both frames of a still picture are equal, so the patch embedding sums its kernel over time. `check_model.py`
compares it with transformers.
"""
import math

import torch
from torch import nn
from torch.nn import functional as F


class RmsNorm(nn.Module):
    def __init__(self, width: int, eps: float = 1e-6):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))
        self.eps = eps

    def forward(self, x):
        return F.rms_norm(x, (x.shape[-1],), self.weight, self.eps)


def attention(q, k, v, causal: bool = False):
    """Softmax attention in float32: its bfloat16 backward pass is several times slower on CPUs."""
    with torch.autocast("cpu", enabled=False):
        return F.scaled_dot_product_attention(q.float(), k.float(), v.float(), is_causal=causal)


def rotate(x, cos, sin):
    """Rotary embedding; cos and sin hold half of the head dimension."""
    first, second = x.chunk(2, -1)
    return torch.cat((first * cos - second * sin, second * cos + first * sin), -1)


class VisionAttention(nn.Module):
    def __init__(self, hidden: int, heads: int):
        super().__init__()
        self.qkv = nn.Linear(hidden, 3 * hidden)
        self.proj = nn.Linear(hidden, hidden)
        self.heads = heads

    def forward(self, x, cos, sin):
        batch, patches, hidden = x.shape
        q, k, v = self.qkv(x).view(batch, patches, 3, self.heads, hidden // self.heads).permute(2, 0, 3, 1, 4)
        out = attention(rotate(q, cos, sin), rotate(k, cos, sin), v)
        return self.proj(out.transpose(1, 2).reshape(batch, patches, hidden))


class VisionMlp(nn.Module):
    def __init__(self, hidden: int, intermediate: int):
        super().__init__()
        self.linear_fc1 = nn.Linear(hidden, intermediate)
        self.linear_fc2 = nn.Linear(intermediate, hidden)

    def forward(self, x):
        return self.linear_fc2(F.gelu(self.linear_fc1(x), approximate="tanh"))


class VisionBlock(nn.Module):
    def __init__(self, hidden: int, heads: int, intermediate: int):
        super().__init__()
        self.norm1 = nn.LayerNorm(hidden, eps=1e-6)
        self.norm2 = nn.LayerNorm(hidden, eps=1e-6)
        self.attn = VisionAttention(hidden, heads)
        self.mlp = VisionMlp(hidden, intermediate)

    def forward(self, x, cos, sin):
        x = x + self.attn(self.norm1(x), cos, sin)
        return x + self.mlp(self.norm2(x))


class Merger(nn.Module):
    """Joins 2x2 patches into one token: [batch, patches, hidden] -> [batch, patches / 4, out]."""

    def __init__(self, hidden: int, out: int, norm_after_shuffle: bool):
        super().__init__()
        self.norm_after_shuffle = norm_after_shuffle
        self.joined = 4 * hidden
        self.norm = nn.LayerNorm(self.joined if norm_after_shuffle else hidden, eps=1e-6)
        self.linear_fc1 = nn.Linear(self.joined, self.joined)
        self.linear_fc2 = nn.Linear(self.joined, out)

    def forward(self, x):
        batch, patches, _ = x.shape
        shape = (batch, patches // 4, self.joined)
        x = self.norm(x.reshape(shape)) if self.norm_after_shuffle else self.norm(x).reshape(shape)
        return self.linear_fc2(F.gelu(self.linear_fc1(x)))


class PatchEmbed(nn.Module):
    def __init__(self, hidden: int):
        super().__init__()
        self.proj = nn.Conv3d(3, hidden, (2, 16, 16), (2, 16, 16))

    def forward(self, x):
        return F.linear(x, self.proj.weight.sum(2).flatten(1), self.proj.bias)


class VisionModel(nn.Module):
    def __init__(self, config: dict):
        super().__init__()
        hidden, out = config["hidden_size"], config["out_hidden_size"]
        self.config = config
        self.patch_embed = PatchEmbed(hidden)
        self.pos_embed = nn.Embedding(config["num_position_embeddings"], hidden)
        self.blocks = nn.ModuleList(VisionBlock(hidden, config["num_heads"], config["intermediate_size"])
                                    for _ in range(config["depth"]))
        self.merger = Merger(hidden, out, False)
        self.deepstack_merger_list = nn.ModuleList(Merger(hidden, out, True)
                                                   for _ in config["deepstack_visual_indexes"])
        self.cache = {}

    def geometry(self, grid_h: int, grid_w: int):
        """Taps and weights of the interpolated position grid, rotary cosines and sines, in 2x2 block order."""
        if (grid_h, grid_w) in self.cache:
            return self.cache[grid_h, grid_w]
        side = int(self.config["num_position_embeddings"] ** .5)
        head_dim = self.config["hidden_size"] // self.config["num_heads"]
        rows, columns = torch.meshgrid(torch.arange(grid_h), torch.arange(grid_w), indexing="ij")

        def block_order(grid):
            return grid.reshape(grid_h // 2, 2, grid_w // 2, 2).permute(0, 2, 1, 3).reshape(-1)

        def taps(index, count):
            source = index.float() * (side - 1) / max(count - 1, 1)
            low = source.floor()
            weight = source - low
            return low.long().clamp(0, side - 1), (low.long() + 1).clamp(0, side - 1), 1 - weight, weight

        rows, columns = block_order(rows), block_order(columns)
        r0, r1, a0, a1 = taps(rows, grid_h)
        c0, c1, b0, b1 = taps(columns, grid_w)
        index = torch.stack([r0 * side + c0, r0 * side + c1, r1 * side + c0, r1 * side + c1])
        weight = torch.stack([a0 * b0, a0 * b1, a1 * b0, a1 * b1])[..., None]
        inverse = 1 / (10000.0 ** (torch.arange(0, head_dim // 2, 2).float() / (head_dim // 2)))
        angle = torch.cat([rows[:, None] * inverse, columns[:, None] * inverse], -1)
        self.cache[grid_h, grid_w] = index, weight, angle.cos(), angle.sin()
        return self.cache[grid_h, grid_w]

    def forward(self, pixels, grid_h: int, grid_w: int):
        """pixels [batch, patches, 768] -> merged [batch, patches / 4, out] and the DeepStack features."""
        index, weight, cos, sin = self.geometry(grid_h, grid_w)
        x = self.patch_embed(pixels) + (self.pos_embed(index) * weight).sum(0)
        levels, features = self.config["deepstack_visual_indexes"], []
        for i, block in enumerate(self.blocks):
            x = block(x, cos, sin)
            if i in levels:
                features.append(self.deepstack_merger_list[levels.index(i)](x))
        return self.merger(x), features


class TextAttention(nn.Module):
    def __init__(self, config: dict):
        super().__init__()
        hidden, head_dim = config["hidden_size"], config["head_dim"]
        self.q_heads, self.kv_heads = config["num_attention_heads"], config["num_key_value_heads"]
        self.head_dim = head_dim
        self.q_proj = nn.Linear(hidden, self.q_heads * head_dim, bias=False)
        self.k_proj = nn.Linear(hidden, self.kv_heads * head_dim, bias=False)
        self.v_proj = nn.Linear(hidden, self.kv_heads * head_dim, bias=False)
        self.o_proj = nn.Linear(self.q_heads * head_dim, hidden, bias=False)
        self.q_norm = RmsNorm(head_dim)
        self.k_norm = RmsNorm(head_dim)

    def forward(self, x, cos, sin):
        batch, tokens, _ = x.shape
        q = self.q_norm(self.q_proj(x).view(batch, tokens, self.q_heads, self.head_dim)).transpose(1, 2)
        k = self.k_norm(self.k_proj(x).view(batch, tokens, self.kv_heads, self.head_dim)).transpose(1, 2)
        v = self.v_proj(x).view(batch, tokens, self.kv_heads, self.head_dim).transpose(1, 2)
        q, k = rotate(q, cos, sin), rotate(k, cos, sin)
        group = self.q_heads // self.kv_heads
        out = attention(q, k.repeat_interleave(group, 1), v.repeat_interleave(group, 1), causal=True)
        return self.o_proj(out.transpose(1, 2).reshape(batch, tokens, -1))


class TextMlp(nn.Module):
    def __init__(self, hidden: int, intermediate: int):
        super().__init__()
        self.gate_proj = nn.Linear(hidden, intermediate, bias=False)
        self.up_proj = nn.Linear(hidden, intermediate, bias=False)
        self.down_proj = nn.Linear(intermediate, hidden, bias=False)

    def forward(self, x):
        return self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))


class TextLayer(nn.Module):
    def __init__(self, config: dict):
        super().__init__()
        hidden = config["hidden_size"]
        self.self_attn = TextAttention(config)
        self.mlp = TextMlp(hidden, config["intermediate_size"])
        self.input_layernorm = RmsNorm(hidden)
        self.post_attention_layernorm = RmsNorm(hidden)

    def forward(self, x, cos, sin):
        x = x + self.self_attn(self.input_layernorm(x), cos, sin)
        return x + self.mlp(self.post_attention_layernorm(x))


class TextModel(nn.Module):
    def __init__(self, config: dict):
        super().__init__()
        self.embed_tokens = nn.Embedding(config["vocab_size"], config["hidden_size"])
        self.layers = nn.ModuleList(TextLayer(config) for _ in range(config["num_hidden_layers"]))
        self.norm = RmsNorm(config["hidden_size"])
        rope, head_dim = config["rope_parameters"], config["head_dim"]
        self.inverse = 1 / (rope["rope_theta"] ** (torch.arange(0, head_dim, 2).float() / head_dim))
        # Interleaved M-RoPE: which of the axes time, row, column turns each frequency.
        self.axis = torch.zeros(head_dim // 2, dtype=torch.long)
        self.axis[1:rope["mrope_section"][1] * 3:3] = 1
        self.axis[2:rope["mrope_section"][2] * 3:3] = 2

    def rope(self, positions):
        """positions [3, tokens], the same for every row of the batch."""
        angle = positions.float()[self.axis].T * self.inverse
        return angle.cos(), angle.sin()


class InnerModel(nn.Module):
    def __init__(self, config: dict):
        super().__init__()
        self.visual = VisionModel(config["vision_config"])
        self.language_model = TextModel(config["text_config"])


class LeanQwen3VL(nn.Module):
    def __init__(self, config: dict):
        super().__init__()
        self.model = InnerModel(config)
        for name, weight in self.named_parameters():
            if weight.dim() > 1:
                nn.init.normal_(weight, std=initial_deviation(name, weight))
            elif name.endswith("bias"):
                nn.init.zeros_(weight)

    @staticmethod
    def positions(before: int, grid_h: int, grid_w: int, tokens: int):
        """[3, tokens]: text counts up on all axes, the picture's tokens carry their row and column."""
        rows, columns = grid_h // 2, grid_w // 2
        image = torch.stack([torch.full((rows * columns,), before),
                             before + torch.arange(rows).repeat_interleave(columns),
                             before + torch.arange(columns).repeat(rows)])
        after = before + max(rows, columns) + torch.arange(max(0, tokens - before - rows * columns))
        return torch.cat([torch.arange(before).repeat(3, 1), image, after.repeat(3, 1)], 1)[:, :tokens]

    def forward(self, ids, pixels, grid_h: int, grid_w: int, before: int, owners=None):
        """ids [batch, tokens] with the picture's tokens right after the first `before` ones; pixels may be None.

        `owners` tells which picture each row is about; without it there is one for each row.
        Returns the final hidden state [batch, tokens, hidden] and the merged vision features (or None).
        """
        text = self.model.language_model
        x = text.embed_tokens(ids)
        tokens = ids.shape[1]
        if pixels is None:
            merged, features, end = None, [], before
            positions = torch.arange(tokens).repeat(3, 1)
        else:
            merged, features = self.model.visual(pixels, grid_h, grid_w)
            end = before + merged.shape[1]
            own = merged if owners is None else merged[owners]
            features = features if owners is None else [f[owners] for f in features]
            x = torch.cat([x[:, :before], own, x[:, end:]], 1)
            positions = self.positions(before, grid_h, grid_w, tokens)
        cos, sin = text.rope(positions)
        for i, layer in enumerate(text.layers):
            x = layer(x, cos, sin)
            if i < len(features):
                x = torch.cat([x[:, :before], x[:, before:end] + features[i], x[:, end:]], 1)
        return text.norm(x), merged


def initial_deviation(name: str, weight) -> float:
    """Embeddings 0.02; matrices one over the root of their inputs, the last of each residual branch 0.3 of that."""
    if "embed" in name and "patch" not in name:
        return .02
    layer = name.split(".")[-2]
    last = ("proj" in layer and "o_proj" in name) or "down" in name or "fc2" in name
    return 1 / math.sqrt(weight[0].numel()) * (.3 if last else 1)
