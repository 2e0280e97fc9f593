"""The bytes that the descriptions of the formats give for their worked example, beside those that are made here."""

import json
import struct

import canonical
import grail
import skyrl
import trl
from canonical_vectors import SHARD
from frames import adler32_text, frame_facts, xor, xxh3_text
from skyrl_vectors import PAYLOAD
from vector import EXAMPLE, EXAMPLE_FRAME, EXAMPLE_RESULT

OLD, NEW = EXAMPLE.tensors()[0].data, EXAMPLE_RESULT.tensors()[0].data
CANONICAL = canonical.build(EXAMPLE, EXAMPLE_RESULT, frames={"w": EXAMPLE_FRAME})
SKYRL = skyrl.build(EXAMPLE, EXAMPLE_RESULT, frames={"w": EXAMPLE_FRAME})
HEADER = (b'{"__metadata__":{"w":"ac47d91ff0d6d1ed1303fcd0f5a12d50"},'
          b'"w":{"dtype":"U8","shape":[22],"data_offsets":[0,22]}} ')


def trl_lists(form):
    patch = trl.build(EXAMPLE, EXAMPLE_RESULT, form)
    return {tensor.name: (tensor.dtype, tensor.data.hex(" ")) for tensor in patch.tensors}


# (sentence, what is made, what is given)
BYTES = (
    ("the example's adler32 is that of the description", adler32_text(NEW), "355e067a"),
    ("the example's xxh3-128 is that of the description", xxh3_text(NEW), "ac47d91ff0d6d1ed1303fcd0f5a12d50"),
    ("the example's xor is that of the description", xor(OLD, NEW).hex(" "),
     "00 00 01 00 00 00 00 00 00 00 00 00 00 80 00 00"),
    ("the example's overwrite is that of the description", canonical.overwrite_content(OLD, NEW).hex(" "),
     "02 00 00 00 02 00 00 00 0d 00 00 00 81 bf"),
    ("the example's frame states 16 bytes and no dictionary", frame_facts(EXAMPLE_FRAME), (16, 4, 0)),
    ("the example's canonical shard is that of the description", CANONICAL.shard(SHARD),
     struct.pack("<Q", 112) + HEADER + EXAMPLE_FRAME),
    ("the example's canonical shard has 142 bytes", len(CANONICAL.shard(SHARD)), 142),
    ("the example's canonical index is that of the description", CANONICAL.index().decode(),
     '{"metadata":{"version":"000001","base_version":"000000","delta_encoding":"xor","compression_format":"zstd",'
     '"checksum_format":"xxh3-128"},"weight_map":{"w":"model-00000-of-00001.safetensors"}}'),
    ("the example's TRL v1 data are those of the description",
     trl.build(EXAMPLE, EXAMPLE_RESULT, "v1").data().hex(" "), "01 00 00 00 06 00 00 00 81 3f 80 bf"),
    ("the example's TRL gap_delta is that of the description", trl_lists("gap_delta"),
     {"w.val": ("BF16", "81 3f 80 bf"), "w.idx": ("U16", "01 00 04 00")}),
    ("the example's SkyRL record is that of the description",
     json.dumps(SKYRL.record("w"), separators=(",", ":")),
     '{"name":"w","dtype":"bfloat16","shape":[2,4],"uncompressed_num_bytes":16,"compressed_num_bytes":22,'
     '"payload_file":"delta-rank00000-file000000.safetensors","payload_key":"w",'
     '"checksum":"ac47d91ff0d6d1ed1303fcd0f5a12d50","checksum_algorithm":"xxh3-128"}'),
    ("the example's SkyRL payload has 86 bytes", len(SKYRL.payload(PAYLOAD)), 86),
    ("the example's grail data are those of the description", grail.build(EXAMPLE, EXAMPLE_RESULT).data().hex(" "),
     "00 01 01 00 02 00 81 3f 80 bf"),
)
