"""Models as plain data that can be compared with golden files: by any version of the format, on any processor."""

import base64
import json
import zlib

import numpy as np

from privet.models.files import array_to_dict, model_to_dict


def in_full(model):
    """Return a model as files of version 2 have it, with its encoding and with every entry of its tables.

    They did not have the frequencies of classes.
    """
    content = json.loads(json.dumps(model_to_dict(model)))
    content.pop("frequencies", None)
    if content.pop("runs", None) is not None:
        content |= {name: array_to_dict(getattr(model, name)) for name in ("tables", "table_noise")}
    return content


def rounded(content):
    """Return a model's content with arrays unpacked and floats to six digits: the last depend on the processor."""
    if isinstance(content, dict) and content.keys() == {"dtype", "shape", "data"}:
        array = np.frombuffer(zlib.decompress(base64.b64decode(content["data"])), np.dtype(content["dtype"]))
        return [content["dtype"], content["shape"], rounded(array.tolist())]
    if isinstance(content, dict):
        return {name: rounded(part) for name, part in content.items()}
    if isinstance(content, list):
        return [rounded(part) for part in content]
    return f"{content:.6g}" if isinstance(content, float) else content
