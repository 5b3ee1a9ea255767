# SPDX-License-Identifier: Apache-2.0
"""The networks of dense.py, chosen.py and recent.py: name to a function of (batch, small), as in table.py."""
import torch

from . import chosen, dense, recent


def ids(words, *extents):
    return torch.randint(1, words, extents)


def sizes(large, small, make):
    """make with one of two lists of numbers behind the batch."""
    return lambda batch, is_small: make(batch, *(small if is_small else large))


def pictures(batch, channels, *sides):
    return tuple(torch.randn(batch, channels, side, side) for side in sides)


def pillars(batch, width, side, many):
    return dense.Pillars(width, side), (torch.randn(many * batch, 20, 9), torch.randperm(side * side)[:many * batch])


def nodes_and_edges(nodes, edges):
    return torch.randint(0, nodes, (2, edges))


def graph_attention(batch, inputs, width, heads, nodes, edges):
    return chosen.GraphAttention(inputs, width, heads, 2), (torch.randn(nodes * batch, inputs), nodes_and_edges(nodes * batch, edges * batch))


def messages(batch, width, layers, nodes, edges):
    return (chosen.Messages(8, 4, width, layers),
            (torch.randn(nodes * batch, 8), torch.randn(edges * batch, 4), nodes_and_edges(nodes * batch, edges * batch)))


def bags(batch, tables, words, width, many, bag):
    return chosen.Bags(tables, words, width, 3), (torch.rand(many * batch, 13), ids(words, many * batch, tables, bag))


def receptance(batch, layers, width, heads):
    size = width // heads
    return chosen.Receptance(layers, width, heads), (torch.randn(batch, width), torch.randn(batch, 2 * layers, width), torch.randn(batch, layers, heads, size, size))


def whisper_step(batch, layers, width, heads, words, past, rows):
    size = width // heads
    return (chosen.Steps(layers, width, heads, words),
            (ids(words, batch, 1), *(torch.randn(batch, layers, heads, length, size) for length in (past, past, rows, rows))))


def deformable(batch, width, heads, layers, queries, inputs, sides):
    return dense.DeformableDetr(width, heads, layers, queries, inputs), tuple(torch.randn(batch, c, s, s) for c, s in zip(inputs, sides))


MORE = {
    "sam_encoder": sizes((768, 12, 64, 14, 12, (2, 5, 8, 11)), (48, 4, 8, 3, 2, (1,)), lambda b, *s: (dense.SamEncoder(*s), pictures(b, 3, 16 * s[2]))),
    "sam_decoder": sizes((256, 8, 64), (32, 4, 8), lambda b, w, h, s: (dense.SamDecoder(w, h), (*pictures(b, w, s, s), torch.randn(b, 2, w)))),
    "deformable_detr": sizes((256, 8, 6, 300, (512, 1024, 2048), (80, 40, 20)), (32, 4, 1, 10, (16, 24, 32), (8, 4, 2)), deformable),
    "segformer": sizes(((32, 64, 160, 256), (1, 2, 5, 8), 2, 512), ((8, 16, 24, 32), (1, 2, 3, 4), 1, 64),
                       lambda b, w, h, n, s: (dense.Segformer(w, h, n), pictures(b, 3, s))),
    "query_masks": sizes((256, 8, 9, 100, 128), (32, 4, 3, 10, 32),
                       lambda b, w, h, n, q, s: (dense.MaskHead(w, h, n, q), pictures(b, w, s, s // 8, s // 4, s // 2))),
    "pillars": sizes((64, 256, 8000), (16, 32, 100), pillars),
    "cost_flow": sizes(((16, 32, 64, 96, 128), 384), ((8, 8, 16, 16), 64), lambda b, w, s: (dense.Flow(w), pictures(b, 3, s, s))),
    "depth_transformer": sizes((384, 6, 12, 64, 37), (32, 4, 4, 16, 6), lambda b, *s: (dense.Depth(*s), pictures(b, 3, 14 * s[4]))),
    "experts": sizes((4, 512, 8, 1024, 8, 256), (1, 32, 4, 48, 4, 9), lambda b, *s: (chosen.Experts(*s[:5]), (torch.randn(b, s[5], s[1]),))),
    "chosen_experts": sizes((1024, 2816, 8, 4), (32, 48, 4, 3), lambda b, w, i, e, n: (chosen.ChosenExperts(w, i, e), (torch.randn(b * n, w),))),
    "graph_attention": sizes((128, 256, 4, 5000, 40000), (8, 16, 2, 30, 100), graph_attention),
    "messages": sizes((128, 4, 4000, 24000), (16, 2, 30, 100), messages),
    "bags": sizes((26, 20000, 32, 1024, 8), (3, 50, 8, 7, 4), bags),
    "session": sizes((50000, 128, 20, 32), (100, 16, 5, 2), lambda b, w, c, n, m: (chosen.Session(w, c), (ids(w, b * m, n),))),
    "speech_decoder": sizes((512, 80, 32, 100), (32, 8, 3, 20), lambda b, w, bands, n, rows: (chosen.Cells(w, bands, n), (torch.randn(b, rows, w),))),
    "translator": sizes((8000, 512, 20, 24), (50, 16, 3, 5), lambda b, w, c, n, m: (chosen.Translator(w, c, n), (ids(w, b, m),))),
    "hash_grid": sizes((16, 2 ** 17, 65536), (4, 128, 50), lambda b, n, e, m: (chosen.HashGrid(n, e), (torch.rand(b * m, 3),))),
    "rwkv_step": sizes((6, 768, 12), (2, 32, 4), receptance),
    "whisper_step": sizes((6, 512, 8, 51865, 63, 1500), (2, 32, 4, 100, 5, 20), whisper_step),
    "encodec": sizes((32, (2, 4, 5, 8), 128, 8, 1024, 24000), (4, (2, 4), 16, 2, 20, 320), lambda b, *s: (recent.Encodec(*s[:5]), (torch.randn(b, 1, s[5]),))),
    "speaker": sizes((80, 1024, 300), (16, 32, 40), lambda b, n, w, t: (recent.Speaker(n, w), (torch.randn(b, n, t),))),
    "wav2vec": sizes((768, 12, 12, 512, 80000), (64, 4, 1, 32, 4000), lambda b, *s: (recent.Waves(*s[:4]), (torch.randn(b, 1, s[4]),))),
    "dit": sizes((12, 768, 12, 4, 32), (2, 32, 4, 4, 8), lambda b, *s: (recent.Modulated(*s), (*pictures(b, 4, s[4]), torch.rand(b) * 100))),
    "vit_registers": sizes((12, 384, 6, 16, 1024), (2, 32, 4, 4, 48), lambda b, *s: (recent.Registers(*s), pictures(b, 3, 14 * s[3]))),
    "convmixer": sizes((512, 12, 224), (16, 2, 56), lambda b, w, n, s: (recent.ConvMixer(w, n), pictures(b, 3, s))),
    "gmlp": sizes((12, 256, 196), (2, 16, 20), lambda b, n, w, m: (recent.Gated(n, w, m), (torch.randn(b, m, w),))),
    "mobile_vit": sizes((16, 256), (4, 64), lambda b, w, s: (recent.mobile_vit(w), pictures(b, 3, s))),
    "glow": sizes((3, 256, 8, 64), (3, 16, 2, 8), lambda b, c, w, n, s: (recent.Invertible(c, w, n), pictures(b, c, s))),
    "skeletons": sizes(((64, 64, 64, 128, 128, 256), 150), ((8, 16), 20), lambda b, w, t: (recent.Skeletons(w), (torch.randn(b, 3, t, 25),))),
    "slopes": sizes((6, 768, 12, 256), (2, 32, 4, 9), lambda b, *s: (recent.Slopes(*s), (torch.randn(b, s[3], s[1]),))),
    "deberta": sizes((6, 768, 12, 128, 128), (2, 32, 4, 9, 6), lambda b, *s: (recent.Disentangled(*s), (torch.randn(b, s[3], s[1]),))),
    "matches": sizes((4, 256, 4, 20, 512), (1, 32, 4, 3, 12), lambda b, n, w, h, t, m: (recent.Matches(n, w, h, t), (torch.randn(b, m, w), torch.randn(b, m, w)))),
    "letters": sizes((64, 256, 160), (8, 16, 40), lambda b, w, i, s: (recent.Texts(w, i), (torch.randn(b, 1, 32, s),))),
    "long_conv": sizes((4, 256, 512, 1024), (2, 16, 20, 30), lambda b, n, w, t, m: (recent.LongConv(n, w, t), (torch.randn(b, m, w),))),
}
