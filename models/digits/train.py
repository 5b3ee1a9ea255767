#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains the digits model from pictures it renders itself and writes all files of this folder that are data.

    python3 train.py [--seed 1] [--epochs 7] [--pictures 40000] [--mnist FOLDER] [--output FOLDER]

Needs numpy and onnx; onnxruntime, where installed, checks the file against the numpy forward pass.
"""
import argparse
import gzip
import json
import pathlib
import time

import numpy as np

import export
import network as net
import render

HELD_OUT = 10000
BATCH = 100


def scaled(images):
    """Pictures as the network takes them: float in 0..1, ink high, [N, 28, 28, 1]."""
    return images.astype(np.float32)[..., None] / np.float32(255.0)


def train(network, images, labels, epochs, random):
    adam = net.Adam(network.parameters())
    steps_in_all, done = epochs * (len(images) // BATCH), 0
    for epoch in range(epochs):
        begin, loss, right = time.time(), 0.0, 0
        order = random.permutation(len(images))
        for k in range(len(images) // BATCH):
            chosen = order[k * BATCH:(k + 1) * BATCH]
            answer = labels[chosen]
            probability = net.softmax(network.forward(scaled(images[chosen]), True))
            loss -= np.log(probability[np.arange(BATCH), answer] + 1e-12).mean()
            right += (probability.argmax(axis=1) == answer).sum()
            probability[np.arange(BATCH), answer] -= 1.0
            network.backward(probability / np.float32(BATCH))
            # One cosine from the first step to the last.
            adam.update(2e-3 * (0.51 + 0.49 * np.cos(np.pi * done / steps_in_all)))
            done += 1
        seen = (k + 1) * BATCH
        print(f"epoch {epoch + 1}: loss {loss / (k + 1):.4f}, right {100.0 * right / seen:.2f} %, "
              f"{time.time() - begin:.0f} s", flush=True)


def accuracy(network, images, labels):
    right = 0
    for k in range(0, len(images), 500):
        logits = network.forward(scaled(images[k:k + 500]), False)
        right += int((logits.argmax(axis=1) == labels[k:k + 500]).sum())
    return right / len(images)


def mnist(folder):
    with gzip.open(folder / "t10k-images-idx3-ubyte.gz") as file:
        images = np.frombuffer(file.read(), np.uint8, offset=16).reshape(-1, 28, 28)
    with gzip.open(folder / "t10k-labels-idx1-ubyte.gz") as file:
        return images, np.frombuffer(file.read(), np.uint8, offset=8)


def write_pgm(path, image):
    path.write_bytes(b"P5\n%d %d\n255\n" % (image.shape[1], image.shape[0]) + image.tobytes())


def write_samples(network, images, labels, folder):
    """One held-out picture of each digit, and what the network says of the ten, computed in double."""
    folder.joinpath("samples").mkdir(exist_ok=True)
    chosen = images[[int(np.flatnonzero(labels == digit)[3]) for digit in range(10)]]
    for digit, image in enumerate(chosen):
        write_pgm(folder / "samples" / f"{digit}.pgm", image)
    logits = network.forward(scaled(chosen).astype(np.float64), False)
    golden = {"inputs": "samples/<k>.pgm, each value divided by 255", "tolerance": 1e-4,
              "logits": np.round(logits, 7).tolist(), "probabilities": np.round(net.softmax(logits), 9).tolist()}
    folder.joinpath("golden.json").write_text(json.dumps(golden, indent=1) + "\n")
    return chosen, net.softmax(logits)


def check_with_onnxruntime(path, images, expected):
    try:
        import onnxruntime
    except ImportError:
        return None
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    answer = session.run(None, {export.INPUT: scaled(images).transpose(0, 3, 1, 2)})[0]
    difference = float(np.abs(answer - expected).max())
    if difference > 1e-5:
        raise SystemExit(f"{path}: onnxruntime differs from the numpy forward pass by {difference}, expected 1e-5")
    return difference


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--epochs", type=int, default=7)
    parser.add_argument("--pictures", type=int, default=40000)
    parser.add_argument("--mnist", type=pathlib.Path, help="folder with the t10k files of MNIST, for one more figure")
    parser.add_argument("--output", type=pathlib.Path, default=pathlib.Path(__file__).parent)
    options = parser.parse_args()

    begin = time.time()
    random = np.random.default_rng(options.seed)
    images, labels = render.pictures(options.pictures, [options.seed, 0])
    held_out, held_out_labels = render.pictures(HELD_OUT, [options.seed, 1])
    print(f"rendered {len(images)} + {len(held_out)} pictures in {time.time() - begin:.0f} s", flush=True)
    network = net.digits_network(random)
    train(network, images, labels, options.epochs, random)

    report = {"seed": options.seed, "epochs": options.epochs, "pictures": options.pictures, "held_out": HELD_OUT,
              "accuracy": accuracy(network, held_out, held_out_labels),
              "parameters": sum(p.value.size for p in network.parameters()),
              "input": {"name": export.INPUT, "dimensions": ["N", 1, 28, 28], "range": [0.0, 1.0], "ink": "high"},
              "output": {"name": export.OUTPUT, "dimensions": ["N", 10]}}
    if options.mnist:
        report["mnist_t10k_accuracy"] = accuracy(network, *mnist(options.mnist))
    options.output.mkdir(parents=True, exist_ok=True)
    path = options.output / "digits.onnx"
    export.write_onnx(network, path)
    report["bytes"] = path.stat().st_size
    chosen, expected = write_samples(network, held_out, held_out_labels, options.output)
    difference = check_with_onnxruntime(path, chosen, expected)
    print(f"trained in {time.time() - begin:.0f} s; onnxruntime differs by {difference}")
    options.output.joinpath("digits.json").write_text(json.dumps(report, indent=1) + "\n")
    print(json.dumps(report, indent=1))


if __name__ == "__main__":
    main()
