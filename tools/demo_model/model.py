"""Qwen3-VL's maths on plain tensors, with the parameter names of the Hugging Face checkpoint.

Weights are a dictionary name -> tensor. All pictures of a batch have one size, so the vision tower sees a dense
[batch, patches, hidden] tensor. `check.py`-style equality with transformers is tested by `python model.py REFERENCE`.
"""
import torch
import torch.nn.functional as F

V, T = "model.visual.", "model.language_model."


def patches(images):
    """uint8 [B, H, W, 3] -> [B, patches, 1536] in the processor's order (2x2 blocks together)."""
    b, h, w, _ = images.shape
    gh, gw = h // 16, w // 16
    x = images.permute(0, 3, 1, 2).float() / 127.5 - 1
    x = x.reshape(b, 3, gh // 2, 2, 16, gw // 2, 2, 16).permute(0, 2, 5, 3, 6, 1, 4, 7)
    return x.unsqueeze(6).expand(-1, -1, -1, -1, -1, -1, 2, -1, -1).reshape(b, gh * gw, 1536)


def block_order(grid):
    """[gh, gw, ...] -> [gh*gw, ...] in 2x2 block order."""
    gh, gw = grid.shape[:2]
    rest = grid.shape[2:]
    return grid.reshape(gh // 2, 2, gw // 2, 2, *rest).transpose(1, 2).reshape(gh * gw, *rest)


def rotate(x, cos, sin):
    half = x.shape[-1] // 2
    return x * cos + torch.cat((-x[..., half:], x[..., :half]), -1) * sin


def vision_rope(gh, gw, head_dim, theta=10000.0):
    inv = 1.0 / theta ** (torch.arange(0, head_dim // 2, 2).float() / (head_dim // 2))
    hh, ww = torch.meshgrid(torch.arange(gh), torch.arange(gw), indexing="ij")
    pos = block_order(torch.stack((hh, ww), -1)).float()
    f = (pos[:, :, None] * inv).flatten(1)
    return torch.cat((f, f), -1)


def position_table(table, gh, gw):
    """The learned square grid, interpolated bilinearly (corners aligned) to gh x gw."""
    side = int(table.shape[0] ** .5)
    grid = table.float().reshape(1, side, side, -1).permute(0, 3, 1, 2)
    grid = F.interpolate(grid, (gh, gw), mode="bilinear", align_corners=True)
    return block_order(grid[0].permute(1, 2, 0))


def norm(p, name, x):
    return F.layer_norm(x.float(), x.shape[-1:], p[name + ".weight"].float(), p[name + ".bias"].float(), 1e-6)


def linear(p, name, x):
    w = p[name + ".weight"]
    return F.linear(x.to(w.dtype), w.flatten(1), p.get(name + ".bias"))


def merger(p, name, x, after_shuffle):
    b, n, h = x.shape
    x = norm(p, name + ".norm", x.reshape(b, n // 4, 4 * h) if after_shuffle else x).reshape(b, n // 4, 4 * h)
    return linear(p, name + ".linear_fc2", F.gelu(linear(p, name + ".linear_fc1", x)))


def vision(p, cfg, px, gh, gw):
    """-> merged [B, n/4, out], list of DeepStack outputs, last hidden state."""
    c = cfg["vision_config"]
    heads, dim = c["num_heads"], c["hidden_size"] // c["num_heads"]
    f = vision_rope(gh, gw, dim)
    dtype = p[V + "blocks.0.attn.qkv.weight"].dtype
    cos, sin = f.cos()[:, None].to(dtype), f.sin()[:, None].to(dtype)
    x = linear(p, V + "patch_embed.proj", px).float() + position_table(p[V + "pos_embed.weight"], gh, gw)
    b, n, h = x.shape
    deep = []
    for i in range(c["depth"]):
        k = f"{V}blocks.{i}."
        q, kk, v = linear(p, k + "attn.qkv", norm(p, k + "norm1", x)).reshape(b, n, 3, heads, dim).unbind(2)
        q, kk = rotate(q, cos, sin), rotate(kk, cos, sin)
        a = F.scaled_dot_product_attention(q.transpose(1, 2), kk.transpose(1, 2), v.transpose(1, 2))
        x = x + linear(p, k + "attn.proj", a.transpose(1, 2).reshape(b, n, h))
        m = F.gelu(linear(p, k + "mlp.linear_fc1", norm(p, k + "norm2", x)), approximate="tanh")
        x = x + linear(p, k + "mlp.linear_fc2", m)
        if i in c["deepstack_visual_indexes"]:
            j = c["deepstack_visual_indexes"].index(i)
            deep.append(merger(p, f"{V}deepstack_merger_list.{j}", x, True))
    return merger(p, V + "merger", x, False), deep, x


def rms(w, x):
    x = x.float()
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * w.float()


def text_rope(cfg, pos):
    """pos [3, B, L] -> cos, sin [B, L, 1, head_dim] with interleaved M-RoPE."""
    c = cfg["text_config"]
    half, rp = c["head_dim"] // 2, c["rope_parameters"]
    inv = 1.0 / rp["rope_theta"] ** (torch.arange(0, half).float() / half)
    f = pos[..., None].float() * inv
    out = f[0].clone()
    for axis in (1, 2):
        idx = torch.arange(axis, rp["mrope_section"][axis] * 3, 3)
        out[..., idx] = f[axis][..., idx]
    out = torch.cat((out, out), -1)[:, :, None]
    return out.cos(), out.sin()


def text(p, cfg, x, deep, image_slice, pos, mask):
    """x [B, L, H] embeddings with the picture at image_slice; mask [B, 1, L, L] bool; -> normed hidden."""
    c = cfg["text_config"]
    nh, nk, d = c["num_attention_heads"], c["num_key_value_heads"], c["head_dim"]
    cos, sin = text_rope(cfg, pos)
    b, n, h = x.shape
    x = x.float()
    s, e = image_slice
    for i in range(c["num_hidden_layers"]):
        k = f"{T}layers.{i}."
        y = rms(p[k + "input_layernorm.weight"], x)
        w = torch.cat([p[f"{k}self_attn.{m}_proj.weight"] for m in "qkv"])
        y = F.linear(y.to(w.dtype), w)
        q, kk, v = y.split((nh * d, nk * d, nk * d), -1)
        q = rotate(rms(p[k + "self_attn.q_norm.weight"], q.reshape(b, n, nh, d)), cos, sin).to(w.dtype)
        kk = rotate(rms(p[k + "self_attn.k_norm.weight"], kk.reshape(b, n, nk, d)), cos, sin).to(w.dtype)
        kk = kk.repeat_interleave(nh // nk, 2)
        v = v.reshape(b, n, nk, d).repeat_interleave(nh // nk, 2)
        a = F.scaled_dot_product_attention(q.transpose(1, 2), kk.transpose(1, 2), v.transpose(1, 2), attn_mask=mask)
        x = x + linear(p, k + "self_attn.o_proj", a.transpose(1, 2).reshape(b, n, nh * d))
        y = rms(p[k + "post_attention_layernorm.weight"], x)
        x = x + linear(p, k + "mlp.down_proj", F.silu(linear(p, k + "mlp.gate_proj", y)) * linear(p, k + "mlp.up_proj", y))
        if i < len(deep) and e > s:
            x = torch.cat((x[:, :s], x[:, s:e] + deep[i], x[:, e:]), 1)
    return rms(p[T + "norm.weight"], x)
