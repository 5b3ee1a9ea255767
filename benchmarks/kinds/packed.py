# SPDX-License-Identifier: Apache-2.0
"""Networks exported without their weights, which a module of the same network gives back on another machine.

Nothing is folded, so that each weight keeps the module's name for it; Tenon folds what the exporter would have.
"""
import lzma

SMALL = 256  # elements; what is smaller stays in the file


def export(module, inputs, path, folding=True):
    import torch
    names = [f"input{k}" for k in range(len(inputs))]
    more = {} if folding else {"do_constant_folding": False, "training": torch.onnx.TrainingMode.PRESERVE}
    torch.backends.mha.set_fastpath_enabled(False)  # one operation, which ONNX does not know
    with torch.no_grad():
        torch.onnx.export(module, inputs, str(path), dynamo=False, opset_version=17, input_names=names, **more)
    torch.backends.mha.set_fastpath_enabled(True)
    return names


def pack(module, inputs, path):
    """Writes the network without its weights."""
    import onnx
    whole = path.with_suffix(".whole")
    export(module, inputs, whole, folding=False)
    model, named = onnx.load(whole), module.state_dict()
    whole.unlink()
    for tensor in model.graph.initializer:
        own = named.get(tensor.name)
        if own is not None and own.numel() > SMALL and list(own.shape) == list(tensor.dims):
            tensor.ClearField("raw_data")
    del model.graph.value_info[:]
    for node in model.graph.node:  # where in the module's source it stood
        node.ClearField("doc_string")
        del node.metadata_props[:]
    path.write_bytes(lzma.compress(model.SerializeToString()))


def unpack(packed, module, path):
    """Writes the network of a packed file with the module's weights."""
    import onnx
    model, named = onnx.load_from_string(lzma.decompress(packed.read_bytes())), module.state_dict()
    for tensor in model.graph.initializer:
        own = named.get(tensor.name)
        if own is not None and own.numel() > SMALL and not tensor.raw_data:
            tensor.raw_data = own.detach().cpu().contiguous().numpy().tobytes()
    onnx.save(model, path)
