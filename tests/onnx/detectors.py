#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Detectors with plugins of the standard library, as tools export them, whole: beside ONNX Runtime and numpy.

    pip install torch torchvision onnx onnxruntime
    PYTHONPATH=build/release/python python tests/onnx/detectors.py [--models DIR] [NAME ...]

- yolo_efficient_nms, ssd_batched_nms: networks of PyTorch with anchors and decoding, whose exporter writes the plugin's node
  through a symbolic function, as the scripts of YOLOv7 and of SSD do; random weights, open batch.
- yolox_efficient_nms, ultraface_batched_nms: trained models of the models folder, to which the nodes behind the network
  are appended, as onnx-graphsurgeon does.
- fasterrcnn: torchvision's; its RoiAlign nodes become ROIAlign_TRT.

Boxes and scores in front of the suppression are compared with ONNX Runtime; the detections with a suppression in numpy of
the boxes and scores that the same engine gave, whose choices must be the same.
"""
import argparse
import itertools
import os
import pathlib
import sys
import tempfile
import warnings

import numpy as np

MOST = 1e-4  # of the largest value
RAW = ("raw_boxes", "raw_scores")


def suppressed(boxes, scores, iou, most, per_class=None, background=-1):
    """(boxes, scores, classes) of one image in the order of their scores: corners [n, 4] and scores [n, classes] of
    candidates that are above 0. `per_class`: how many of each class are looked at."""
    boxes = boxes.astype(np.float64)
    areas = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
    kept = []
    for label in range(scores.shape[1]):
        if label == background:
            continue
        order = [i for i in np.argsort(-scores[:, label], kind="stable") if scores[i, label] > 0][:per_class]
        chosen = []
        for i in order:
            near = boxes[chosen]
            width = np.clip(np.minimum(near[:, 2], boxes[i, 2]) - np.maximum(near[:, 0], boxes[i, 0]), 0, None)
            height = np.clip(np.minimum(near[:, 3], boxes[i, 3]) - np.maximum(near[:, 1], boxes[i, 1]), 0, None)
            common = width * height
            if not np.any(common > iou * (areas[chosen] + areas[i] - common)):
                chosen.append(i)
        kept += [(-scores[i, label], label, i) for i in chosen]
    kept = sorted(kept)[:most]
    places = [i for _, _, i in kept]
    return boxes[places], np.array([-score for score, _, _ in kept]), np.array([label for _, label, _ in kept])


def expect(condition, what):
    if not condition:
        raise AssertionError(what)


def near(got, wanted, what):
    expect(got.shape == wanted.shape, f"{what}: shape {got.shape}, expected {wanted.shape}")
    if wanted.size:
        error = float(np.max(np.abs(got.astype(np.float64) - wanted)) / max(1e-6, float(np.max(np.abs(wanted)))))
        expect(error <= MOST, f"{what}: differs by {error:.2e} of the largest value")


# Networks of PyTorch.

def yolo(threshold):
    """Three scales with three anchors each, decoded; scores are objectness times class."""
    import torch
    from torch import nn

    class EfficientNms(torch.autograd.Function):
        @staticmethod
        def forward(ctx, boxes, scores):
            n = scores.shape[0]
            return (torch.ones(n, 1, dtype=torch.int32), torch.zeros(n, 100, 4), torch.zeros(n, 100),
                    torch.zeros(n, 100, dtype=torch.int32))

        @staticmethod
        def symbolic(g, boxes, scores):
            return g.op("TRT::EfficientNMS_TRT", boxes, scores, background_class_i=-1, box_coding_i=1, iou_threshold_f=0.45,
                        max_output_boxes_i=100, plugin_version_s="1", score_activation_i=0, score_threshold_f=threshold,
                        outputs=4)

    class Yolo(nn.Module):
        classes, anchors = 7, [[(10, 13), (16, 30), (33, 23)], [(30, 61), (62, 45), (59, 89)], [(116, 90), (56, 98), (73, 126)]]

        def __init__(self):
            super().__init__()
            def block(a, b):
                return nn.Sequential(nn.Conv2d(a, b, 3, 2, 1), nn.BatchNorm2d(b), nn.SiLU())
            self.stem = nn.Sequential(block(3, 16), block(16, 24))
            self.scales = nn.ModuleList([block(24, 32), block(32, 48), block(48, 64)])
            self.heads = nn.ModuleList([nn.Conv2d(c, 3 * (5 + self.classes), 1) for c in (32, 48, 64)])

        def forward(self, picture):
            x, found = self.stem(picture), []
            for i, (scale, head) in enumerate(zip(self.scales, self.heads)):
                x = scale(x)
                y = head(x)
                n, _, rows, columns = y.shape
                y = y.view(n, 3, 5 + self.classes, rows, columns).permute(0, 1, 3, 4, 2).sigmoid()
                ys, xs = torch.meshgrid(torch.arange(rows), torch.arange(columns), indexing="ij")
                grid = torch.stack((xs, ys), 2).view(1, 1, rows, columns, 2).float()
                anchor = torch.tensor(self.anchors[i], dtype=torch.float32).view(1, 3, 1, 1, 2)
                center = (y[..., 0:2] * 2 - 0.5 + grid) * (8 * 2 ** i)
                size = (y[..., 2:4] * 2) ** 2 * anchor
                found.append(torch.cat((center, size, y[..., 4:]), 4).view(n, -1, 5 + self.classes))
            all_of = torch.cat(found, 1)
            boxes, scores = all_of[:, :, :4], all_of[:, :, 4:5] * all_of[:, :, 5:]
            return (*EfficientNms.apply(boxes, scores), boxes, scores)
    return Yolo()


def ssd(threshold):
    """Two maps with priors of two sizes and three shapes; boxes by center and size with variances, scores by softmax."""
    import torch
    from torch import nn

    class BatchedNms(torch.autograd.Function):
        @staticmethod
        def forward(ctx, boxes, scores):
            n = scores.shape[0]
            return (torch.ones(n, 1, dtype=torch.int32), torch.zeros(n, 50, 4), torch.zeros(n, 50), torch.zeros(n, 50))

        @staticmethod
        def symbolic(g, boxes, scores):
            return g.op("TRT::BatchedNMSDynamic_TRT", boxes, scores, shareLocation_i=1, backgroundLabelId_i=0, numClasses_i=6,
                        topK_i=120, keepTopK_i=50, scoreThreshold_f=threshold, iouThreshold_f=0.5, isNormalized_i=1, clipBoxes_i=1,
                        plugin_version_s="1", outputs=4)

    class Ssd(nn.Module):
        classes = 6

        def __init__(self):
            super().__init__()
            def block(a, b, stride=2):
                return nn.Sequential(nn.Conv2d(a, b, 3, stride, 1), nn.BatchNorm2d(b), nn.ReLU6())
            self.maps = nn.ModuleList([nn.Sequential(block(3, 16), block(16, 24), block(24, 32)), block(32, 48)])
            self.where = nn.ModuleList([nn.Conv2d(c, 12, 3, 1, 1) for c in (32, 48)])
            self.what = nn.ModuleList([nn.Conv2d(c, 3 * self.classes, 3, 1, 1) for c in (32, 48)])

        @staticmethod
        def priors(rows, columns, size):
            shapes = [(size, size), (size * 1.414, size / 1.414), (size / 1.414, size * 1.414)]
            return [((x + 0.5) / columns, (y + 0.5) / rows, w, h) for y, x, (w, h) in
                    itertools.product(range(rows), range(columns), shapes)]

        def forward(self, picture):
            x, boxes, scores, priors = picture, [], [], []
            for i, layer in enumerate(self.maps):
                x = layer(x)
                n, _, rows, columns = x.shape
                boxes.append(self.where[i](x).permute(0, 2, 3, 1).reshape(n, -1, 4))
                scores.append(self.what[i](x).permute(0, 2, 3, 1).reshape(n, -1, self.classes))
                priors += self.priors(int(rows), int(columns), 0.2 * (i + 1))
            prior = torch.tensor(priors)
            delta = torch.cat(boxes, 1)
            center = prior[:, :2] + delta[..., :2] * 0.1 * prior[:, 2:]
            size = prior[:, 2:] * torch.exp(delta[..., 2:] * 0.2)
            corners = torch.cat((center - size / 2, center + size / 2), 2)
            probabilities = torch.softmax(torch.cat(scores, 1) * 4, 2)
            return (*BatchedNms.apply(corners.unsqueeze(2), probabilities), corners, probabilities)
    return Ssd()


def exported(make, path):
    """The file of the network, with a threshold that lies between two scores of it."""
    import torch
    picture = torch.rand(1, 3, 96, 128)
    threshold = 0.0
    for _ in range(2):
        torch.manual_seed(0)
        module = make(threshold).eval()
        with torch.no_grad():
            threshold = between(module(picture)[5].numpy())
    names = ["num", "boxes", "scores", "classes", *RAW]
    torch.onnx.export(module, (picture,), str(path), dynamo=False, opset_version=17, input_names=["picture"], output_names=names,
                      dynamic_axes={name: {0: "n"} for name in ["picture", *names]}, custom_opsets={"TRT": 1})
    return threshold


def between(scores):
    """A number of some 900 candidates, in the middle between two of them."""
    ordered = np.sort(scores.ravel())[::-1]
    place = min(900, ordered.size // 2)
    gaps = ordered[place:place + 50] - ordered[place + 1:place + 51]
    at = place + int(np.argmax(gaps))
    return float((ordered[at] + ordered[at + 1]) / 2)


# Trained models.

def yolox(source, path, threshold):
    """Grid, strides and exponents behind the network, then the plugin."""
    import onnx
    from onnx import helper, numpy_helper
    model = onnx.load(source)
    grids, strides = [], []
    for stride in (8, 16, 32):
        side = 416 // stride
        ys, xs = np.meshgrid(np.arange(side), np.arange(side), indexing="ij")
        grids.append(np.stack((xs, ys), 2).reshape(1, -1, 2))
        strides.append(np.full((1, side * side, 1), stride))
    constants = {"grid": np.concatenate(grids, 1), "stride": np.concatenate(strides, 1)}
    model.graph.initializer.extend(numpy_helper.from_array(x.astype(np.float32), name) for name, x in constants.items())
    given = model.graph.output[0].name
    node = helper.make_node
    model.graph.node.extend([
        node("Split", [given], ["place", "extent", "object", "class"], axis=2, split=[2, 2, 1, 80]),
        node("Add", ["place", "grid"], ["shifted"]), node("Mul", ["shifted", "stride"], ["center"]),
        node("Exp", ["extent"], ["wide"]), node("Mul", ["wide", "stride"], ["size"]),
        node("Concat", ["center", "size"], [RAW[0]], axis=2), node("Mul", ["class", "object"], [RAW[1]]),
        node("EfficientNMS_TRT", list(RAW), ["num", "boxes", "scores", "classes"], score_threshold=threshold, iou_threshold=0.45,
             max_output_boxes=100, background_class=-1, score_activation=0, box_coding=1, plugin_version="1")])
    with_outputs(model, path)


def ultraface(source, path, threshold):
    import onnx
    from onnx import helper, numpy_helper
    model = onnx.load(source)
    node = helper.make_node
    names = {output.name: RAW[output.name == "scores"] for output in model.graph.output}
    for old, new in names.items():
        model.graph.node.append(node("Identity", [old], [new]))
    model.graph.node.extend([
        node("Unsqueeze", [RAW[0]], ["one_each"], axes=[2]),
        node("BatchedNMSDynamic_TRT", ["one_each", RAW[1]], ["num", "nms_boxes", "nms_scores", "classes"], shareLocation=1,
             backgroundLabelId=0, numClasses=2, topK=500, keepTopK=100, scoreThreshold=threshold, iouThreshold=0.3, isNormalized=1,
             clipBoxes=1, plugin_version="1")])
    with_outputs(model, path, ("num", "nms_boxes", "nms_scores", "classes"))


def with_outputs(model, path, names=("num", "boxes", "scores", "classes")):
    import onnx
    from onnx import TensorProto, helper
    del model.graph.output[:]
    model.graph.output.extend(helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in (*names, *RAW))
    onnx.save(model, path)


# What is compared.

def without_plugin(path):
    """The same model up to its boxes and scores, for ONNX Runtime."""
    import onnx
    model = onnx.load(path)
    kept = [node for node in model.graph.node if not node.op_type.endswith("_TRT")]
    outputs = [output for output in model.graph.output if output.name in RAW]
    del model.graph.node[:], model.graph.output[:]
    model.graph.node.extend(kept)
    model.graph.output.extend(outputs)
    return model.SerializeToString()


def check(path, pictures, threshold, wanted, corners):
    import onnxruntime
    import tensorrt as trt
    batches = sorted({x.shape[0] for x in pictures})
    shape = pictures[0].shape[1:]
    shapes = {} if len(batches) == 1 else {"picture": ((batches[0], *shape), (batches[0], *shape), (batches[-1], *shape))}
    runner = trt.Runner(path, shapes=shapes)
    other = onnxruntime.InferenceSession(without_plugin(path), providers=["CPUExecutionProvider"])
    count = 0
    for picture in pictures:
        found = {name: np.array(x) for name, x in runner(**{runner.inputs[0]: picture}).items()}
        for name, reference in zip(RAW, other.run(list(RAW), {runner.inputs[0]: picture})):
            near(found[name], reference, name)
        num, boxes, scores, classes = (found[name] for name in found if name not in RAW)
        for image in range(picture.shape[0]):
            raw = found[RAW[1]][image]
            candidates = np.where(raw > threshold, raw, 0)
            want = wanted(corners(found[RAW[0]][image]), candidates)
            expect(int(num.reshape(-1)[image]) == len(want[1]), f"{num.reshape(-1)[image]} detections, expected {len(want[1])}")
            number = len(want[1])
            expect(number > 3, f"{number} detections are too few to tell anything")
            expect(np.array_equal(classes[image, :number].astype(int), want[2]), "classes differ")
            near(scores[image, :number], want[1], "scores")
            near(boxes[image, :number], want[0], "boxes")
            count += number
    return f"{count} detections of {sum(x.shape[0] for x in pictures)} pictures"


def from_center(boxes):
    boxes = boxes.astype(np.float64)
    return np.concatenate((boxes[:, :2] - boxes[:, 2:] / 2, boxes[:, :2] + boxes[:, 2:] / 2), 1)


def efficient(boxes, scores):
    """Of an image the best 5000 candidates count."""
    if np.count_nonzero(scores) > 5000:
        scores = np.where(scores >= np.sort(scores.ravel())[-5000], scores, 0)
    return suppressed(boxes, scores, 0.45, 100)


def test_yolo_efficient_nms(folder, models):
    path = folder / "yolo.onnx"
    threshold = exported(yolo, path)
    random = np.random.default_rng(1)
    pictures = [random.random((n, 3, 96, 128), np.float32) for n in (1, 3, 2)]
    return check(path, pictures, threshold, efficient, from_center)


def clipped(per_class, iou, most):
    def run(boxes, scores):
        found = suppressed(boxes, scores, iou, most, per_class, background=0)
        return (np.clip(found[0], 0, 1), *found[1:])
    return run


def test_ssd_batched_nms(folder, models):
    path = folder / "ssd.onnx"
    threshold = exported(ssd, path)
    random = np.random.default_rng(2)
    pictures = [random.random((n, 3, 96, 128), np.float32) for n in (1, 3, 2)]
    return check(path, pictures, threshold, clipped(120, 0.5, 50), lambda boxes: boxes)


def raw_of(make, source, path, picture):
    import onnxruntime
    make(source, path, 0.5)
    session = onnxruntime.InferenceSession(without_plugin(path), providers=["CPUExecutionProvider"])
    return session.run(list(RAW), {session.get_inputs()[0].name: picture})


def trained(name, models, make, folder, shape, scale):
    source = pathlib.Path(models) / "onnx" / name
    if not source.exists():
        raise FileNotFoundError(f"{source}: no such model")
    random = np.random.default_rng(3)
    small = random.random((1, 3, shape[0] // 16, shape[1] // 16))
    picture = (np.kron(small, np.ones((1, 1, 16, 16))) * scale[0] + scale[1]).astype(np.float32)
    path = folder / name
    scores = raw_of(make, source, path, picture)[1]
    threshold = between(scores[..., 1:] if make is ultraface else scores)
    make(source, path, threshold)
    return path, [picture], threshold


def test_yolox_efficient_nms(folder, models):
    path, pictures, threshold = trained("det_yolox_nano_coco.onnx", models, yolox, folder, (416, 416), (255, 0))
    return check(path, pictures, threshold, efficient, from_center)


def test_ultraface_batched_nms(folder, models):
    path, pictures, threshold = trained("det_ultraface_rfb320.onnx", models, ultraface, folder, (240, 320), (2, -1))
    return check(path, pictures, threshold, clipped(500, 0.3, 100), lambda boxes: boxes)


def test_fasterrcnn(folder, models):
    """Detections of nearly equal scores may change places: compared one by one with the nearest of ONNX Runtime's."""
    import onnxruntime
    import tensorrt as trt
    from exported_networks import exported as exported_network
    path, inputs, _, _ = exported_network("fasterrcnn", folder)
    logger = trt.Logger(trt.Logger.ERROR)
    network = trt.Builder(logger).create_network(0)
    expect(trt.OnnxParser(network, logger).parse_from_file(str(path)), "the model was not parsed")
    layers = [network.get_layer(i) for i in range(network.num_layers)]
    plugins = [layer.plugin.plugin_type for layer in layers if layer.type == trt.LayerType.PLUGIN_V2]
    plugins += ["V3" for layer in layers if layer.type == trt.LayerType.PLUGIN_V3]
    expect(plugins, "no RoiAlign became a plugin")
    runner = trt.Runner(path)
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    feeds = {f"in{i}": x for i, x in enumerate(inputs)}
    found, wanted = runner(**feeds), session.run(None, feeds)
    by_name = dict(zip([output.name for output in session.get_outputs()], wanted))
    for name, reference in by_name.items():
        near(np.array(found[name]), reference, name)
    return f"{len(plugins)} plugin layers, {wanted[0].shape[0]} detections"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", default=os.environ.get("TENON_MODELS", pathlib.Path(__file__).parents[2].parent / "shared/models"))
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    import onnxruntime
    import tensorrt as trt
    onnxruntime.set_default_logger_severity(3)
    trt.init_libnvinfer_plugins(trt.Logger(trt.Logger.ERROR), "")
    cases = {name[5:]: case for name, case in globals().items() if name.startswith("test_")}
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for name in options.names or cases:
            try:
                print(f"good   {name}: {cases[name](pathlib.Path(folder), options.models)}", flush=True)
            except AssertionError as error:
                failed += 1
                print(f"WRONG  {name}: {error}", flush=True)
    print(f"{failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
