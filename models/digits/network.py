# SPDX-License-Identifier: Apache-2.0
"""Layers of a small convolutional network in plain numpy, forward and backward, and Adam.

Activations are [N, H, W, C], convolution weights [kernel * kernel * C_in, C_out]; `export.py` turns them to the
[C_out, C_in, kernel, kernel] of ONNX and Caffe. Each layer keeps from `forward` what its `backward` needs.
"""
import numpy as np


class Parameter:
    def __init__(self, value):
        self.value = value.astype(np.float32)
        self.gradient = np.zeros_like(self.value)
        self.mean = np.zeros_like(self.value)
        self.square = np.zeros_like(self.value)


class Layer:
    def parameters(self):
        return [p for p in vars(self).values() if isinstance(p, Parameter)]


class Convolution(Layer):
    """Square kernel, stride 1, zero padding that keeps height and width; no bias (a BatchNorm follows)."""

    def __init__(self, c_in, c_out, kernel, random):
        self.kernel = kernel
        fan_in = kernel * kernel * c_in
        self.weight = Parameter(random.normal(0.0, np.sqrt(2.0 / fan_in), (fan_in, c_out)))

    def columns(self, x):
        if self.kernel == 1:
            return x.reshape(-1, x.shape[3])
        n, h, w, c = x.shape
        pad = self.kernel // 2
        padded = np.zeros((n, h + 2 * pad, w + 2 * pad, c), x.dtype)
        padded[:, pad:-pad, pad:-pad] = x
        out = np.empty((n, h, w, self.kernel * self.kernel, c), x.dtype)
        for k in range(self.kernel * self.kernel):
            row, column = divmod(k, self.kernel)
            out[:, :, :, k] = padded[:, row:row + h, column:column + w]
        return out.reshape(n * h * w, -1)

    def forward(self, x, training):
        cols = self.columns(x)
        if training:
            self.cols, self.shape = cols, x.shape
        return (cols @ self.weight.value.astype(x.dtype)).reshape(*x.shape[:3], -1)

    def backward(self, g):
        flat = g.reshape(-1, g.shape[3])
        self.weight.gradient = self.cols.T @ flat
        n, h, w, c = self.shape
        cols = flat @ self.weight.value.T
        if self.kernel == 1:
            return cols.reshape(self.shape)
        pad = self.kernel // 2
        cols = cols.reshape(n, h, w, self.kernel * self.kernel, c)
        padded = np.zeros((n, h + 2 * pad, w + 2 * pad, c), g.dtype)
        for k in range(self.kernel * self.kernel):
            row, column = divmod(k, self.kernel)
            padded[:, row:row + h, column:column + w] += cols[:, :, :, k]
        return padded[:, pad:-pad, pad:-pad]


class BatchNorm(Layer):
    EPSILON = 1e-5

    def __init__(self, channels):
        self.scale = Parameter(np.ones(channels))
        self.shift = Parameter(np.zeros(channels))
        self.running_mean = np.zeros(channels, np.float32)
        self.running_variance = np.ones(channels, np.float32)

    def forward(self, x, training):
        if not training:
            factor = self.scale.value / np.sqrt(self.running_variance + self.EPSILON)
            return (x - self.running_mean) * factor + self.shift.value
        mean, variance = x.mean(axis=(0, 1, 2)), x.var(axis=(0, 1, 2))
        self.running_mean += np.float32(0.02) * (mean - self.running_mean)
        self.running_variance += np.float32(0.02) * (variance - self.running_variance)
        self.inverse = 1.0 / np.sqrt(variance + self.EPSILON)
        self.normal = (x - mean) * self.inverse
        return self.normal * self.scale.value + self.shift.value

    def backward(self, g):
        self.scale.gradient = (g * self.normal).sum(axis=(0, 1, 2))
        self.shift.gradient = g.sum(axis=(0, 1, 2))
        count = g.size // g.shape[3]
        return (self.scale.value * self.inverse) * (
            g - self.shift.gradient / count - self.normal * (self.scale.gradient / count))


class Relu(Layer):
    def forward(self, x, training):
        if training:
            self.positive = x > 0
        return np.maximum(x, 0)

    def backward(self, g):
        return g * self.positive


class MaxPool(Layer):
    """Window 2, stride 2."""

    def forward(self, x, training):
        n, h, w, c = x.shape
        windows = x.reshape(n, h // 2, 2, w // 2, 2, c)
        out = windows.max(axis=(2, 4))
        if training:
            self.first = windows == out[:, :, None, :, None]
        return out

    def backward(self, g):
        spread = self.first * g[:, :, None, :, None]
        n, h, _, w, _, c = spread.shape
        return spread.reshape(n, h * 2, w * 2, c)


class GlobalAveragePool(Layer):
    def forward(self, x, training):
        self.shape = x.shape
        return x.mean(axis=(1, 2))

    def backward(self, g):
        n, h, w, c = self.shape
        return np.broadcast_to(g[:, None, None] / np.float32(h * w), self.shape)


class Dense(Layer):
    def __init__(self, c_in, c_out, random):
        self.weight = Parameter(random.normal(0.0, np.sqrt(1.0 / c_in), (c_in, c_out)))
        self.bias = Parameter(np.zeros(c_out))

    def forward(self, x, training):
        self.x = x
        return x @ self.weight.value.astype(x.dtype) + self.bias.value

    def backward(self, g):
        self.weight.gradient, self.bias.gradient = self.x.T @ g, g.sum(axis=0)
        return g @ self.weight.value.T


class Sequence(Layer):
    def __init__(self, *layers):
        self.layers = layers

    def parameters(self):
        return [p for layer in self.layers for p in layer.parameters()]

    def forward(self, x, training):
        for layer in self.layers:
            x = layer.forward(x, training)
        return x

    def backward(self, g):
        for layer in reversed(self.layers):
            g = layer.backward(g)
        return g


class Residual(Layer):
    """relu(x + body(x))"""

    def __init__(self, body):
        self.body, self.relu = body, Relu()

    def parameters(self):
        return self.body.parameters()

    def forward(self, x, training):
        return self.relu.forward(x + self.body.forward(x, training), training)

    def backward(self, g):
        g = self.relu.backward(g)
        return g + self.body.backward(g)


def digits_network(random):
    """[N, 28, 28, 1] -> [N, 10] logits."""

    def block(c_in, c_out, kernel=3):
        return [Convolution(c_in, c_out, kernel, random), BatchNorm(c_out)]

    return Sequence(
        *block(1, 16, 5), Relu(), MaxPool(),
        *block(16, 32), Relu(), MaxPool(),
        Residual(Sequence(*block(32, 32), Relu(), *block(32, 32))),
        *block(32, 64), Relu(),
        GlobalAveragePool(), Dense(64, 10, random))


def softmax(logits):
    shifted = np.exp(logits - logits.max(axis=1, keepdims=True))
    return shifted / shifted.sum(axis=1, keepdims=True)


class Adam:
    def __init__(self, parameters):
        self.parameters, self.step = parameters, 0

    def update(self, rate, decay=1e-4):
        self.step += 1
        for p in self.parameters:
            p.mean += 0.1 * (p.gradient - p.mean)
            p.square += 0.001 * (p.gradient**2 - p.square)
            mean = p.mean / (1 - 0.9**self.step)
            square = p.square / (1 - 0.999**self.step)
            p.value -= (rate * (mean / (np.sqrt(square) + 1e-8) + decay * p.value)).astype(np.float32)
