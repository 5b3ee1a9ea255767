# SPDX-License-Identifier: Apache-2.0
"""Suppression of overlapping boxes with outputs of a fixed size."""
import dataclasses

import numpy as np

from formulas.table import Case, f32, formula, overlap, sigmoid


@dataclasses.dataclass
class Rules:
    """How candidates are chosen. The score of a candidate is at least `score`, or above it with `strict`."""
    score: float
    overlap: float
    keep: int
    per_class: int = 0       # candidates of a class before suppression
    keep_per_class: int = 0  # and boxes behind it
    background: int = -1
    agnostic: bool = False
    strict: bool = False
    longer: float = 0.0
    computed: bool = False   # the scores were not given, but computed


def in_order(boxes):
    return np.concatenate([np.minimum(boxes[..., :2], boxes[..., 2:]), np.maximum(boxes[..., :2], boxes[..., 2:])], -1)


def chosen(draw, boxes, scores, rules):
    """Of one image with boxes [B, C, 4] and scores [B, C]: rows (box, class), best first."""
    candidates = []
    for kind in range(scores.shape[1]):
        if kind != rules.background:
            good = np.flatnonzero(draw.above(scores[:, kind], rules.score, not rules.strict, given=not rules.computed))
            order = good[draw.ordered(scores[good, kind])]
            candidates += [(box, kind) for box in (order[:rules.per_class] if rules.per_class else order)]
    order = draw.ordered(np.array([scores[one] for one in candidates]))
    kept, counts = [], {}
    ends = in_order(boxes)
    for one in [candidates[place] for place in order]:
        others = [other for other in kept if rules.agnostic or other[1] == one[1]]
        against = ends[tuple(np.array(others).T)] if others else np.zeros((0, 4))
        if draw.above(overlap(ends[one], against, rules.longer), rules.overlap).any():
            continue
        kept.append(one)
    result = []
    for one in kept:
        counts[one[1]] = counts.get(one[1], 0) + 1
        if not rules.keep_per_class or counts[one[1]] <= rules.keep_per_class:
            result.append(one)
    return result[:rules.keep]


def by_class(boxes, classes):
    boxes = boxes if boxes.ndim == 4 else boxes[:, :, None]
    return np.broadcast_to(boxes, (*boxes.shape[:2], classes, 4))


def four(draw, boxes, scores, rules, empty_class=0):
    """counts [N], boxes, scores and classes of all images, filled up with zeros and `empty_class`."""
    boxes = by_class(boxes, scores.shape[2])
    images = len(scores)
    counts, classes = np.zeros(images, np.int32), np.full((images, rules.keep), empty_class, np.int32)
    found, values = np.zeros((images, rules.keep, 4)), np.zeros((images, rules.keep))
    for n in range(images):
        rows = chosen(draw, boxes[n], scores[n], rules)
        counts[n] = len(rows)
        for k, (box, kind) in enumerate(rows):
            found[n, k], values[n, k], classes[n, k] = boxes[n, box, kind], scores[n, box, kind], kind
    return counts, found, values, classes


def decoded(boxes, anchors, centres):
    """Corners of boxes that are given as differences from anchors [1, B, 4]."""
    if not centres:
        return in_order(boxes) + in_order(anchors)
    middle = boxes[..., :2] * anchors[..., 2:] + anchors[..., :2]
    return np.concatenate([middle, anchors[..., 2:] * np.exp(boxes[..., 2:])], -1)


def corners(boxes):
    return np.concatenate([boxes[..., :2] - boxes[..., 2:] / 2, boxes[..., :2] + boxes[..., 2:] / 2], -1)


@formula("EfficientNMS_TRT", "1", "greedy suppression: a box stays unless a better one of its class overlaps it by more than "
         "iou_threshold; boxes coded as corners, or as centres and sizes with anchors (cx a_w + a_x, a_w exp(w), ...)",
         "Ren et al. 2015, arXiv:1506.01497, (2); Tan et al. 2019, arXiv:1911.09070, and its box coder; ONNX NonMaxSuppression")
def efficient(draw, _):
    for number in range(8):
        whole = draw.random.integers
        images, count, classes, keep = whole(1, 3), whole(1, 20), whole(1, 5), int(whole(1, 30))
        own, coded, squashed, centres = number % 2 == 1, number % 3 == 2, number >= 4, number % 4 >= 2
        given = draw.real(images, count, *([classes] if own else []), 4, low=0)
        scores, anchors = draw.distinct(images, count, classes), draw.real(1, count, 4, low=0.25)
        boxes = decoded(given, anchors[:, :, None] if own else anchors, centres) if coded else given
        boxes = corners(boxes) if centres else boxes
        # The order and the threshold are those of the scores before the sigmoid.
        threshold = f32(0.6) if squashed else 0.25
        rules = Rules(np.log(threshold / (1 - threshold)) if squashed else threshold, f32(0.4), keep,
                      background=int(whole(-1, classes)), agnostic=bool(whole(0, 2)))
        counts, found, values, kinds = four(draw, boxes, scores, rules)
        shown = np.where(np.arange(keep) < counts[:, None], sigmoid(values), 0) if squashed else values
        fields = {"score_threshold": threshold, "iou_threshold": 0.4, "max_output_boxes": keep,
                  "background_class": rules.background, "score_activation": int(squashed), "class_agnostic": int(rules.agnostic),
                  "box_coding": int(centres)}
        yield Case(fields, [given, scores, *([anchors] if coded else [])], [counts[:, None], found, shown, kinds])


@formula("EfficientNMS_ONNX_TRT", "1", "as EfficientNMS_TRT; rows (image, class, box), behind the last one that again, -1 without any",
         "ONNX NonMaxSuppression")
def efficient_onnx(draw, _):
    for threshold in (0.3, 2.0):
        most = 4
        boxes, scores = draw.boxes(2, 9), draw.distinct(2, 9, 3)
        rows = [(n, kind, box) for n in range(2)
                for box, kind in chosen(draw, by_class(boxes, 3)[n], scores[n], Rules(threshold, f32(0.3), most))]
        rows = (rows or [(-1, -1, -1)]) + [rows[-1] if rows else (-1, -1, -1)] * (2 * most)
        yield Case({"score_threshold": threshold, "iou_threshold": 0.3, "max_output_boxes_per_class": most}, [boxes, scores],
                   [np.array(rows[:2 * most], np.int32)])


def tensorflow(draw, implicit):
    for padded in (0, 1):
        boxes, scores = draw.real(1, 12, 1, 4, low=-0.5, high=1.5), draw.distinct(1, 12, 2)
        rules = Rules(f32(0.1), f32(0.6), 6 if padded else 10, keep_per_class=3)
        counts, found, values, classes = four(draw, boxes, scores, rules)
        fields = {"max_output_size_per_class": 3, "max_total_size": 10, "iou_threshold": 0.6, "score_threshold": 0.1,
                  "pad_per_class": padded, "clip_boxes": 1}
        found = np.clip(found, 0, 1)
        if implicit:
            yield Case(fields, [boxes[0], scores[0]], [counts[0], found[0], values[0], classes[0]])
        else:
            yield Case(fields, [boxes, scores], [counts[:, None], found, values, classes])


TENSORFLOW = ("as EfficientNMS_TRT, at most max_output_size_per_class of a class and max_total_size in all, cut to 0 .. 1",
              "TensorFlow, tf.image.combined_non_max_suppression")
formula("EfficientNMS_Explicit_TF_TRT", "1", *TENSORFLOW)(lambda draw, _: tensorflow(draw, False))
formula("EfficientNMS_Implicit_TF_TRT", "1", *TENSORFLOW)(lambda draw, _: tensorflow(draw, True))


def batched(draw, dynamic):
    for number in range(6):
        whole = draw.random.integers
        normalized, own = number % 2 == 1, number % 3 == 1
        images, count, classes, keep = whole(1, 3), whole(1, 19), whole(1, 4), int(whole(1, 12))
        boxes = draw.boxes(images, count, classes if own else 1, size=1.25 if normalized else 20)
        scores = draw.distinct(images, count, classes)
        rules = Rules(f32(0.2), f32(0.35), keep, per_class=6, background=int(whole(-1, classes)), strict=True,
                      longer=0.0 if normalized else 1.0)
        counts, found, values, kinds = four(draw, boxes, scores, rules, -1)
        fields = {"shareLocation": int(not own), "backgroundLabelId": rules.background, "numClasses": int(classes), "topK": 6,
                  "keepTopK": keep, "scoreThreshold": 0.2, "iouThreshold": 0.35, "isNormalized": int(normalized),
                  "clipBoxes": int(normalized)}
        yield Case(fields, [boxes, scores], [counts[:, None] if dynamic else counts, np.clip(found, 0, 1) if normalized else found,
                                             values, kinds.astype(float)])


BATCHED = ("of each class the best topK, greedy suppression by iouThreshold, then the best keepTopK of all; whole pixels are one longer",
           "Liu et al. 2015, arXiv:1512.02325, 2.2; Caffe SSD, ApplyNMSFast")
formula("BatchedNMS_TRT", "1", *BATCHED)(lambda draw, _: batched(draw, False))
formula("BatchedNMSDynamic_TRT", "1", *BATCHED)(lambda draw, _: batched(draw, True))


def single_shot(loc, prior, variance, code, encoded):
    """Boxes x1, y1, x2, y2 of differences, priors and variances [.., 4]; code 3 has y in front of x."""
    if code == 3:
        loc, encoded = loc[..., [1, 0, 3, 2]], False
    loc = loc if encoded else loc * variance
    side = prior[..., 2:] - prior[..., :2]
    if code == 0:
        return prior + loc
    if code == 2:
        return prior + loc * np.concatenate([side, side], -1)
    middle = loc[..., :2] * side + (prior[..., :2] + prior[..., 2:]) / 2
    half = np.exp(loc[..., 2:]) * side / 2
    return np.concatenate([middle - half, middle + half], -1)


def detection_output(draw, _):
    images, count, classes, keep = 2, 7, 3, 6
    for number in range(8):
        shared, encoded, squashed, code = number % 3 != 0, number % 4 == 1, number >= 4, number % 4
        loc = draw.real(images, count, 1 if shared else classes, 4, low=-0.5, high=0.5)
        raw, prior = draw.distinct(images, count, classes), draw.boxes(1, count, 1)
        variance = np.broadcast_to(np.array([0.125, 0.25, 0.375, 0.5]), prior.shape)
        scores = sigmoid(raw) if squashed else raw
        rules = Rules(f32(0.55), f32(0.4), keep, per_class=20, background=0, strict=True, computed=squashed)
        counts, found, values, kinds = four(draw, single_shot(loc, prior, variance, code, encoded), scores, rules, -1)
        image = np.broadcast_to(np.arange(images)[:, None, None], (images, keep, 1))
        rows = np.concatenate([image, kinds[..., None], values[..., None], np.clip(found, 0, 1)], 2)[:, None]
        priors = np.repeat(np.stack([prior.reshape(-1), variance.reshape(-1)])[None, :, :, None], images, 0)
        yield Case({"shareLocation": int(shared), "varianceEncodedInTarget": int(encoded), "backgroundLabelId": 0, "numClasses": 3,
                    "topK": 20, "keepTopK": keep, "confidenceThreshold": 0.55, "nmsThreshold": 0.4,
                    "inputOrder": np.array([2, 0, 1], np.int32), "confSigmoid": int(squashed), "isNormalized": 1, "codeType": code},
                   [raw.reshape(images, -1, 1, 1), priors, loc.reshape(images, -1, 1, 1)],
                   # The count is INT32 in a tensor of FP32.
                   [rows, counts.view(np.float32).reshape(images, 1, 1, 1)])


DETECTION = ("boxes decoded from priors and variances by codeType, of each class suppressed by nmsThreshold, then the best keepTopK",
             "Liu et al. 2015, arXiv:1512.02325, (2); Caffe SSD, DetectionOutput")
formula("NMS_TRT", "1", *DETECTION)(detection_output)
formula("NMSDynamic_TRT", "1", *DETECTION)(detection_output)
