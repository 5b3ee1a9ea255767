# SPDX-License-Identifier: Apache-2.0
"""More networks of exported_networks.py: decoders with caches, experts, state spaces, vocoders and speech, detectors by queries."""
import torch
from torch import nn

from exported_nets import HEADS, IMAGE, SMALL, WORDS, BATCH, Picked, ids, language, ones, pictures, settled


MOST_FRAMES = 7  # of a token


class WhisperStep(nn.Module):
    """One token of the decoder with its own keys and values and those of the encoder."""

    def __init__(self, module):
        super().__init__()
        self.module = module

    def forward(self, token, encoded, *past):
        from transformers import DynamicCache, EncoderDecoderCache
        own, cross = DynamicCache(), DynamicCache()
        for i in range(len(past) // 4):
            own.update(past[4 * i], past[4 * i + 1], i)
            cross.update(past[4 * i + 2], past[4 * i + 3], i)
        cache = EncoderDecoderCache(own, cross)
        for i in range(len(past) // 4):
            cache.is_updated[i] = True
        given = self.module.model.decoder(input_ids=token, encoder_hidden_states=encoded, past_key_values=cache, use_cache=True)
        layers = given.past_key_values.self_attention_cache.layers
        return (self.module.proj_out(given.last_hidden_state), *(x for layer in layers for x in (layer.keys, layer.values)))


class Speaker(nn.Module):
    """Text to bands of sound as FastSpeech does it: each token is repeated as often as its duration says."""

    def __init__(self):
        super().__init__()
        self.words, self.heads = nn.Embedding(60, 32), nn.Linear(32, 96)
        self.wide, self.narrow, self.norm = nn.Conv1d(32, 64, 9, padding=4), nn.Conv1d(64, 32, 1), nn.LayerNorm(32)
        self.duration, self.pitch = nn.Conv1d(32, 1, 3, padding=1), nn.Conv1d(32, 1, 3, padding=1)
        self.more = nn.Conv1d(1, 32, 1)
        self.rows, self.bands = nn.GRU(32, 48, batch_first=True, bidirectional=True), nn.Linear(96, 20)

    def forward(self, tokens):
        rows = self.words(tokens)
        query, key, value = self.heads(rows).chunk(3, -1)
        rows = rows + nn.functional.scaled_dot_product_attention(query, key, value)
        rows = self.norm(rows + self.narrow(torch.relu(self.wide(rows.transpose(1, 2)))).transpose(1, 2))
        columns = rows.transpose(1, 2)
        rows = rows + self.more(self.pitch(columns)).transpose(1, 2)
        counts = torch.clamp(torch.round(torch.exp(self.duration(columns)[0, 0]) * 2), 1, MOST_FRAMES).long()
        ends = torch.cumsum(counts, 0)
        frames = torch.arange(MOST_FRAMES * tokens.shape[1], device=tokens.device)
        is_said = frames < ends[-1]
        place = torch.clamp((frames[:, None] >= ends[None, :]).sum(1), max=tokens.shape[1] - 1)
        return self.bands(self.rows(rows[:, place] * is_said[None, :, None])[0]), ends[-1:]


def whisper_step():
    import transformers
    config = transformers.WhisperConfig(**HEADS, max_source_positions=50, max_target_positions=32, pad_token_id=0, bos_token_id=1,
                                        eos_token_id=2, decoder_start_token_id=1)
    module = transformers.WhisperForConditionalGeneration(config).eval()
    past = [torch.randn(1, 4, length, 16) for _ in range(2) for length in (7, 7, 50, 50)]
    return WhisperStep(module).eval(), (ids(1, 1), torch.randn(1, 50, 64), *past)


def marian():
    import transformers
    config = transformers.MarianConfig(**HEADS, max_position_embeddings=64, pad_token_id=0, eos_token_id=2, decoder_start_token_id=1)
    return language("MarianMTModel", config, ["logits"], input_ids=ids(2, 17), attention_mask=ones(2, 17), decoder_input_ids=ids(2, 5))


def hifigan():
    import transformers
    config = transformers.SpeechT5HifiGanConfig(model_in_dim=20, upsample_initial_channel=64, upsample_rates=[4, 4],
                                                upsample_kernel_sizes=[8, 8])
    return transformers.SpeechT5HifiGan(config).eval(), (torch.randn(1, 50, 20),)


def sam():
    import transformers
    config = transformers.SamVisionConfig(hidden_size=64, output_channels=32, num_hidden_layers=3, num_attention_heads=4,
                                          image_size=224, patch_size=16, mlp_dim=128, window_size=4, global_attn_indexes=[2], initializer_range=0.05)
    module = transformers.SamVisionModel(config).eval()
    for part in module.modules():
        for name in ("rel_pos_h", "rel_pos_w"):
            if getattr(part, name, None) is not None:
                nn.init.normal_(getattr(part, name), std=0.1)
    return Picked(module, ["pixel_values"], ["last_hidden_state"]).eval(), (torch.randn(1, 3, 224, 224),)


def detr():
    import transformers
    backbone = transformers.ResNetConfig(embedding_size=16, hidden_sizes=[16, 32, 64, 64], depths=[1, 1, 1, 1], layer_type="basic",
                                         out_features=["stage4"])
    config = transformers.DetrConfig(use_timm_backbone=False, use_pretrained_backbone=False, backbone_config=backbone, backbone=None, d_model=64,
                                     encoder_layers=2, decoder_layers=2, encoder_ffn_dim=128, decoder_ffn_dim=128,
                                     encoder_attention_heads=4, decoder_attention_heads=4, num_queries=10, num_labels=7)
    module = settled(transformers.DetrForObjectDetection(config))
    return Picked(module, ["pixel_values", "pixel_mask"], ["logits", "pred_boxes"]).eval(), (torch.randn(1, 3, 128, 128), ones(1, 128, 128))


def mixtral():
    import transformers
    config = transformers.MixtralConfig(**SMALL, num_key_value_heads=2, num_local_experts=4, num_experts_per_tok=2,
                                        experts_implementation="batched_mm")
    return language("MixtralForCausalLM", config, ["logits"], input_ids=ids(2, 17), attention_mask=ones(2, 17))


def mamba():
    import transformers
    config = transformers.MambaConfig(vocab_size=100, hidden_size=32, state_size=8, num_hidden_layers=2)
    return language("MambaForCausalLM", config, ["logits"], input_ids=ids(2, 17))


def more_networks():
    return {
        "whisper_step": (whisper_step, [{0: "n"}, {0: "n"}, *[{0: "n", 2: "p"}, {0: "n", 2: "p"}, {0: "n"}, {0: "n"}] * 2]),
        "marian": (marian, [WORDS, WORDS, {0: "n", 1: "d"}]),
        "hifigan": (hifigan, [{0: "n", 1: "t"}]),
        "speaker": (lambda: (Speaker().eval(), (ids(1, 17),)), [{1: "s"}]),
        "sam_encoder": (sam, [BATCH]),
        "detr": (detr, [{0: "n"}, {0: "n"}]),
        "mixtral": (mixtral, [WORDS, WORDS]),
        "mamba": (mamba, [{0: "n"}]),
    }


# Name to the network that onnxruntime quantizes, and whether activations have fixed scales (else scales of each execution).
QUANTIZED = {"resnet18_qdq": ("resnet18", True), "resnet18_int8": ("resnet18", False), "bert_int8": ("bert", False)}


def quantize(source, target, inputs, fixed):
    """Writes the model of `source` with 8-bit weights."""
    from onnxruntime import quantization as q

    class Reader(q.CalibrationDataReader):
        def __init__(self):
            self.rest = [{f"in{i}": value for i, value in enumerate(inputs)}]

        def get_next(self):
            return self.rest.pop() if self.rest else None

    if fixed:
        q.quantize_static(str(source), str(target), Reader(), quant_format=q.QuantFormat.QDQ, per_channel=True)
    else:
        q.quantize_dynamic(str(source), str(target))
