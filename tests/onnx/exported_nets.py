# SPDX-License-Identifier: Apache-2.0
"""The networks of exported_networks.py: how PyTorch makes each, and which of its extents are open."""
import numpy as np
import torch
from torch import nn

IMAGE, BATCH, WORDS, SOUND = {0: "n", 2: "h", 3: "w"}, {0: "n"}, {0: "n", 1: "s"}, {0: "n", 1: "l"}
PAST = {0: "n", 2: "p"}

CLASSIFIERS = """resnet18 mobilenet_v2 mobilenet_v3_small shufflenet_v2_x0_5 mnasnet0_5 squeezenet1_1 efficientnet_b0
    regnet_x_400mf googlenet densenet121 inception_v3 convnext_tiny""".split()
FIXED_CLASSIFIERS = "swin_t swin_v2_t maxvit_t vit_b_32".split()
TIMM_CLASSIFIERS = "ghostnet_100 poolformer_s12 hrnet_w18_small repvgg_a0 tf_efficientnetv2_b0 res2net50_26w_4s skresnet18 cspresnet50".split()
TIMM_FIXED = """mobilevit_xxs mixer_s16_224 coat_lite_tiny cait_xxs24_224 levit_128s efficientformer_l1 edgenext_xx_small
    xcit_nano_12_p16_224 pvt_v2_b0 crossvit_tiny_240 beit_base_patch16_224 deit_tiny_patch16_224 fastvit_t8 tiny_vit_5m_224
    nfnet_l0 dpn68 selecsls42b vovnet39a volo_d1_224 coatnet_nano_rw_224 gcvit_xxtiny visformer_tiny""".split()
SINGLE = ["volo_d1_224"]  # the exported reshapes hold the batch of the export
SMALL = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 128, "vocab_size": 100}
HEADS = {"encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4, "decoder_attention_heads": 4,
         "encoder_ffn_dim": 128, "decoder_ffn_dim": 128, "d_model": 64, "vocab_size": 100}
SPEECH = {"conv_dim": [32] * 7, "num_conv_pos_embeddings": 16, "num_conv_pos_embedding_groups": 4}


class Picked(nn.Module):
    """A module whose inputs have names and whose results are some of what it returns."""

    def __init__(self, module, inputs, results):
        super().__init__()
        self.module, self.inputs, self.results = module, inputs, results

    def forward(self, *values):
        given = self.module(**dict(zip(self.inputs, values))) if self.inputs else self.module(*values)
        if isinstance(given, dict) and not self.inputs:
            return tuple(given[name] for name in self.results)
        return tuple(getattr(given, name) for name in self.results)


class Detector(nn.Module):
    """A detector of torchvision on one picture."""

    def __init__(self, module):
        super().__init__()
        self.module = module

    def forward(self, picture):
        found = self.module([picture])
        found = found[0] if isinstance(found, list) else found[1][0]
        return tuple(found[name] for name in ("boxes", "scores", "labels", "masks") if name in found)


class Step(nn.Module):
    """One token of a decoder with the keys and values of those before."""

    def __init__(self, module):
        super().__init__()
        self.module = module

    def forward(self, ids, *past):
        from transformers import DynamicCache
        cache = DynamicCache()
        for i in range(len(past) // 2):
            cache.update(past[2 * i], past[2 * i + 1], i)
        given = self.module(input_ids=ids, past_key_values=cache, use_cache=True)
        layers = given.past_key_values.layers
        return (given.logits, *(x for layer in layers for x in (layer.keys, layer.values)))


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(100, 32)
        self.rows = nn.LSTM(32, 48, 2, bidirectional=True, batch_first=True)
        self.tags = nn.Linear(96, 9)

    def forward(self, ids):
        return self.tags(self.rows(self.words(ids))[0])


class Stretched(nn.Module):
    """As networks of speech do: predicted durations say how long each sound is, and with that the length of the result."""

    def __init__(self):
        super().__init__()
        self.durations, self.last = nn.Conv1d(16, 1, 3, padding=1), nn.Conv1d(16, 4, 3, padding=1)

    def forward(self, x):
        durations = torch.ceil(torch.exp(self.durations(x)) * 2).squeeze(1)
        lengths = torch.clamp_min(durations.sum(1), 1).long()
        frames = torch.arange(int(lengths.max()) if not torch.jit.is_tracing() else lengths.max(), dtype=torch.float32)
        ends = torch.cumsum(durations, 1).unsqueeze(2)
        begins = ends - durations.unsqueeze(2)
        path = ((frames >= begins) & (frames < ends)).float()
        mask = (frames < lengths.unsqueeze(1)).float().unsqueeze(1)
        return torch.tanh(self.last(x @ path)) * mask, lengths


class Vocoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.begin, self.rows = nn.Conv1d(20, 32, 3, padding=1), nn.GRU(32, 64, batch_first=True)
        self.up, self.end = nn.ConvTranspose1d(64, 16, 8, 4, 2), nn.Conv1d(16, 1, 7, padding=3)

    def forward(self, bands):
        rows = self.rows(self.begin(bands).transpose(1, 2))[0].transpose(1, 2)
        return torch.tanh(self.end(nn.functional.leaky_relu(self.up(rows), 0.1)))


class Denoiser(nn.Module):
    def __init__(self):
        super().__init__()
        self.down, self.middle, self.join = self.block(3, 16), self.block(16, 32), self.block(32, 16)
        self.up, self.end = nn.ConvTranspose2d(32, 16, 2, 2), nn.Conv2d(16, 2, 1)

    @staticmethod
    def block(inputs, outputs):
        return nn.Sequential(nn.Conv2d(inputs, outputs, 3, padding=1), nn.GroupNorm(4, outputs), nn.SiLU(),
                             nn.Conv2d(outputs, outputs, 3, padding=1), nn.InstanceNorm2d(outputs, affine=True), nn.Mish())

    def forward(self, x):
        whole = self.down(x)
        half = self.up(self.middle(nn.functional.avg_pool2d(whole, 2)))
        return torch.softmax(self.end(self.join(torch.cat([whole, half], 1))), 1)


class Transformer2d(nn.Module):
    """Moves a picture by an affine map that it computes from it."""

    def __init__(self):
        super().__init__()
        self.map = nn.Linear(3 * 32 * 32, 6)

    def forward(self, x):
        grid = nn.functional.affine_grid(self.map(x.flatten(1)).view(-1, 2, 3), x.shape, align_corners=False)
        return nn.functional.grid_sample(x, grid, align_corners=False)


class Operators(nn.Module):
    def forward(self, x):
        best, places = torch.topk(x, 5, -1)
        return (best, places, torch.cumsum(x, 1), torch.einsum("bij,bkj->bik", x, x), torch.sort(x, -1)[0],
                nn.functional.interpolate(x[None], scale_factor=1.7, mode="bicubic"), torch.nonzero(x > 1), x.std(-1),
                torch.linalg.norm(x, dim=1), x.roll(3, 1), x.flip(2), torch.atan2(x, x + 1), nn.functional.one_hot(places, 64))


def ids(*shape):
    return torch.randint(5, 49, shape)


def ones(*shape):
    return torch.ones(*shape, dtype=torch.long)


def settled(module):
    """For inference, with statistics of batch normalization that are not those of the beginning, and no weights that are all zero."""
    for part in module.modules():
        if isinstance(part, nn.Linear) and not bool(part.weight.any()):
            nn.init.normal_(part.weight, std=0.05)
        if isinstance(part, nn.modules.batchnorm._BatchNorm):
            part.running_mean.uniform_(-0.1, 0.1)
            part.running_var.uniform_(0.8, 1.2)
    return module.eval()


def vision(name, size=224, key=None, batch=1, **more):
    import torchvision
    module = settled(torchvision.models.get_model(name, weights=None, **more))
    return (Picked(module, [], [key]).eval() if key else module), (torch.randn(batch, 3, size, size),)


def detector(name, size, **more):
    import torchvision
    module = torchvision.models.get_model(name, weights=None, weights_backbone=None, **more)
    return Detector(settled(module)).eval(), (torch.rand(3, size, size),)


def mask_rcnn(size):
    """Of the least size that its parts allow; its masks are pasted in a loop, by extents that the boxes give."""
    from torchvision.models.detection import MaskRCNN
    from torchvision.models.detection.backbone_utils import mobilenet_backbone
    from torchvision.models.detection.rpn import AnchorGenerator
    backbone = mobilenet_backbone(backbone_name="mobilenet_v3_large", weights=None, fpn=True, trainable_layers=6)
    anchors = AnchorGenerator(((32, 64, 128, 256, 512),) * 3, ((0.5, 1.0, 2.0),) * 3)
    module = MaskRCNN(backbone, 5, rpn_anchor_generator=anchors, min_size=size, max_size=size, box_score_thresh=0.0,
                      box_detections_per_img=20, rpn_pre_nms_top_n_test=100, rpn_post_nms_top_n_test=50)
    return Detector(settled(module)).eval(), (torch.rand(3, size, size),)


def timm_model(name):
    import timm
    module = timm.create_model(name, pretrained=False)
    return settled(module), (torch.randn(1, *module.default_cfg["input_size"]),)


def language(kind, config, results, **inputs):
    import transformers
    module = getattr(transformers, kind)(config).eval()
    module.config.use_cache = False
    return Picked(module, list(inputs), results).eval(), tuple(inputs.values())


def text(kind, results, family, masked=True, **more):
    import transformers
    inputs = {"input_ids": ids(2, 17)}
    if masked:
        inputs["attention_mask"] = ones(2, 17)
    return language(kind, getattr(transformers, family)(**{**SMALL, **more}), results, **inputs)


def pair(kind, results, family, **more):
    import transformers
    return language(kind, getattr(transformers, family)(**more), results, input_ids=ids(2, 17), decoder_input_ids=ids(2, 5))


def speech(kind, family, results, **more):
    import transformers
    return language(kind, getattr(transformers, family)(**SMALL, **SPEECH, **more), results, input_values=torch.randn(1, 8000))


def whisper():
    import transformers
    config = transformers.WhisperConfig(**HEADS, max_source_positions=50, max_target_positions=32, pad_token_id=0, bos_token_id=1,
                                        eos_token_id=2, decoder_start_token_id=1)
    return language("WhisperForConditionalGeneration", config, ["logits"], input_features=torch.randn(1, 80, 100),
                    decoder_input_ids=ids(1, 5))


def clip():
    import transformers
    picture = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 128, "image_size": 64,
               "patch_size": 16}
    config = transformers.CLIPConfig(text_config={**SMALL, "max_position_embeddings": 64}, vision_config=picture, projection_dim=32)
    return language("CLIPModel", config, ["logits_per_image", "text_embeds"], input_ids=ids(2, 17),
                    pixel_values=torch.randn(2, 3, 64, 64), attention_mask=ones(2, 17))


def pictures(kind, family, results, size, **more):
    import transformers
    return language(kind, getattr(transformers, family)(**more), results, pixel_values=torch.randn(1, 3, size, size))


def step():
    import transformers
    module = transformers.LlamaForCausalLM(transformers.LlamaConfig(**SMALL, num_key_value_heads=2)).eval()
    return Step(module).eval(), (ids(1, 1), *(torch.randn(1, 2, 7, 16) for _ in range(4)))


def networks():
    """Name to (what makes the module and its inputs, the open extents of each input)."""
    decoder = {"masked": False, "num_key_value_heads": 2}
    blocks = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4}
    relative = {"relative_attention": True, "pos_att_type": ["p2c", "c2p"], "max_relative_positions": 32}
    small_t5 = {"d_model": 64, "d_kv": 16, "d_ff": 128, "num_layers": 2, "num_heads": 4, "vocab_size": 100, "decoder_start_token_id": 0}
    aux = {"googlenet": {"aux_logits": False, "init_weights": False}, "inception_v3": {"aux_logits": False, "init_weights": False}}
    table = {name: (lambda name=name: vision(name, 299 if name == "inception_v3" else 224, **aux.get(name, {})),
                    [BATCH if name == "inception_v3" else IMAGE]) for name in CLASSIFIERS}
    # Two images: the newer exporter takes an extent of 1 for one that stays.
    table |= {name: (lambda name=name: vision(name, batch=2), [BATCH]) for name in FIXED_CLASSIFIERS}
    table |= {f"timm_{name}": (lambda name=name: timm_model(name), [IMAGE]) for name in TIMM_CLASSIFIERS}
    table |= {f"timm_{name}": (lambda name=name: timm_model(name), [{} if name in SINGLE else BATCH]) for name in TIMM_FIXED}
    segmenter = {"weights_backbone": None, "key": "out"}
    table |= {
        "lraspp": (lambda: vision("lraspp_mobilenet_v3_large", **segmenter), [IMAGE]),
        "deeplab": (lambda: vision("deeplabv3_mobilenet_v3_large", 160, **segmenter), [IMAGE]),
        "fcn": (lambda: vision("fcn_resnet50", 96, **segmenter), [IMAGE]),
        "retinanet": (lambda: detector("retinanet_resnet50_fpn", 160, min_size=160, max_size=160), [{}]),
        "fasterrcnn": (lambda: detector("fasterrcnn_mobilenet_v3_large_320_fpn", 160, min_size=160, max_size=160,
                                        box_score_thresh=0.005), [{}]),
        "maskrcnn": (lambda: mask_rcnn(128), [{}]),
        "video_r3d": (lambda: (settled(vision("r3d_18")[0]), (torch.randn(1, 3, 8, 64, 64),)), [{0: "n", 3: "h", 4: "w"}]),
        "bert": (lambda: text("BertModel", ["last_hidden_state", "pooler_output"], "BertConfig"), [WORDS] * 2),
        "roberta": (lambda: text("RobertaForSequenceClassification", ["logits"], "RobertaConfig"), [WORDS] * 2),
        "deberta": (lambda: text("DebertaV2ForSequenceClassification", ["logits"], "DebertaV2Config", **relative), [WORDS] * 2),
        "albert": (lambda: text("AlbertModel", ["last_hidden_state"], "AlbertConfig", embedding_size=32), [WORDS] * 2),
        "llama": (lambda: text("LlamaForCausalLM", ["logits"], "LlamaConfig", **decoder), [WORDS]),
        "qwen2": (lambda: text("Qwen2ForCausalLM", ["logits"], "Qwen2Config", **decoder), [WORDS]),
        "mistral": (lambda: text("MistralForCausalLM", ["logits"], "MistralConfig", **decoder), [WORDS]),
        "llama_step": (step, [BATCH, PAST, PAST, PAST, PAST]),
        "t5": (lambda: pair("T5ForConditionalGeneration", ["logits"], "T5Config", **small_t5), [WORDS, {0: "n", 1: "d"}]),
        "bart": (lambda: pair("BartModel", ["last_hidden_state"], "BartConfig", **HEADS, max_position_embeddings=64),
                 [WORDS, {0: "n", 1: "d"}]),
        "whisper": (whisper, [BATCH, {0: "n", 1: "d"}]),
        "wav2vec2": (lambda: speech("Wav2Vec2ForCTC", "Wav2Vec2Config", ["logits"]), [SOUND]),
        "hubert": (lambda: speech("HubertModel", "HubertConfig", ["last_hidden_state"], feat_extract_norm="layer",
                                  do_stable_layer_norm=True), [SOUND]),
        "clip": (clip, [WORDS, {0: "m"}, WORDS]),
        "segformer": (lambda: pictures("SegformerForSemanticSegmentation", "SegformerConfig", ["logits"], 64,
                                       hidden_sizes=[16, 32, 64, 128], decoder_hidden_size=64, num_labels=7), [IMAGE]),
        "yolos": (lambda: pictures("YolosForObjectDetection", "YolosConfig", ["logits", "pred_boxes"], 64, **blocks,
                                   intermediate_size=128, image_size=[64, 64], num_detection_tokens=10), [BATCH]),
        "dinov2": (lambda: pictures("Dinov2Model", "Dinov2Config", ["last_hidden_state"], 56, **blocks, image_size=56, patch_size=14),
                   [BATCH]),
        "tagger": (lambda: (Tagger().eval(), (ids(2, 33),)), [WORDS]),
        "stretched": (lambda: (Stretched().eval(), (torch.randn(2, 16, 21),)), [{0: "n", 2: "t"}]),
        "vocoder": (lambda: (Vocoder().eval(), (torch.randn(1, 20, 50),)), [{0: "n", 2: "t"}]),
        "denoiser": (lambda: (Denoiser().eval(), (torch.randn(1, 3, 64, 64),)), [IMAGE]),
        "transformer2d": (lambda: (Transformer2d().eval(), (torch.randn(2, 3, 32, 32),)), [BATCH]),
        "operators": (lambda: (Operators().eval(), (torch.randn(4, 4, 64),)), [{}]),
    }
    from exported_more import more_networks  # which uses what stands here
    return table | more_networks()


# Min, opt and max of an open extent, and what is tried besides the extents of the export.
RANGES = {"n": (1, 2, 4), "m": (1, 2, 3), "h": (64, 128, 256), "w": (64, 128, 256), "s": (1, 17, 40), "d": (1, 5, 12),
          "p": (1, 7, 20), "l": (4000, 8000, 16000), "t": (1, 50, 100)}
TRIALS = [{"n": 1, "m": 3, "h": 64, "w": 96, "s": 9, "d": 1, "p": 1, "l": 4000, "t": 1},
          {"n": 3, "m": 1, "h": 160, "w": 128, "s": 40, "d": 12, "p": 20, "l": 12345, "t": 99},
          {"n": 4, "m": 2, "h": 256, "w": 224, "s": 1, "d": 7, "p": 13, "l": 8001, "t": 7}]


def inputs_like(inputs, open_extents, trial, random):
    """Other inputs of the same kind: random, masks all one, of the trial's extents."""
    made = []
    for value, axes in zip(inputs, open_extents):
        shape = list(value.shape)
        for axis, name in axes.items():
            shape[axis] = trial[name]
        if value.dtype == torch.float32:
            made.append(random.standard_normal(shape).astype(np.float32))
        else:
            made.append(np.ones(shape, np.int64) if bool((value == 1).all()) else random.integers(5, 49, shape))
    return made
