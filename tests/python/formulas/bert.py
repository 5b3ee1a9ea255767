# SPDX-License-Identifier: Apache-2.0
"""Layers of BERT, and DeBERTa's attention scores."""
import numpy as np

from formulas.table import Case, f32, formula, softmax

ROWS, BATCH, WIDTH, HEADS = 5, 2, 8, 2
LENGTHS = np.array([0, 3, 3, 7], np.int32)  # three sequences in a row, the second one empty
LONGEST = np.zeros(4, np.int32)  # only its length counts


def floats(draw, *shape):
    return draw.real(*shape).astype(np.float32)


def layer_norm(x, gamma, beta, axis=-1):
    """Ba et al. 2016; BERT's epsilon of 1e-5."""
    return (x - x.mean(axis, keepdims=True)) / np.sqrt(x.var(axis, keepdims=True) + 1e-5) * gamma + beta


def in_columns(rows):
    """[1, E, S, 1] of [S, E]."""
    return np.ascontiguousarray(rows.T)[None, :, :, None]


@formula("CustomSkipLayerNormPluginDynamic", "1 2 3 4 5 6 7 8", "layer_norm(x + skip + bias) * gamma + beta; 4 and 8 give the "
         "sum too", "Devlin et al. 2018, arXiv:1810.04805; Ba et al. 2016, arXiv:1607.06450")
def skip_layer_norm(draw, version):
    gamma, beta, bias = floats(draw, WIDTH), floats(draw, WIDTH), floats(draw, WIDTH)
    x, skip = draw.real(ROWS * BATCH, WIDTH), draw.real(ROWS * BATCH, WIDTH)
    if version in "3478":
        y = in_columns(layer_norm(x + skip, gamma, beta))
        total = [in_columns(x + skip)] if version in "48" else []
        yield Case({"gamma": gamma, "beta": beta}, [in_columns(x), in_columns(skip)], [y, *total])
        return
    shape = (ROWS, BATCH, WIDTH, 1, 1) if version in "15" else (ROWS * BATCH, WIDTH, 1, 1)
    fields = {"type_id": int(draw.halves), "ld": WIDTH, "gamma": gamma, "beta": beta}
    if version in "26":
        del fields["ld"]
    for more, added in (({}, 0), ({"bias": bias}, bias)):
        y = layer_norm(x + skip + added, gamma, beta)
        yield Case({**fields, **more}, [x.reshape(shape), skip.reshape(shape)], [y.reshape(shape)])


@formula("CustomEmbLayerNormPluginDynamic", "1 2 3 4 5 6", "layer_norm(words[token] + types[segment] + positions[place]) * gamma "
         "+ beta; 1 and 6 give the length of each sequence by its mask, 3 and 5 the sum",
         "Devlin et al. 2018, arXiv:1810.04805, 3; Ba et al. 2016, arXiv:1607.06450")
def embedding(draw, version):
    gamma, beta = floats(draw, WIDTH), floats(draw, WIDTH)
    words, types, positions = floats(draw, 11, WIDTH), floats(draw, 2, WIDTH), floats(draw, 16, WIDTH)
    begin = "bert_embeddings_"
    fields = {begin + "layernorm_beta": beta, begin + "layernorm_gamma": gamma, begin + "word_embeddings": words,
              begin + "token_type_embeddings": types, begin + "position_embeddings": positions, "output_fp16": int(draw.halves)}
    if version in "16":
        token, segment = draw.whole(ROWS, BATCH, low=0, high=10), draw.whole(ROWS, BATCH, low=0, high=1)
        mask = np.array([[1, 1], [1, 1], [1, 1], [0, 1], [0, 1]], np.int32)
        total = words[token].astype(float) + types[segment] + positions[:ROWS, None]
        y = layer_norm(total, gamma, beta).reshape(ROWS, BATCH, WIDTH, 1, 1)
        yield Case(fields, [token, segment, mask], [y, np.array([[3], [5]], np.int32)])
        return
    token, segment = draw.whole(7, low=0, high=10), draw.whole(7, low=0, high=1)
    place = np.array([0, 1, 2, 0, 1, 2, 3])
    total = words[token].astype(float) + types[segment] + positions[place]
    y = layer_norm(total, gamma, beta).reshape(7, WIDTH, 1, 1)
    yield Case(fields, [token, segment, LENGTHS, LONGEST], [y, total.reshape(7, WIDTH, 1, 1) if version in "35" else None])


@formula("CustomGeluPluginDynamic", "1", "v / 2 * (1 + tanh(sqrt(2 / pi) (v + 0.044715 v^3))), v = x + bias",
         "Hendrycks, Gimpel 2016, arXiv:1606.08415, 2")
def gelu(draw, _):
    x, bias = draw.real(ROWS, BATCH, WIDTH, low=-3, high=3), floats(draw, WIDTH)
    for more, v in (({}, x), ({"bias": bias}, x + bias)):
        y = v / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (v + 0.044715 * v**3)))
        yield Case({"type_id": int(draw.halves), **more}, [x], [y])


@formula("CustomFCPluginDynamic", "1", "y = x W", "ONNX MatMul")
def fully_connected(draw, _):
    x, weights = draw.real(ROWS, BATCH, WIDTH, 1, 1), floats(draw, WIDTH, 3)
    y = (x[..., 0, 0] @ weights).reshape(ROWS, BATCH, 3, 1, 1)
    yield Case({"out_dims": 3, "type_id": int(draw.halves), "W": weights}, [x], [y])


def attention(qkv, hidden):
    """[S, B, 3 * E] with the columns head, part, number: softmax(Q K' / sqrt(d)) V of each head; hidden [B, S, S]."""
    rows, batch = qkv.shape[:2]
    query, key, value = qkv.reshape(rows, batch, HEADS, 3, -1).transpose(3, 1, 2, 0, 4)
    scores = query @ key.swapaxes(2, 3) / np.sqrt(query.shape[-1])
    scores = np.where(hidden[:, None], -np.inf, scores)
    return (softmax(scores, 3) @ value).transpose(2, 0, 1, 3).reshape(rows, batch, -1)


def other_sequences():
    own = np.searchsorted(LENGTHS, np.arange(LENGTHS[-1]), "right")
    return own[None, :, None] != own[None, None, :]


@formula("CustomQKVToContextPluginDynamic", "1 2 3 4 5 6", "softmax(Q K' / sqrt(d)) V of each head and sequence, without the keys "
         "that a mask or another sequence hides", "Vaswani et al. 2017, arXiv:1706.03762, (1)")
def context(draw, version):
    qkv = draw.real(7, 1, 3 * WIDTH, low=-2, high=2)
    varying = attention(qkv, other_sequences())
    if version in "36":
        yield from context_in_columns(draw, qkv, varying)
        return
    fields = {"type_id": int(draw.halves), "hidden_size": WIDTH, "num_heads": HEADS}
    padded, ends = draw.real(ROWS, BATCH, 3 * WIDTH, low=-2, high=2), np.array([[3], [5]], np.int32)
    shape = (ROWS, BATCH, WIDTH, 1, 1)
    hidden = np.broadcast_to(np.arange(ROWS) >= ends[:, None], (BATCH, ROWS, ROWS))
    wide = padded[..., None, None]
    yield Case({**fields, "has_mask": 0}, [wide], [attention(padded, hidden & False).reshape(shape)])
    yield Case({**fields, "has_mask": 1}, [wide, ends], [attention(padded, hidden).reshape(shape)])
    if version in "25":
        yield Case({**fields, "has_mask": 1, "var_seqlen": 1}, [qkv.reshape(7, 3 * WIDTH, 1, 1), np.zeros(1, np.int32), LENGTHS,
                                                               LONGEST], [varying.reshape(7, WIDTH, 1, 1)])


def context_in_columns(draw, qkv, varying):
    fields = {"hidden_size": WIDTH, "num_heads": HEADS}
    yield Case(fields, [in_columns(qkv[:, 0]), LENGTHS, LONGEST], [in_columns(varying[:, 0])])
    coming, going = 1 / 32, 1 / 64
    steps = draw.whole(7, 3 * WIDTH, low=-100, high=100, dtype=np.int8)
    exact = attention(steps[:, None] * coming, other_sequences())[:, 0] / going
    # Half a step is the most that rounding to whole steps may add.
    yield Case({**fields, "use_explicit_int8": 1, "input_qkv_scale": coming, "output_ctx_scale": going},
               [in_columns(steps), LENGTHS, LONGEST], [in_columns(np.clip(exact, -128, 127))], 0.5001, absolute=True)


def bucket(apart, span):
    """The place of a relative position: itself up to half the span, by logarithms beyond."""
    middle = span // 2
    far = np.maximum(np.abs(apart), 1)
    logarithmic = np.ceil(np.log(far / middle) / np.log((2 * span - 1) / middle) * (middle - 1) * (1 - 1e-7)) + middle
    return np.where(np.abs(apart) <= middle, apart, np.sign(apart) * logarithmic).astype(int)


@formula("DisentangledAttention_TRT", "1 2", "(c2c[i, j] + c2p[i, d(i - j)] + p2c[j, d(i - j)]) * factor, d the bucket of a "
         "relative position, plus span", "He et al. 2020, arXiv:2006.03654, (2) - (4); buckets by logarithms: microsoft/DeBERTa")
def disentangled(draw, _):
    count, span = 40, 8
    content, coming, going = draw.real(2, count, count), draw.real(2, count, 2 * span), draw.real(2, count, 2 * span)
    i, j = np.indices((count, count))
    place = np.clip(bucket(i - j, span) + span, 0, 2 * span - 1)
    y = (content + coming[:, i, place] + going[:, j, place]) * f32(0.125)
    yield Case({"span": span, "factor": 0.125}, [content, coming, going], [y])
