# SPDX-License-Identifier: Apache-2.0
"""All networks: name to a function of (batch, small) that gives module and inputs; small ones are for a test of what they compute."""
import torch
from torch import nn

from . import others, pictures, sequences
from .table_more import MORE
from .table_rest import REST


def picture(batch, *extents, channels=3):
    return torch.randn(batch, channels, *(extents if len(extents) > 1 else extents * 2))


def ids(words, *extents):
    return torch.randint(1, words, extents)


class Out(nn.Module):
    """The tensors of a network that gives names to them."""

    def __init__(self, module):
        super().__init__()
        self.module = module

    def forward(self, *inputs):
        given = self.module(*inputs)
        return tuple(given.values()) if isinstance(given, dict) else given[-1] if isinstance(given, list) else given


def vision(name, size=224, smaller=64, **more):
    def make(batch, small):
        import torchvision
        return torchvision.models.get_model(name, weights=None, **more), (picture(batch, smaller if small else size),)
    return make


def segmentation(name, size=520):
    def make(batch, small):
        import torchvision
        return Out(torchvision.models.get_model(name, weights=None, weights_backbone=None)), (picture(batch, 96 if small else size),)
    return make


def video(name, frames, size, **more):
    def make(batch, small):
        import torchvision
        many, side = (frames, size) if not small or name.startswith("mvit") else (16 if name == "s3d" else 4, 64)
        return torchvision.models.get_model(name, weights=None, **more), (picture(batch, many, side, side),)
    return make


def flow(name):
    def make(batch, small):
        import torchvision
        size = (128, 128) if small else (256, 384)
        class Flow(Out):
            def forward(self, first, second):
                return self.module(first, second, num_flow_updates=2 if small else 6)[-1]
        return Flow(torchvision.models.get_model(name, weights=None)), (picture(batch, *size), picture(batch, *size))
    return make


def pyramid(batch, small):
    """The convolutions of a detector: trunk, pyramid, heads."""
    import torchvision
    module = torchvision.models.get_model("retinanet_resnet50_fpn_v2", weights=None, weights_backbone=None)

    class Heads(nn.Module):
        def __init__(self):
            super().__init__()
            self.backbone, self.head = module.backbone, module.head

        def forward(self, x):
            return tuple(self.head(list(self.backbone(x).values())).values())
    return Heads(), (picture(batch, 128 if small else 640),)


def lite_detector(batch, small):
    import torchvision
    module = torchvision.models.get_model("ssdlite320_mobilenet_v3_large", weights=None, weights_backbone=None)

    class Heads(nn.Module):
        def __init__(self):
            super().__init__()
            self.backbone, self.head = module.backbone, module.head

        def forward(self, x):
            return tuple(self.head(list(self.backbone(x).values())).values())
    return Heads(), (picture(batch, 320),)


def diffusion(batch, small):
    widths, side, words = ([32, 64], 16, 64) if small else ([320, 640, 1280], 64, 768)
    return (pictures.DiffusionUNet(widths, words, 4 if small else 8),
            (picture(batch, side, channels=4), torch.full((batch,), 37.0), torch.randn(batch, 77, words)))


def llama(length, past):
    def make(batch, small):
        layers, width, heads, key_heads, inner, words = (2, 64, 4, 2, 160, 100) if small else (4, 2048, 16, 4, 5632, 32000)
        before = [torch.randn(batch, key_heads, past, width // heads) for _ in range(2 * layers)] if past else []
        return sequences.Llama(layers, width, heads, key_heads, inner, words), (ids(words, batch, length), *before)
    return make


def whisper_encoder(batch, small):
    layers, width, heads, frames = (2, 64, 4, 100) if small else (6, 512, 8, 3000)
    return sequences.WhisperEncoder(layers, width, heads, frames), (torch.randn(batch, 80, frames),)


def text_decoder(batch, small):
    layers, width, heads, words, rows = (2, 64, 4, 100, 50) if small else (6, 512, 8, 51865, 1500)
    return sequences.TextDecoder(layers, width, heads, words, 64), (ids(words, batch, 32), torch.randn(batch, rows, width))


def clip_text(batch, small):
    layers, width, heads, words = (2, 64, 4, 100) if small else (12, 512, 8, 49408)
    return sequences.ClipText(layers, width, heads, words), (ids(words, batch, 77),)


def t5_encoder(batch, small):
    layers, width, heads, length, words = (2, 64, 4, 33, 100) if small else (6, 768, 12, 256, 32000)
    return sequences.Relative(layers, width, heads, length, words), (ids(words, batch, length),)


def conformer(batch, small):
    layers, width, heads, frames = (2, 32, 4, 100) if small else (6, 256, 4, 800)
    return sequences.Conformer(layers, width, heads), (torch.randn(batch, frames, 80),)


def mamba(batch, small):
    width, length, layers = (64, 128, 1) if small else (768, 1024, 4)
    return nn.Sequential(*[sequences.StateSpace(width, *((16, 32, 32) if small else ())) for _ in range(layers)]), (torch.randn(batch, length, width),)


def demucs(batch, small):
    width, depth, count = (8, 2, 1364) if small else (48, 4, 44100)
    length = count
    for _ in range(depth):  # what the windows reach, so that nothing is left over
        length = (length - 8) // 4 + 1
    for _ in range(depth):
        length = (length - 1) * 4 + 8
    return sequences.Demucs(width, depth), (torch.randn(batch, 2, length),)


def tasnet(batch, small):
    shape, count = ((32, 16, 32, 3, 1), 808) if small else ((512, 128, 512, 8, 2), 16008)
    return sequences.Tasnet(*shape), (torch.randn(batch, 1, count),)


def wavenet(batch, small):
    width, skip, layers, count = (16, 32, 4, 200) if small else (64, 128, 20, 4000)
    return sequences.Wavenet(width, skip, layers), (torch.randn(batch, 1, count), torch.randn(batch, 80, count))


def hifigan(batch, small):
    width, frames = (32, 7) if small else (512, 100)
    return sequences.Vocoder(width), (torch.randn(batch, 80, frames),)


def rows(kind, inputs, width, layers, both, outputs, steps):
    def make(batch, small):
        a, b = (8, 16) if small else (inputs, width)
        return sequences.Rows(kind, a, b, layers, both, outputs), (torch.randn(batch, 9 if small else steps, a),)
    return make


def tcn(batch, small):
    width, layers, steps = (8, 3, 50) if small else (64, 8, 1000)
    return sequences.Tcn(width, layers), (torch.randn(batch, 8, steps),)


def joiner(batch, small):
    width, words, frames, count = (32, 40, 9, 5) if small else (512, 1000, 100, 32)
    return sequences.Joiner(width, words), (torch.randn(batch, frames, width), torch.randn(batch, count, width))


def retention(batch, small):
    width, heads, length, layers = (64, 4, 20, 2) if small else (768, 8, 512, 4)
    return sequences.Retention(width, heads, length, layers), (torch.randn(batch, length, width),)


def detr(batch, small):
    if small:
        return others.Detr(others.trunk("resnet18"), 64, 4, 1, 10, 2), (picture(batch, 64),)
    return others.Detr(others.trunk("resnet50"), 256, 8, 6, 100, 20), (picture(batch, 640),)


def dlrm(batch, small):
    tables, words, width, many = (5, 50, 16, 7) if small else (26, 20000, 64, 2048)
    return others.Dlrm(tables, words, width), (torch.randn(many * batch, 13), ids(words, many * batch, tables))


def graph_net(batch, small):
    inputs, width, nodes, edges = (8, 16, 30, 100) if small else (128, 256, 10000, 80000)
    return others.GraphNet(inputs, width, 3), (torch.randn(nodes * batch, inputs), torch.randint(0, nodes * batch, (2, edges * batch)))


def radiance(batch, small):
    width, count = (32, 50) if small else (256, 65536)
    return others.Radiance(width), (torch.rand(count * batch, 3), torch.rand(count * batch, 3))


def bifpn(batch, small):
    width, side = (16, 32) if small else (64, 64)
    return others.BiFpn(width, 3), tuple(picture(batch, side >> k, channels=c) for k, c in enumerate((40, 112, 320)))


def of(make, channels=3):
    """A network of one picture: make gives the module and the picture's side, for both sizes."""
    return lambda batch, small: (lambda given: (given[0], (picture(batch, *given[1:], channels=channels),)))(make(small))


NETWORKS = {
    "diffusion_unet": diffusion,
    "picture_decoder": of(lambda s: (pictures.PictureDecoder([64, 32] if s else [512, 256, 128]), 8 if s else 64), 4),
    "llama_prefill_128": llama(128, 0), "llama_prefill_1024": llama(1024, 0), "llama_step_1024": llama(1, 1024),
    "whisper_encoder": whisper_encoder, "text_decoder": text_decoder, "clip_text": clip_text, "t5_encoder": t5_encoder,
    "conformer": conformer, "mamba2": mamba, "retention": retention, "demucs": demucs, "conv_tasnet": tasnet, "wavenet": wavenet,
    "hifigan": hifigan, "tcn": tcn, "joiner": joiner,
    "lstm_stack": rows(nn.LSTM, 256, 512, 3, True, 64, 100), "gru_stack": rows(nn.GRU, 80, 384, 2, False, 40, 200),
    "esrgan": of(lambda s: (pictures.Esrgan(1 if s else 8), *((16, 20) if s else (128, 128)))),
    "edsr": of(lambda s: (pictures.Edsr(2 if s else 16), *((16, 20) if s else (180, 320)))),
    "swinir": of(lambda s: (pictures.SwinIr(*((24, 3, 1, 2) if s else (60, 6, 4))), 16 if s else 128)),
    "nafnet": of(lambda s: (pictures.Nafnet(*((8, 2) if s else (32, 4))), 32 if s else 256)),
    "restormer": of(lambda s: (pictures.Restormer(16 if s else 48), 16 if s else 128)),
    "segmentation_unet": of(lambda s: (pictures.SegmentationUNet([8, 16] if s else [64, 128, 256, 512]), 32 if s else 384)),
    "yolo": of(lambda s: (others.Yolo(8 if s else 32), 64 if s else 640)),
    "detr": detr, "bifpn": bifpn,
    "pointnet": lambda b, s: (others.PointNet(8 if s else 64), (torch.rand(b, 3, 100 if s else 2048),)),
    "dgcnn": lambda b, s: (others.EdgeConv([8, 16] if s else [64, 64, 128, 256], 5 if s else 20), (torch.randn(b, 3, 50 if s else 1024),)),
    "dlrm": dlrm, "graph_net": graph_net, "radiance": radiance,
    "mixer": of(lambda s: (others.Mixer(*((2, 32, 8, 16) if s else (8, 512, 16, 196))), 32 if s else 224)),
    "stylegan": lambda b, s: (others.Generator([32, 16, 8] if s else [512, 512, 512, 512, 256, 128], 64 if s else 512), (torch.randn(b, 64 if s else 512),)),
    "volume_unet": of(lambda s: (others.VolumeUNet([4, 8] if s else [32, 64, 128, 256]), *((8, 16, 16) if s else (64, 96, 96))), 1),
    "conv_lstm": lambda b, s: (others.ConvLstm(2, 8) if s else others.ConvLstm(8, 64), (torch.randn(b, 3, 2, 8, 9) if s else torch.randn(b, 8, 8, 64, 64),)),
    "dcgan": lambda b, s: (others.Dcgan([32, 16] if s else [512, 256, 128, 64]), (torch.randn(b, 100, 1, 1),)),
    "patches": lambda b, s: (others.Patches(*((1, 32, 4, 64, 16, 24) if s else (3, 128, 16, 512, 16, 96))), (torch.randn(b, 3 if s else 21, 64 if s else 512),)),
    "raft_small": flow("raft_small"), "raft_large": flow("raft_large"), "retinanet_heads": pyramid, "ssdlite_heads": lite_detector,
    "fcn_resnet50": segmentation("fcn_resnet50"), "lraspp": segmentation("lraspp_mobilenet_v3_large"),
    "deeplabv3_mobilenet": segmentation("deeplabv3_mobilenet_v3_large"),
    "mvit_v2_s": video("mvit_v2_s", 16, 224), "mvit_v1_b": video("mvit_v1_b", 16, 224), "s3d": video("s3d", 16, 224),
    "swin3d_t": video("swin3d_t", 8, 224), "r2plus1d_18": video("r2plus1d_18", 16, 112), "r3d_18": video("r3d_18", 16, 112),
    "mc3_18": video("mc3_18", 16, 112),
    **{name: vision(name) for name in """alexnet vgg16 vgg19_bn squeezenet1_1 mnasnet1_0 mobilenet_v2 shufflenet_v2_x1_0 resnet18 resnext50_32x4d
        wide_resnet50_2 regnet_x_8gf regnet_y_800mf efficientnet_b3 densenet201 convnext_small swin_b""".split()},
    "swin_v2_t": vision("swin_v2_t", 256), "maxvit_t": vision("maxvit_t", 224, 224), "vit_b_32": vision("vit_b_32", 224, 224),
    "googlenet": vision("googlenet", aux_logits=False, init_weights=False),
    "inception_v3": vision("inception_v3", 299, 96, aux_logits=False, init_weights=False),
    **MORE,
    **REST,
}


def network(name, batch=1, small=False):
    """One of them, or any other classifier of torchvision."""
    from .common import settle
    torch.manual_seed(0)
    module, inputs = (NETWORKS.get(name) or vision(name))(batch, small)
    return settle(module.eval()), inputs
