# SPDX-License-Identifier: Apache-2.0
"""The models that measurements are made on, and the extents that their dynamic inputs get."""
import os
import pathlib

ROOT = pathlib.Path(__file__).resolve().parent.parent
DEFAULT_FOLDER = pathlib.Path(os.environ.get("TENON_MODELS", ROOT.parent / "shared/models"))
# What a dynamic extent becomes, by model and input; elsewhere 1.
EXTENTS = {
    "cls_ppocr_textline_orientation": {"*": (1, 3, 48, 192)},
    "det_yunet_n_dynamic_face": {"*": (1, 3, 320, 320)},
    "det_retinaface_mbnet025_dynamic": {"*": (1, 3, 320, 320)},
    "ocr_ppocr_v3_text_det": {"*": (1, 3, 320, 320)},
    "vad_silero_v6_op18_ifless": {"input": (1, 576), "state": (2, 1, 128), "sr": ()},
    "vad_silero_v5_if_lstm": {"input": (1, 576), "state": (2, 1, 128), "sr": ()},
    "vad_silero_v2_micro_attention": {"*": (1, 4000)},
    "tts_openutau_mel_stft_if": {"f0": (1, 64), "sp_env": (1, 64, 1025), "ap": (1, 64, 1025)},
    "cf_ort_scan_1": {"*": (5, 1, 3)},
}
# What an integer input holds; elsewhere 0.
NUMBERS = {"vad_silero_v6_op18_ifless": {"sr": 16000}, "vad_silero_v5_if_lstm": {"sr": 16000}}
# The models whose networks have loops, conditionals or sizes that their data decide.
PROGRAMS = ("cf_ort_scan_1", "det_pinto_nms_postprocess", "tts_openutau_mel_stft_if", "vad_silero_v2_micro_attention",
            "vad_silero_v5_if_lstm", "vad_silero_v6_op18_ifless")


def find_models(folder, every=False, only=""):
    """The foundation set: models whose row in the folder's INDEX.md begins with F. With `every`, or without that file, the
    shipped model and all *.onnx below the folder. `only`: texts, one of which the name contains, with commas between."""
    index = folder / "INDEX.md"
    if index.is_file() and not every:
        rows = [line for line in index.read_text().splitlines() if line.startswith("| F |")]
        found = [path for row in rows for path in sorted(folder.glob(row.split("|")[2].strip().split(" ")[0]))]
    else:
        found = [ROOT / "models/digits/digits.onnx", *(sorted(folder.rglob("*.onnx")) if folder.is_dir() else [])]
    return [path for path in found if any(text in path.stem for text in only.split(","))]


def shapes_flag(model):
    """The flag of trtexec for a model whose extents above are not 1."""
    extents = EXTENTS.get(model, {})
    shapes = [f"{name}:{'x'.join(map(str, shape))}" for name, shape in extents.items()]
    return ["--shapes=" + ",".join(shapes)] if shapes else []
