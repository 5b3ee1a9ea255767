# SPDX-License-Identifier: Apache-2.0
"""The networks of trunks.py, scenes.py, texts.py and records.py: name to a function of (batch, small), as in table.py."""
import torch

from . import records, scenes, texts, trunks
from .table_more import ids, pictures, sizes


def picture(large, small, make):
    """Classifiers of one picture: the last number of each list is its side."""
    return sizes(large, small, lambda b, *s: (make(*s), pictures(b, 3, s[-1])))


def masked(network):
    def make(batch, *s):
        mask = torch.ones(batch, s[4], dtype=torch.int64)
        mask[:, s[4] - s[4] // 4:] = 0
        return network(*s[:4]), (ids(s[3], batch, s[4]), mask)
    return make


def grown(large, small, past=0, **forms):
    """Numbers are layers, width, heads, key heads, size, inner, words, length."""
    def make(batch, *s):
        module = texts.Grown(*s, **{**forms, **({"window": s[-1] // 4} if "window" in forms else {})})
        before = [torch.randn(batch, s[3], s[-1] - 1, s[4]) for _ in range(2 * s[0])] if past else []
        return module, (ids(s[6], batch, 1 if past else s[-1]), *before)
    return sizes(large, small, make)


def answered(batch, layers, width, heads, inner, words, past, rows):
    size = width // heads
    return (texts.Answered(layers, width, heads, inner, words, past),
            (ids(words, batch, 1), *(torch.randn(batch, layers, heads, length, size) for length in (past, past, rows, rows))))


def modern_text(batch, layers, width, heads, inner, words, length):
    mask = torch.ones(batch, length, dtype=torch.int64)
    mask[:, length - 3:] = 0
    return texts.Alternate(layers, width, heads, inner, words, length, max(2, length // 8)), (ids(words, batch, length), mask)


def regions(batch, width, inner, kinds, side, many):
    corners = torch.rand(many * batch, 2) * side * 2
    return scenes.Regions(width, inner, kinds), (*pictures(1, width, side), torch.cat([corners, corners + 8 + torch.rand(many * batch, 2) * side * 2], 1))


def streams(batch, doubles, singles, width, heads, channels, words, length, side):
    return (scenes.Streams(doubles, singles, width, heads, channels, words, length, side),
            (torch.randn(batch, side * side, 4 * channels), torch.randn(batch, length, words), torch.rand(batch) * 100))


def table_rows(make):
    """Networks of numbers and words: many rows for each of the batch."""
    return lambda batch, many, *s: make(batch * many, *s)


REST = {
    "convnext_v2": picture(((64, 128, 256, 512), (2, 2, 8, 2), 224), ((8, 16, 24, 32), (1, 1, 1, 1), 64), lambda w, d, s: trunks.next_two(w, d)),
    "repvgg": picture(((64, 96, 192, 384, 1024), (1, 4, 6, 16, 1), 224), ((8, 8, 16, 24), (1, 2, 1, 1), 64), lambda w, d, s: trunks.branches(w, d)),
    "ghostnet": picture(((16, 24, 40, 80, 160), (1, 2, 2, 6, 5), 224), ((8, 16, 24), (1, 2, 1), 64), lambda w, d, s: trunks.ghosts(w, d)),
    "hrnet": sizes((32, 2, 256, 192), (8, 1, 64, 64), lambda b, w, d, *s: (trunks.Parallel(w, d), (torch.randn(b, 3, *s),))),
    "coatnet": picture(((64, 96, 192, 384, 768), (2, 3, 5, 2), 224), ((8, 16, 24, 32, 64), (1, 1, 1, 1), 64), trunks.coat),
    "poolformer": picture(((64, 128, 320, 512), (2, 2, 6, 2), 224), ((8, 16, 24, 32), (1, 1, 1, 1), 64), lambda w, d, s: trunks.pools(w, d)),
    "edgenext": picture(((48, 96, 168, 304), (3, 3, 9, 3), 256), ((12, 24, 36, 48), (1, 2, 2, 2), 64), lambda w, d, s: trunks.edges(w, d)),
    "levit": picture(((256, 384, 512), 4, 224), ((32, 64, 96), 1, 64), trunks.Levit),
    "nfnet": picture(((256, 512, 1536, 1536), (1, 2, 6, 3), 192), ((16, 32, 48, 64), (1, 1, 1, 1), 64), lambda w, d, s: trunks.free(w, d)),
    "fastvit": picture(((64, 128, 256, 512), (2, 2, 6, 2), 256), ((16, 16, 32, 64), (1, 1, 1, 1), 64), trunks.still),
    "siglip": sizes((12, 768, 12, 16, 16), (2, 32, 4, 8, 4), lambda b, *s: (trunks.Probe(*s), pictures(b, 3, s[3] * s[4]))),
    "yolo_attention": picture((16, 80, 300, 640), (8, 5, 10, 64), lambda w, k, n, s: scenes.Modern(w, k, n)),
    "box_head": sizes((256, 1024, 91, 200, 1000), (8, 16, 5, 12, 7), regions),
    "rt_detr": sizes((256, 8, 6, 300, (512, 1024, 2048), (80, 40, 20)), (32, 4, 1, 10, (16, 24, 32), (8, 4, 2)),
                     lambda b, w, h, n, q, c, s: (scenes.Queries(w, h, n, q, c), tuple(torch.randn(b, a, d, d) for a, d in zip(c, s)))),
    "center_net": sizes((512, (256, 128, 64), 80, 100, 16), (16, (8, 8), 3, 5, 6), lambda b, c, w, k, n, s: (scenes.Centers(c, w, k, n), pictures(b, c, s))),
    "unet_nested": picture(((32, 64, 128, 256, 512), 256), ((8, 8, 16), 32), lambda w, s: scenes.Nested(w)),
    "siamese": sizes(((96, 128, 256, 256), 127, 255), ((8, 8, 16, 16), 71, 95), lambda b, w, *s: (scenes.Tracked(w), pictures(b, 3, *s))),
    "flux": sizes((2, 4, 1536, 12, 16, 1024, 256, 32), (1, 2, 32, 2, 4, 24, 5, 4), streams),
    "vocos": sizes((100, 512, 8, 1024, 256, 200), (8, 16, 2, 16, 4, 9), lambda b, *s: (scenes.Waveform(*s[:5]), (torch.randn(b, s[0], s[5]),))),
    "fastspeech": sizes((4, 256, 2, 200, 800, 128), (1, 16, 2, 20, 30, 9), lambda b, *s: (scenes.Spoken(*s[:5]), (ids(s[3], b, s[5]),))),
    "roberta": sizes((12, 768, 12, 50265, 256), (2, 32, 4, 100, 12), masked(texts.Masked)),
    "sentences": sizes((6, 384, 12, 30522, 128), (2, 32, 4, 100, 12), masked(texts.Sentences)),
    "gemma_prefill": grown((4, 2304, 8, 4, 256, 9216, 32000, 256), (2, 32, 4, 2, 8, 48, 50, 12), cap=50.0, sandwich=True, gate="gelu"),
    "gemma_step": grown((4, 2304, 8, 4, 256, 9216, 32000, 512), (2, 32, 4, 2, 8, 48, 50, 12), 1, cap=50.0, sandwich=True, gate="gelu"),
    "qwen_prefill": grown((4, 2048, 16, 8, 128, 6144, 32000, 256), (2, 32, 4, 2, 8, 48, 50, 12), own_norms=True),
    "qwen_step": grown((4, 2048, 16, 8, 128, 6144, 32000, 512), (2, 32, 4, 2, 8, 48, 50, 12), 1, own_norms=True),
    "mistral_prefill": grown((4, 2048, 16, 4, 128, 7168, 32000, 512), (2, 32, 4, 2, 8, 48, 50, 12), window=True),
    "phi_prefill": grown((4, 2048, 32, 32, 64, 8192, 32000, 256), (2, 32, 4, 4, 8, 48, 50, 12), beside=True, bias=True, share=0.5),
    "latent_prefill": sizes((4, 2048, 16, 128, 64, 512, 5632, 32000, 256), (2, 32, 4, 8, 4, 16, 48, 50, 12), lambda b, *s: (texts.Latent(*s[:8]), (ids(s[7], b, s[8]),))),
    "modern_bert": sizes((12, 768, 12, 1152, 50368, 512), (3, 32, 4, 48, 50, 24), modern_text),
    "t5_step": sizes((6, 768, 12, 2048, 32128, 63, 256), (2, 32, 4, 48, 50, 5, 9), answered),
    "llava": sizes((4, 2048, 16, 1024, 32000, 576, 64), (2, 32, 4, 24, 50, 9, 5), lambda b, n, w, h, c, k, m, t: (texts.Aligned(n, w, h, c, k), (ids(k, b, t), torch.randn(b, m, c)))),
    "q_former": sizes((12, 768, 12, 32, 1408, 30522, 257, 32), (2, 32, 4, 4, 24, 50, 9, 5), lambda b, n, w, h, q, c, k, m, t: (texts.Asked(n, w, h, q, c, k), (ids(k, b, t), torch.randn(b, m, c)))),
    "evoformer": sizes((2, 128, 4, 128, 128), (1, 16, 2, 16, 9), lambda b, *s: (texts.Folded(*s[:4]), (torch.randn(b, s[4], s[4], s[1]),))),
    "cross_net": sizes((4096, 26, 10000, 16, 3, 128, 512), (7, 3, 20, 4, 2, 8, 16), table_rows(lambda n, c, k, *s: (records.Crosses(c, k, *s), (torch.rand(n, 13), ids(k, n, c))))),
    "factors": sizes((2048, 26, 10000, 16, 400, (64, 64)), (7, 3, 20, 4, 16, (5, 6)), table_rows(lambda n, c, k, *s: (records.Factors(c, k, *s), (ids(k, n, c),)))),
    "interest": sizes((1024, 50000, 64, 200, 50), (7, 30, 8, 16, 6), table_rows(lambda n, k, w, i, t: (records.Interest(k, w, i), (ids(k, n), ids(k, n, t), ids(t, n))))),
    "two_towers": sizes((1024, 8, 10000, 32, 512), (7, 3, 20, 4, 16), table_rows(lambda n, c, k, *s: (records.Towers(c, k, *s), (ids(k, n, c), ids(k, n, c))))),
    "tasks": sizes((2048, 256, 256, 8, 4), (7, 16, 16, 3, 2), table_rows(lambda n, a, *s: (records.Tasks(a, *s), (torch.randn(n, a),)))),
    "ft_transformer": sizes((256, 3, 16, 16, 1000, 192, 8), (5, 2, 3, 4, 20, 16, 2), table_rows(lambda n, d, f, c, k, *s: (records.Columns(d, f, c, k, *s), (torch.randn(n, f), ids(k, n, c))))),
    "sasrec": sizes((64, 2, 20000, 64, 2, 200), (3, 2, 50, 16, 2, 7), table_rows(lambda n, d, k, w, h, t: (records.Next(d, k, w, h, t), (ids(k, n, t),)))),
    "patch_tst": sizes((3, 128, 16, 512, 96, 21, 8), (2, 16, 2, 40, 8, 3, 2), lambda b, *s: (records.PatchSeries(*s[:5]), (torch.randn(b * s[6], s[3], s[5]),))),
    "n_beats": sizes((30, 120, 24, 512, 256), (3, 20, 4, 16, 3), lambda b, *s: (records.Basis(*s[:4]), (torch.randn(b * s[4], s[1]),))),
    "i_transformer": sizes((4, 512, 8, 96, 96, 321, 4), (2, 16, 2, 12, 5, 7, 2), lambda b, *s: (records.Inverted(*s[:5]), (torch.randn(b * s[6], s[3], s[5]),))),
    "informer": sizes((3, 7, 512, 8, 512, 35, 35, 8), (2, 3, 16, 2, 16, 4, 4, 2), lambda b, *s: (records.Sparse(*s[:7]), (torch.randn(b * s[7], s[4], s[1]),))),
    "tft": sizes((12, 160, 4, 24, 192, 16), (3, 16, 2, 4, 9, 2), lambda b, *s: (records.Weighed(*s[:4]), (torch.randn(b * s[5], s[4], s[0]),))),
    "point_groups": sizes(((128, 256, 512), 32, 40, 2048), ((16, 24), 4, 5, 64), lambda b, w, n, k, m: (records.Groups(w, n, k), (torch.randn(b, m, 3),))),
    "impala": sizes(((16, 32, 32), 84, 256, 18, 32), ((4, 8), 20, 16, 5, 2), lambda b, w, s, c, a, n: (records.Agent(w, s, c, a), (torch.rand(b * n, 4, s, s) * 255, torch.randn(1, b * n, c), torch.randn(1, b * n, c)))),
    "control": sizes((60, 256, 12, 1024), (5, 16, 3, 2), lambda b, i, w, a, n: (records.Control(i, w, a), (torch.randn(b * n, i),))),
    "planned": sizes((16, 512, (256, 512, 1024), 16), (3, 16, (16, 24), 8), lambda b, a, c, w, t: (records.Planned(a, c, w), (torch.randn(b, t, a), torch.full((b,), 37.0), torch.randn(b, c)))),
}
