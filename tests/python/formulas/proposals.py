# SPDX-License-Identifier: Apache-2.0
"""Two-stage detectors: regions proposed from anchors, and detections refined from regions."""
import numpy as np

from formulas.table import FP32_MARGIN, Case, f32, formula, suppressed

FASTER = "Ren et al. 2015, arXiv:1506.01497, (2)"
MASK = "He et al. 2017, arXiv:1703.06870"


def best(draw, boxes, scores, first, threshold, keep, longer=0.0):
    """The best `first`, suppressed: indices of at most `keep` boxes."""
    order = draw.ordered(scores)[:first]
    return order[suppressed(draw, boxes[order], scores[order], threshold, longer)][:keep]


def filled(rows, count):
    """`count` rows, zeros behind the last."""
    return np.concatenate([rows, np.zeros((count - len(rows), *rows.shape[1:]))])


def from_anchors(middles, sizes, deltas, last):
    """x1, y1, x2, y2 of differences [A, 4, H, W], cut at the image: [A * H * W, 4]."""
    moved = deltas[:, :2] * sizes[:, :, None, None] + middles
    half = np.exp(deltas[:, 2:]) * sizes[:, :, None, None] / 2
    boxes = np.clip(np.concatenate([moved - half, moved + half], 1), 0, np.array(last * 2)[:, None, None])
    return boxes.transpose(0, 2, 3, 1).reshape(-1, 4)


def middles_of(rows, columns, first, stride):
    y, x = np.meshgrid(first + np.arange(rows) * stride, first + np.arange(columns) * stride, indexing="ij")
    return np.stack([x, y])


def proposals(draw, _):
    draw.margin = FP32_MARGIN
    rows, columns, images, count = 3, 4, 2, 6
    sizes = np.array([(size * ratio, size / ratio) for size in (16, 40) for ratio in (1, 2)])
    scores, deltas = draw.distinct(images, 4, rows, columns), draw.real(images, 16, rows, columns, low=-0.5, high=0.5)
    y = np.zeros((images, count, 4))
    for n in range(images):
        boxes = from_anchors(middles_of(rows, columns, 8, 16), sizes, deltas[n].reshape(4, 4, rows, columns), (63, 47))
        large = draw.above((boxes[:, 2:] - boxes[:, :2]).min(-1), 10)
        kept = best(draw, boxes, np.where(large, scores[n].ravel(), -np.inf), 30, f32(0.3), count, 1)
        y[n] = filled(boxes[kept][:, [1, 0, 3, 2]] / [47, 63, 47, 63], count)
    yield Case({"input_height": 48, "input_width": 64, "rpn_stride": 16, "roi_min_size": 10.0, "nms_iou_threshold": 0.3,
                "pre_nms_top_n": 30, "post_nms_top_n": count, "anchor_sizes": np.array([16, 40], np.float32),
                "anchor_ratios": np.array([1, 2], np.float32)}, [scores, deltas], [y[..., None]])


PROPOSAL = ("anchors of size ratio x size / ratio moved by (dx w, dy h, exp(dw) w, exp(dh) h), the small ones last, suppressed; "
            "y1, x1, y2, x2 from 0 to 1", f"{FASTER}; NVIDIA TensorRT, plugin/proposalPlugin")
formula("Proposal", "1", *PROPOSAL)(proposals)
formula("ProposalDynamic", "1", *PROPOSAL)(proposals)


def pooled(image, box, size):
    """The greatest pixel of each cell of a region of a map with a sixteenth of the sides."""
    x1, y1, x2, y2 = np.floor(box / 16 + 0.5)
    high, wide = max(y2 - y1 + 1, 1), max(x2 - x1 + 1, 1)
    result = np.zeros((len(image), *size))
    for i, j in np.ndindex(*size):
        rows = np.arange(np.floor(i * high / size[0]), np.ceil((i + 1) * high / size[0])).astype(int) + int(y1)
        columns = np.arange(np.floor(j * wide / size[1]), np.ceil((j + 1) * wide / size[1])).astype(int) + int(x1)
        rows, columns = rows[(rows >= 0) & (rows < image.shape[1])], columns[(columns >= 0) & (columns < image.shape[2])]
        if rows.size and columns.size:
            result[:, i, j] = image[:, rows][:, :, columns].max((1, 2))
    return result


@formula("RPROI_TRT", "1", "anchors of rounded sides moved as by Proposal, cut at the image, suppressed; of each region the greatest "
         "pixel of each cell", f"{FASTER}; Girshick 2015, arXiv:1504.08083, 2.1; py-faster-rcnn, generate_anchors")
def proposals_and_pooling(draw, _):
    draw.margin = FP32_MARGIN
    rows, columns, count = 4, 5, 3
    widths = np.round(np.sqrt(256 / np.array([1, 2])))
    sizes = np.stack([widths, np.round(widths * [1, 2])], 1) * 2
    scores, deltas = draw.distinct(1, 4, rows, columns), draw.real(1, 8, rows, columns, low=-0.5, high=0.5)
    image, facts = draw.real(1, 2, rows, columns), np.array([60, 80, 1.5])
    boxes = from_anchors(middles_of(rows, columns, 7.5, 16), sizes, deltas.reshape(2, 4, rows, columns), (79, 59))
    large = draw.above((boxes[:, 2:] - boxes[:, :2]).min(-1) + 1, 12 * 1.5, inclusive=True)
    kept = best(draw, boxes, np.where(large, scores[0, 2:].ravel(), -np.inf), 20, f32(0.4), count, 1)
    rounded = boxes[kept] / 16 + 0.5
    draw.above(np.abs(rounded - np.round(rounded)), 0)
    pools = np.stack([pooled(image[0], box, (2, 3)) for box in boxes[kept]])
    yield Case({"poolingH": 2, "poolingW": 3, "featureStride": 16, "preNmsTop": 20, "nmsMaxOut": count, "anchorsRatioCount": 2,
                "anchorsScaleCount": 1, "iouThreshold": 0.4, "minBoxSize": 12.0, "spatialScale": 0.0625,
                "anchorsRatios": np.array([1, 2], np.float32), "anchorsScales": np.array([2], np.float32)},
               [scores, deltas, image, facts.reshape(1, 1, 1, 3)], [filled(boxes[kept], count)[None, None], filled(pools, count)[None]])


def moved(boxes, deltas):
    """y1, x1, y2, x2 between 0 and 1 moved by differences of the deviations 0.1 and 0.2."""
    side = boxes[..., 2:] - boxes[..., :2]
    middle = (boxes[..., :2] + boxes[..., 2:]) / 2 + deltas[..., :2] * 0.1 * side
    half = np.exp(deltas[..., 2:] * 0.2) * side / 2
    return np.clip(np.concatenate([middle - half, middle + half], -1), 0, 1)


def moved_in_pixels(boxes, deltas, image, place, size):
    """In pixels, whose last one belongs to the box; differences divided by their weights."""
    side = boxes[..., 2:] - boxes[..., :2] + 1
    grown = np.exp(np.minimum(deltas[..., 2:] / size, np.log(1000 / 16))) * side
    first = boxes[..., :2] + side / 2 + deltas[..., :2] / place * side - grown / 2
    return np.clip(np.concatenate([first, first + grown - 1], -1), 0, np.array(image * 2) - 1)


@formula("ProposalLayer_TRT", "1", "anchors of five levels (ratios 1/2, 1, 2) moved with the deviations 0.1 and 0.2, suppressed; from 0 "
         "to 1", f"{MASK}; Mask_RCNN of Matterport, ProposalLayer")
def proposal_layer(draw, _):
    draw.margin = FP32_MARGIN
    anchors = []
    for level in range(5):
        for y in range(0, 32, 4 << level):
            for x in range(0, 64, 4 << level):
                for ratio in (0.5, 1.0, 2.0):
                    h, w = (32 << level) / np.sqrt(ratio), (32 << level) * np.sqrt(ratio)
                    anchors.append([(y - h / 2) / 31, (x - w / 2) / 63, (y + h / 2 - 1) / 31, (x + w / 2 - 1) / 63])
    anchors = np.array(anchors)
    total = len(anchors)
    objects, deltas = draw.distinct(2, total, 2, 1), draw.real(2, total, 4, 1)
    if draw.halves:  # as many numbers as halves between 0 and 1 tell apart
        objects[:, :, 1, 0] = draw.held(draw.random.permuted(np.tile((np.arange(total) + 1) / 2048, (2, 1)), axis=1))
    y = np.zeros((2, 10, 4))
    for n in range(2):
        boxes = moved(anchors, deltas[n, ..., 0])
        kept = best(draw, boxes, objects[n, :, 1, 0], 60, f32(0.6), 10)
        y[n] = filled(boxes[kept], 10)
    yield Case({"prenms_topk": 60, "keep_topk": 10, "iou_threshold": 0.6, "image_size": np.array([3, 32, 64], np.int32)},
               [objects, deltas], [y])


@formula("MultilevelProposeROI_TRT", "1", "of each of five levels anchors of 8 strides (1 x 1, 1.4 x 0.7, 0.7 x 1.4) moved in pixels and "
         "suppressed; then the best of all levels", f"{MASK}; Lin et al. 2016, arXiv:1612.03144, 4.1; tensorflow/tpu, detection")
def multilevel_proposals(draw, _):
    draw.margin = FP32_MARGIN
    image, inputs, found = (64, 128), [], [[], []]
    for level in range(5):
        stride = 4 << level
        anchors = np.array([[y - 4 * stride * high, x - 4 * stride * wide, y + 4 * stride * high, x + 4 * stride * wide]
                            for y in range(stride // 2, image[0], stride) for x in range(stride // 2, image[1], stride)
                            for wide, high in ((1.0, 1.0), (1.4, 0.7), (0.7, 1.4))])
        total = len(anchors)
        deltas = draw.real(2, total, 4, 1, low=-0.3, high=0.3)
        places = draw.random.permuted(np.tile(np.arange(total), (2, 1)), axis=1)
        objects = draw.held(0.951 - (places * 5 + level) / 2048)  # apart in halves too, for the greatest at least
        for n in range(2):
            boxes = moved_in_pixels(anchors, deltas[n, ..., 0], image, 1, 1)
            scores = np.where(draw.above(objects[n], f32(0.2), inclusive=True, given=True), objects[n], -np.inf)
            kept = best(draw, boxes, scores, 40, 0.5, 12)
            found[n] += [(scores[k], boxes[k]) for k in kept if np.isfinite(scores[k])]
        inputs += [deltas, objects[..., None, None]]
    y = np.zeros((2, 12, 4))
    for n in range(2):
        order = draw.ordered(np.array([score for score, _ in found[n]]))[:12]
        y[n] = filled(np.array([found[n][k][1] for k in order]), 12)
    yield Case({"prenms_topk": 40, "keep_topk": 12, "fg_threshold": 0.2, "iou_threshold": 0.5,
                "image_size": np.array([3, *image], np.int32)}, inputs, [y], 1e-3)


def detections(draw, in_pixels):
    count, classes = 17, 3
    deltas, scores = draw.real(2, count, classes, 4), draw.distinct(2, count, classes)
    regions = draw.boxes(2, count, size=60 if in_pixels else 1)
    y = np.zeros((2, 8, 6))
    for n in range(2):
        first = 1 if in_pixels else 0  # where the background cannot win
        kinds = scores[n, :, first:].argmax(1) + first
        own, value = deltas[n, np.arange(count), kinds], scores[n, np.arange(count), kinds]
        boxes = moved_in_pixels(regions[n], own, (64, 96), 10, 5) if in_pixels else moved(regions[n], own)
        good = draw.above(value, f32(0.3), inclusive=True, given=True) & (kinds > 0)
        kept = []
        for kind in (1, 2):
            places = np.flatnonzero(good & (kinds == kind))
            kept += list(places[suppressed(draw, boxes[places], value[places], f32(0.2))])
        kept = np.array(kept, int)[draw.ordered(value[kept])][:8]
        y[n] = filled(np.concatenate([boxes[kept], kinds[kept, None], value[kept, None]], 1), 8)
    fields = {"num_classes": classes, "keep_topk": 8, "score_threshold": 0.3, "iou_threshold": 0.2}
    if in_pixels:
        fields["image_size"] = np.array([3, 64, 96], np.int32)
    yield Case(fields, [deltas.reshape(2, count, -1, 1, 1), scores[..., None, None], regions], [y], 1e-3)


formula("DetectionLayer_TRT", "1", "the best class of each region, its box moved with the deviations 0.1 and 0.2, suppressed by class; "
        "rows y1, x1, y2, x2, class, score", f"{MASK}; Mask_RCNN of Matterport, DetectionLayer")(lambda draw, _: detections(draw, False))
formula("GenerateDetection_TRT", "1", "as DetectionLayer_TRT in pixels, with the weights 10 and 5",
        f"{MASK}; tensorflow/tpu, detection, generate_detections")(lambda draw, _: detections(draw, True))
