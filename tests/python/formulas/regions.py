# SPDX-License-Identifier: Apache-2.0
"""Regions of feature maps, sampled to grids of one size."""
import numpy as np

from formulas.table import FP32_MARGIN, Case, between, formula


def grid(region, rows, columns):
    """Places of a grid's samples: two vectors, as the matrices that sampling takes."""
    return np.meshgrid(rows(region[0], region[2]), columns(region[1], region[3]), indexing="ij")


def crops(draw, *_):
    draw.margin = FP32_MARGIN  # places are computed in FP32
    image, boxes = draw.real(2, 3, 6, 5), draw.real(2, 4, 4, low=-0.25, high=1.25)
    for height, width in ((3, 4), (1, 2), (2, 1)):
        y = np.zeros((2, 4, 3, height, width))
        for n, b in np.ndindex(2, 4):
            first, second = boxes[n, b, :2], boxes[n, b, 2:]
            places = []
            for count, begin, end, last in ((height, first[0], second[0], 5), (width, first[1], second[1], 4)):
                places.append(np.linspace(begin, end, count) * last if count > 1 else np.array([(begin + end) / 2 * last]))
            row, column = np.meshgrid(*places, indexing="ij")
            inside = (row >= 0) & (row <= 5) & (column >= 0) & (column <= 4)
            # Extrapolated places are 0, as near to the border as they may be.
            draw.above(np.concatenate([row.ravel(), column.ravel()]), 0)
            draw.above(row, 5)
            draw.above(column, 4)
            y[n, b] = between(image[n], np.where(inside, row, 0), np.where(inside, column, 0)) * inside
        yield Case({"crop_width": width, "crop_height": height}, [image, boxes[..., None]], [y])


CROP = ("places linear from one end of a box to the other, the middle for one place; linear between pixels, 0 outside",
        "TensorFlow, tf.image.crop_and_resize (bilinear)")
formula("CropAndResize", "1", *CROP)(crops)
formula("CropAndResizeDynamic", "1 2", *CROP)(crops)


def aligned(image, region, size, ratio, mean):
    """One region [y1, x1, y2, x2] of an image [C, H, W], by the mean of samples or their greatest weighted corner."""
    height, width = image.shape[1:]
    steps = [(region[2] - region[0]) / size[0], (region[3] - region[1]) / size[1]]
    counts = [ratio if ratio > 0 else int(np.ceil(step)) for step in steps]
    result = np.zeros((len(image), *size))
    if min(counts) == 0:
        return result
    for i, j in np.ndindex(*size):
        row, column = np.meshgrid(region[0] + steps[0] * (i + (np.arange(counts[0]) + 0.5) / counts[0]),
                                  region[1] + steps[1] * (j + (np.arange(counts[1]) + 0.5) / counts[1]), indexing="ij")
        valid = (row >= -1) & (row <= height) & (column >= -1) & (column <= width)
        row, column = np.clip(row, 0, height - 1), np.clip(column, 0, width - 1)
        if mean:
            result[:, i, j] = (between(image, row, column) * valid).mean((1, 2))
            continue
        top, left = np.floor(row).astype(int), np.floor(column).astype(int)
        corners = []
        for down, across in np.ndindex(2, 2):
            pixel = image[:, np.minimum(top + down, height - 1), np.minimum(left + across, width - 1)]
            weight = np.abs(1 - down - (row - top)) * np.abs(1 - across - (column - left))
            corners.append(weight * pixel * valid)
        result[:, i, j] = np.max(corners, (0, 2, 3))
    return result


@formula("ROIAlign_TRT", "1 2", "the mean or the maximum of samples_h x samples_w linear samples of each cell; the maximum is over the "
         "four weighted corners of all samples", "He et al. 2017, arXiv:1703.06870, 3; ONNX RoiAlign")
def roi_align(draw, _):
    image = draw.real(2, 2, 7, 9)
    for half in (0, 1):
        for mean in (0, 1):
            for ratio in (0, 2):
                boxes, batch = draw.boxes(5, size=20), draw.whole(5, low=0, high=1)
                ends = boxes[:, [1, 0, 3, 2]] * 0.5 - (0.5 if half else 0)
                if not half:  # a region is at least a pixel wide
                    ends[:, 2:] = np.maximum(ends[:, 2:], ends[:, :2] + 1)
                y = np.stack([aligned(image[n], region, (2, 3), ratio, mean) for n, region in zip(batch, ends)])
                yield Case({"coordinate_transformation_mode": half, "mode": mean, "output_height": 2, "output_width": 3,
                            "sampling_ratio": ratio, "spatial_scale": 0.5}, [image, boxes, batch], [y])


@formula("MultilevelCropAndResize_TRT", "1", "the level by the area, 2 + log2(sqrt(w h) / 112) cut to 2 .. 6; one linear sample in "
         "the middle of each cell", "Lin et al. 2016, arXiv:1612.03144, (1); He et al. 2017, arXiv:1703.06870")
def multilevel_crop(draw, _):
    draw.margin = FP32_MARGIN  # places are computed in FP32
    height, width, size, count = 256, 512, 3, 9
    boxes = draw.boxes(1, count, size=256)
    boxes[0, :4] = draw.held(boxes[0, :4] / 8)  # small ones too
    boxes[0, 8, 0] = -1  # leaves the image
    maps = [draw.real(1, 2, height >> level, width >> level) for level in range(2, 7)]
    y = np.zeros((1, count, 2, size, size))
    for r, (y1, x1, y2, x2) in enumerate(boxes[0]):
        if y1 < 0 or x1 < 0 or y2 > height or x2 > width or y1 >= y2 or x1 >= x2:
            continue
        sides = np.sqrt((y2 - y1) * (x2 - x1))
        level = sum(bool(draw.above(sides, 112.0 * 2**i)) for i in range(4))
        image, scale = maps[level][0], 0.25 / 2**level
        places = [np.clip((a + (b - a) * (np.arange(size) + 0.5) / size) * scale, 0, extent - 1)
                  for a, b, extent in ((y1, y2, image.shape[1]), (x1, x2, image.shape[2]))]
        y[0, r] = between(image, *np.meshgrid(*places, indexing="ij"))
    yield Case({"pooled_size": size, "image_size": np.array([3, height, width], np.int32)}, [boxes, *maps], [y])


def pyramid_places(begin, end, pixels, settings):
    """Sample places of one axis by cell: [size, samples]."""
    transform, ratio, size = settings["roi_coords_transform"], settings["sampling_ratio"], settings["pooled_size"]
    scale, shift = (pixels - 1 if transform == -1 else pixels), (0.5 if transform == 2 else 0)
    begin, end = begin * scale - shift, end * scale - shift
    step = (end - begin) / (size - 1 if transform == -1 else size)
    samples = ratio if ratio > 0 else max(1, int(np.ceil((end - begin) / size)))
    within = (np.arange(samples) + (0.5 if transform >= 1 else 0)) / samples
    return np.clip(begin + step * (np.arange(size)[:, None] + within), 0, pixels - 1)


def pyramid_region(draw, maps, box, settings):
    """One region, ends from 0 to 1, of the map that its area chooses."""
    height, width = settings["image_size"]
    longer = np.array([1 / height, 1 / width]) if settings["roi_coords_plusone"] else 0
    side = np.sqrt(np.prod(box[2:] - box[:2] + longer) * height * width)
    level = sum(bool(draw.above(side / settings["fpn_scale"], 0.5 * 2**i)) for i in range(3))
    image = maps[level]
    rows = pyramid_places(box[0], box[2], image.shape[1], settings)
    columns = pyramid_places(box[1], box[3], image.shape[2], settings)
    size = settings["pooled_size"]
    y = np.zeros((len(image), size, size))
    for i, j in np.ndindex(size, size):
        y[:, i, j] = between(image, *np.meshgrid(rows[i], columns[j], indexing="ij")).mean((1, 2))
    return y


@formula("PyramidROIAlign_TRT", "1", "the level by the area, 4 + log2(sqrt(w h) / fpn_scale) rounded and cut to 2 .. 5; the mean of "
         "linear samples of each cell", "Lin et al. 2016, arXiv:1612.03144, (1); He et al. 2017, arXiv:1703.06870; Mask_RCNN of Matterport")
def pyramid_roi_align(draw, _):
    draw.margin = FP32_MARGIN  # places are computed in FP32
    for number in range(8):
        legacy = number == 7
        settings = {"fpn_scale": 56, "pooled_size": 2, "image_size": np.array([128, 256], np.int32), "legacy": int(legacy),
                    "roi_coords_absolute": int(number % 2 == 0), "roi_coords_swap": int(number % 3 == 0),
                    "roi_coords_plusone": int(number == 4), "roi_coords_transform": number % 3, "sampling_ratio": number // 3}
        height, width = 128, 256
        boxes = draw.real(2, 6, 4, low=-0.1, high=1.1)
        if settings["roi_coords_absolute"]:
            boxes = draw.held(boxes * 128)
        maps = [draw.real(2, 2, 16 >> level, 32 >> level) for level in range(4)]
        rules = dict(settings)
        if legacy:  # as the first release had it: an image of 1024 x 1024, ends y first, corners onto corners
            rules.update(roi_coords_absolute=0, roi_coords_swap=1, roi_coords_plusone=0, roi_coords_transform=-1, sampling_ratio=1)
        ends = boxes if rules["roi_coords_swap"] else boxes[..., [1, 0, 3, 2]]
        sides = np.array([height, width] * 2) if rules["roi_coords_absolute"] else 1.0
        ends = np.concatenate([np.minimum(ends[..., :2], ends[..., 2:]), np.maximum(ends[..., :2], ends[..., 2:])], -1)
        ends = np.clip(ends / sides, 0, 1)
        if legacy:
            rules.update(image_size=(1024, 1024), fpn_scale=224 * np.sqrt(2) / 2)
        y = np.zeros((2, 6, 2, 2, 2))
        for n, r in np.ndindex(2, 6):
            y[n, r] = pyramid_region(draw, [image[n] for image in maps], ends[n, r], rules)
        yield Case(settings, [boxes, *maps], [y], 1e-3)
