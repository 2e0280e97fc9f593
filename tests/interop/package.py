"""The official safetensors package, spoken to in plain bytes and in numpy arrays."""

import ctypes
import random

import numpy
import safetensors
import safetensors.numpy

# Every dtype that the package writes -> its name in a file, and the bits of an element.
DTYPES = {"bool": ("BOOL", 8), "uint8": ("U8", 8), "int8": ("I8", 8), "uint16": ("U16", 16), "int16": ("I16", 16),
          "uint32": ("U32", 32), "int32": ("I32", 32), "uint64": ("U64", 64), "int64": ("I64", 64),
          "float16": ("F16", 16), "bfloat16": ("BF16", 16), "float32": ("F32", 32), "float64": ("F64", 64),
          "complex64": ("C64", 64), "float8_e4m3fn": ("F8_E4M3", 8), "float8_e4m3fnuz": ("F8_E4M3FNUZ", 8),
          "float8_e5m2": ("F8_E5M2", 8), "float8_e5m2fnuz": ("F8_E5M2FNUZ", 8), "float8_e8m0fnu": ("F8_E8M0", 8),
          "float4_e2m1fn_x2": ("F4", 4)}
# The dtypes that numpy has too.
NUMPY = [name for name in DTYPES if hasattr(numpy, name)]


def write(path, tensors, metadata=None):
    """tensors: {name: (dtype of the package, shape, bytes)}."""
    buffers = {name: ctypes.create_string_buffer(data, max(len(data), 1)) for name, (_, _, data) in tensors.items()}
    specs = {name: safetensors.TensorSpec(dtype=dtype, shape=list(shape), data_ptr=ctypes.addressof(buffers[name]),
                                          data_len=len(data)) for name, (dtype, shape, data) in tensors.items()}
    with open(path, "wb") as file:
        file.write(safetensors.serialize(specs, metadata))


def read(path):
    """{name: (dtype in the file, shape, bytes)}, as the package finds it."""
    with open(path, "rb") as file:
        found = safetensors.deserialize(file.read())
    return {name: (one["dtype"], tuple(one["shape"]), bytes(one["data"])) for name, one in found}


def metadata(path):
    with safetensors.safe_open(path, framework="numpy") as file:
        return file.metadata()


def arrays(path):
    return safetensors.numpy.load_file(path)


def same(one, two):
    """Whether two arrays are the same, bit for bit."""
    return one.dtype == two.dtype and one.shape == two.shape and one.tobytes() == two.tobytes()


def every_dtype(seed=1):
    """{name: (dtype, shape, bytes)} twice: a tensor of each dtype, and the same with some elements changed."""
    chance, before, after = random.Random(seed), {}, {}
    for dtype, (_, bits) in DTYPES.items():
        data = chance.randbytes(40 * max(bits, 8) // 8)
        if dtype == "bool":
            data = bytes(byte & 1 for byte in data)
        changed = bytearray(data)
        for at in (0, 11, len(data) - 1):
            changed[at] ^= 1
        before["t." + dtype] = (dtype, (8, 5), data)  # of 4 bits, two are one in this shape
        after["t." + dtype] = (dtype, (8, 5), bytes(changed))
    return before, after
