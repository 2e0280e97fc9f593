// The delta folder of SkyRL: a manifest that describes each changed tensor, and payload files with its zstd frame.
#include <algorithm>
#include <map>

#include "core/text.h"
#include "foreign/foreign_parts.h"

namespace wdelta {

namespace {

constexpr const char* kManifestName = "/manifest.json";

// One entry of the manifest, as it stands there.
struct ManifestTensor {
  std::string name, dtype, payload_file, payload_key, checksum, checksum_algorithm;
  std::vector<uint64_t> shape;
  uint64_t uncompressed = 0, compressed = 0;
};

struct Manifest {
  std::optional<uint64_t> version, base_version;
  std::vector<ManifestTensor> tensors;
};

Result<ManifestTensor> ReadTensor(JsonReader& json) {
  ManifestTensor tensor;
  std::map<std::string_view, std::string*> missing = {{"name", &tensor.name},
                                                      {"dtype", &tensor.dtype},
                                                      {"checksum", &tensor.checksum},
                                                      {"checksum_algorithm", &tensor.checksum_algorithm},
                                                      {"payload_key", &tensor.payload_key},
                                                      {"payload_file", &tensor.payload_file}};
  WD_TRY(json.Object([&](std::string_view key) -> Result<> {
    if (const auto text = missing.find(key); text != missing.end()) {
      std::string& place = *text->second;
      missing.erase(text);
      return json.Into(place);
    }
    if (key == "uncompressed_num_bytes") return json.Into(tensor.uncompressed);
    if (key == "compressed_num_bytes") return json.Into(tensor.compressed);
    return key == "shape" ? ReadShape(json, tensor.shape) : json.Skip();
  }));
  if (missing.empty()) return tensor;
  return Error{ErrorKind::kIntegrity, "a tensor has no " + std::string(missing.begin()->first)};
}

Result<Manifest> ReadManifest(std::string_view text) {
  if (!ValidUtf8(AsBytes(text))) return Error{ErrorKind::kIntegrity, "its manifest is not UTF-8"};
  Manifest manifest;
  bool has_tensors = false;
  JsonReader json(text);
  WD_TRY(json.Object([&](std::string_view key) -> Result<> {
    if (key == "version") return json.Into(manifest.version);
    if (key == "base_version") return json.Into(manifest.base_version);
    if (key != "tensors") return json.Skip();
    has_tensors = true;
    return json.Array([&]() -> Result<> {
      WD_ASSIGN(manifest.tensors.emplace_back(), ReadTensor(json));
      return {};
    });
  }));
  WD_TRY(json.End());
  if (!manifest.version || !manifest.base_version || !has_tensors)
    return Error{ErrorKind::kIntegrity, "its manifest lacks versions or tensors"};
  std::ranges::sort(manifest.tensors, {}, &ManifestTensor::name);
  return manifest;
}

// Where the tensors lie in a payload file.
using Payload = std::map<std::string, FileRange, std::less<>>;

class Skyrl final : public ForeignDelta {
 public:
  Skyrl(const std::string& path, const Environment&) : ForeignDelta("SkyRL delta", path) {}

  Result<> Read() {
    WD_ASSIGN(const Bytes text, ReadWholeFile(path_ + kManifestName, kMaxHeaderBytes));
    bytes_ = text.size();
    WD_ASSIGN(const Manifest manifest, Named("", ReadManifest(AsText(text))));
    version_ = std::to_string(*manifest.version);
    base_version_ = std::to_string(*manifest.base_version);
    std::map<std::string, Payload> payloads;
    for (const ManifestTensor& entry : manifest.tensors) WD_TRY(Add(entry, payloads));
    return {};
  }

 private:
  Result<std::unique_ptr<ForeignStream>> OpenStream(size_t index, Dtype, std::span<const uint64_t>) const override {
    return XorFrame(frames_[index]);
  }

  Error Bad(const ManifestTensor& entry, const std::string& why) const {
    return Wrong("tensor '" + Shorten(entry.name) + "' " + why).OfTensor(entry.name);
  }

  Result<> Add(const ManifestTensor& entry, std::map<std::string, Payload>& payloads) {
    ForeignTensor tensor{.name = entry.name};
    if (!tensors_.empty() && tensors_.back().name == entry.name) return Bad(entry, "is there twice");
    tensor.dtype = DtypeFromTorchName(entry.dtype);
    if (!tensor.dtype) return Bad(entry, "has the unknown type '" + Shorten(entry.dtype) + "'");
    tensor.shape = entry.shape;
    if (TensorBytes(*tensor.dtype, entry.shape) != entry.uncompressed)
      return Bad(entry, "has another size than its shape");
    tensor.checksum_kind = entry.checksum_algorithm == "sha256" ? ForeignChecksum::kSha256 : ForeignChecksum::kXxh3_128;
    if (entry.checksum_algorithm != "sha256" && entry.checksum_algorithm != "xxh3-128") {
      return Refusal("its checksum_algorithm is '" + Shorten(entry.checksum_algorithm) + "'",
                     "known: xxh3-128, sha256");
    }
    tensor.checksum = entry.checksum;
    if (!IsChecksum(tensor.checksum, tensor.checksum_kind)) return Bad(entry, "has no checksum");
    if (!IsPlainShardName(entry.payload_file)) {
      return Refusal("payload '" + Shorten(entry.payload_file) + "' is not a plain file name",
                     "do not trust its sender");
    }
    if (!payloads.contains(entry.payload_file)) {
      WD_ASSIGN(payloads[entry.payload_file], ReadPayload(entry.payload_file));
    }
    const Payload& payload = payloads[entry.payload_file];
    const auto place = payload.find(entry.payload_key);
    if (place == payload.end()) return Bad(entry, "is not in '" + entry.payload_file + "'");
    const FileRange& frame = place->second;
    if (frame.end - frame.begin != entry.compressed) return Bad(entry, "has a frame of another length");
    tensors_.push_back(std::move(tensor));
    frames_.push_back(frame);
    return {};
  }

  Result<Payload> ReadPayload(const std::string& name) {
    Payload payload;
    WD_ASSIGN(File file, File::OpenForRead(path_ + "/" + name));
    WD_ASSIGN(const FileIdentity identity, file.Identify());
    bytes_ += identity.size;
    WD_ASSIGN(const SafetensorsHeader header, SafetensorsHeader::Read(file));
    const auto shared = std::make_shared<const File>(std::move(file));
    for (size_t i = 0; i < header.tensor_count(); ++i) {
      const TensorEntry entry = header.tensor(i);
      const uint64_t data = header.bytes().size();
      if (entry.dtype == Dtype::kU8)
        payload.emplace(entry.name, FileRange{shared, data + entry.begin, data + entry.end});
    }
    return payload;
  }

  std::vector<FileRange> frames_;  // beside tensors_
};

}  // namespace

bool LooksLikeSkyrl(const std::string& path) {
  const Result<Bytes> text = ReadWholeFile(path + kManifestName, kMaxHeaderBytes);
  return text.ok() && Contains(*text, "\"payload_file");
}

Result<std::unique_ptr<ForeignDelta>> OpenSkyrl(const std::string& path, const Environment& environment) {
  return OpenAs<Skyrl>(path, environment);
}

}  // namespace wdelta
