#include "support/loose_delta.h"

#include <stdexcept>

#include "pack/pack_format.h"
#include "pack/plain_format.h"
#include "wdelta.h"

namespace wdelta {

namespace {

template <class T>
T Must(Result<T> result) {
  if (!result.ok()) throw std::runtime_error(result.error().message);
  return std::move(*result);
}

void PutRaw(ByteWriter& out, ByteSpan content) {
  out.Varint(content.size());
  out.Fixed<uint8_t>(0);
  out.Raw(content);
}

Bytes TakeStream(ByteReader& in) {
  return Must(TakeByteStream(in, kMaxIndexBytes));
}

struct OpenSection {
  uint8_t type = 0;
  size_t at = 0, body = 0, length = 0;
};

// The sections of a pack from its header on, as far as they make sense.
std::vector<OpenSection> Sections(ByteSpan pack) {
  std::vector<OpenSection> sections;
  for (size_t at = kPackHeaderBytes; at < pack.size();) {
    ByteReader in(pack.subspan(at));
    const auto type = in.Fixed<uint8_t>();
    const auto length = in.Varint();
    if (!type.ok() || !length.ok() || *length > in.left()) break;
    sections.push_back({*type, at, pack.size() - in.left(), *length});
    at = sections.back().body + *length;
  }
  return sections;
}

void PutSection(ByteWriter& out, uint8_t type, ByteSpan body) {
  out.Fixed(type);
  out.Varint(body.size());
  out.Raw(body);
}

// The blocks have moved by `shift`. A place says its length and its distance from the one before, so only the first
// that is not empty changes.
Bytes ShiftPlaces(ByteSpan places, uint64_t shift) {
  ByteReader in(places);
  ByteWriter out;
  while (in.left() > 0) {
    const uint64_t bytes = Must(in.Varint());
    out.Varint(bytes);
    if (bytes == 0) continue;
    out.Varint(Fold<uint64_t>(Unfold<uint64_t>(Must(in.Varint())) + shift));
    shift = 0;
  }
  return out.Take();
}

}  // namespace

void WriteSampleDeltas(const ScratchFolder& folder) {
  MadeCheckpoint a;
  a.shards = {{"1.safetensors", {Ramp("w", 60), {"half", Dtype::kF4, {8}, {1, 2, 3, 4}}}, {}, 0},
              {"2.safetensors",
               {Ramp("gone", 3), {"d", Dtype::kF64, {2}, Bytes(16, 1)}, {"empty", Dtype::kU8, {0}, {}}},
               {},
               0}};
  a.companions["config.json"] = "{}";
  MadeCheckpoint b = a;
  b.shards[0].tensors[0].data[100] ^= 1;
  b.shards[0].tensors[1].data[3] = 9;
  b.shards[1].tensors[0] = Ramp("new", 5);
  b.shards[1].tensors[1].shape = {2, 1};
  b.companions["t/vocab.txt"] = "abc";
  WriteCheckpoint(folder, "a", a);
  WriteCheckpoint(folder, "b", b);
  const Context context{.threads = 1};
  const std::string base = folder / "a", next = folder / "b";
  Must(Pack({.inputs = {base, next}, .output = folder / "ab.wdp"}, context));
  Must(Pack({.inputs = {next}, .anchor = true, .output = folder / "anchor.wdp"}, context));
  Must(Diff({.base = base, .next = next, .output = folder / "ab.safetensors"}, context));
}

Bytes LoosenPack(ByteSpan pack) {
  ByteWriter out;
  out.Raw(pack.first(kPackHeaderBytes));
  uint64_t shift = 0;
  for (const OpenSection& section : Sections(pack)) {
    const ByteSpan body = pack.subspan(section.body, section.length);
    ByteWriter loose;
    if (section.type == kLayoutSection) {
      ByteReader in(body);
      PutRaw(loose, TakeStream(in));
    } else if (section.type == kIndexSection) {
      ByteReader in(body.subspan(8));
      loose.Fixed<uint64_t>(0);
      PutRaw(loose, TakeStream(in));
      PutRaw(loose, ShiftPlaces(TakeStream(in), shift));
    } else {
      loose.Raw(body);
    }
    PutSection(out, section.type, loose.bytes());
    if (section.type == kLayoutSection) shift = out.bytes().size() - (section.body + section.length);
  }
  Bytes sealed = out.Take();
  SealPack(sealed);
  return sealed;
}

void SealPack(MutableByteSpan pack) {
  uint64_t index_at = 0;
  for (const OpenSection& section : Sections(pack)) {
    const MutableByteSpan body = pack.subspan(section.body, section.length);
    if (section.type == kBlockSection && body.size() >= 4) {
      Store(body.data(), static_cast<uint32_t>(ShortDigest(DigestBlock(body.subspan(4)))));
    }
    if (section.type == kIndexSection && body.size() >= 8) {
      Store(body.data(), ShortDigest(DigestBlock(body.subspan(8))));
    }
    if (section.type == kIndexSection) index_at = section.at;
    if (section.type == kEndSection && body.size() == kEndBodyBytes) {
      Store<uint64_t>(body.data(), index_at);
      Store<uint64_t>(body.data() + 8, section.at);
      const Sha256Digest sha256 = DigestSha256(pack.first(section.at));
      std::copy(sha256.begin(), sha256.end(), body.begin() + 16);
    }
  }
}

Bytes LoosenPlainDelta(Bytes plain) {
  const uint64_t json_bytes = Load<uint64_t>(plain.data());
  const SafetensorsHeader header = Must(SafetensorsHeader::Parse(
      Bytes(plain.begin(), plain.begin() + static_cast<ptrdiff_t>(8 + json_bytes)), plain.size(), ""));
  std::vector<NewTensor> tensors;
  Bytes data;
  for (size_t i = 0; i < header.tensor_count(); ++i) {
    const TensorEntry entry = header.tensor(i);
    const ByteSpan content = ByteSpan(plain).subspan(8 + json_bytes + entry.begin, entry.end - entry.begin);
    NewTensor tensor{std::string(entry.name), entry.dtype, {entry.shape.begin(), entry.shape.end()}};
    ByteWriter loose;
    if (entry.name == kPlainLayout || entry.name == kPlainIndex) {
      ByteReader in(content);
      PutRaw(loose, TakeStream(in));
      tensor.shape = {loose.bytes().size()};
    } else {
      loose.Raw(content);
    }
    data.insert(data.end(), loose.bytes().begin(), loose.bytes().end());
    tensors.push_back(std::move(tensor));
  }
  std::vector<std::pair<std::string, std::string>> metadata;
  header.ForEachMetadata([&](std::string_view key, std::string_view value) {
    metadata.emplace_back(key, value);
    return true;
  });
  Bytes file = Must(EncodeSafetensorsHeader(tensors, metadata));
  file.insert(file.end(), data.begin(), data.end());
  return file;
}

}  // namespace wdelta
