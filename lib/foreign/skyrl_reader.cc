// The delta folder of SkyRL: a manifest that describes each changed tensor, and payload files with its zstd frame.
#include <algorithm>
#include <map>

#include "core/text.h"
#include "foreign/foreign_frame.h"
#include "foreign/sparse_parts.h"

namespace wdelta {

namespace {

constexpr std::string_view kKind = "SkyRL delta";
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
  struct Field {
    std::string* text;
    bool seen = false;
  };
  std::map<std::string_view, Field> texts = {{"name", {&tensor.name}},
                                             {"dtype", {&tensor.dtype}},
                                             {"checksum", {&tensor.checksum}},
                                             {"checksum_algorithm", {&tensor.checksum_algorithm}},
                                             {"payload_key", {&tensor.payload_key}},
                                             {"payload_file", {&tensor.payload_file}}};
  WD_TRY(json.BeginObject());
  for (;;) {
    WD_ASSIGN(const std::optional<std::string_view> key, json.NextKey());
    if (!key) break;
    const auto text = texts.find(*key);
    const bool uncompressed = *key == "uncompressed_num_bytes", compressed = *key == "compressed_num_bytes";
    if (text != texts.end()) {
      Field& field = text->second;
      WD_ASSIGN(const std::string_view value, json.String());
      *field.text = value;
      field.seen = true;
    } else if (uncompressed || compressed) {
      WD_ASSIGN((uncompressed ? tensor.uncompressed : tensor.compressed), json.UnsignedInteger());
    } else if (*key == "shape") {
      WD_ASSIGN(tensor.shape, ReadShape(json));
    } else {
      WD_TRY(json.Skip());
    }
  }
  for (const auto& [key, field] : texts) {
    if (!field.seen) return Error{ErrorKind::kIntegrity, "a tensor has no " + std::string(key)};
  }
  return tensor;
}

Result<Manifest> ReadManifest(std::string_view text) {
  if (!ValidUtf8(AsBytes(text))) return Error{ErrorKind::kIntegrity, "its manifest is not UTF-8"};
  Manifest manifest;
  bool has_tensors = false;
  JsonReader json(text);
  WD_TRY(json.BeginObject());
  for (;;) {
    WD_ASSIGN(const std::optional<std::string_view> key, json.NextKey());
    if (!key) break;
    if (*key == "version") {
      WD_ASSIGN(manifest.version, json.UnsignedInteger());
    } else if (*key == "base_version") {
      WD_ASSIGN(manifest.base_version, json.UnsignedInteger());
    } else if (*key == "tensors") {
      has_tensors = true;
      WD_TRY(json.BeginArray());
      for (;;) {
        WD_ASSIGN(const bool more, json.NextElement());
        if (!more) break;
        WD_ASSIGN(manifest.tensors.emplace_back(), ReadTensor(json));
      }
    } else {
      WD_TRY(json.Skip());
    }
  }
  WD_TRY(json.End());
  if (!manifest.version || !manifest.base_version || !has_tensors) {
    return Error{ErrorKind::kIntegrity, "its manifest lacks versions or tensors"};
  }
  std::sort(manifest.tensors.begin(), manifest.tensors.end(),
            [](const auto& a, const auto& b) { return a.name < b.name; });
  return manifest;
}

// A payload file, and where the tensors lie in it.
struct Payload {
  std::shared_ptr<const File> file;
  std::map<std::string, std::pair<uint64_t, uint64_t>, std::less<>> places;
};

class Skyrl final : public ForeignDelta {
 public:
  std::string_view kind() const override { return kKind; }

  Result<> Read(const std::string& path) {
    path_ = path;
    WD_ASSIGN(const Bytes text, ReadWholeFile(path + kManifestName, kMaxHeaderBytes));
    bytes_ = text.size();
    Result<Manifest> manifest = ReadManifest(AsText(text));
    if (!manifest.ok()) return ForeignError(kKind, path_, manifest.error().message);
    version_ = std::to_string(*manifest->version);
    base_version_ = std::to_string(*manifest->base_version);
    std::map<std::string, Payload> payloads;
    for (const ManifestTensor& entry : manifest->tensors) WD_TRY(Add(entry, payloads));
    return {};
  }

  Result<std::unique_ptr<ForeignStream>> Open(size_t index, Dtype, std::span<const uint64_t>) const override {
    const Frame& frame = frames_[index];
    return NamedStream(XorFrame(frame.file, frame.begin, frame.end), *this, tensors_[index]);
  }

 private:
  struct Frame {
    std::shared_ptr<const File> file;
    uint64_t begin = 0, end = 0;
  };

  Error Bad(const ManifestTensor& entry, const std::string& why) const {
    Error error = ForeignError(kKind, path_, "tensor '" + Shorten(entry.name) + "' " + why);
    error.tensor = entry.name;
    return error;
  }

  Result<> Add(const ManifestTensor& entry, std::map<std::string, Payload>& payloads) {
    ForeignTensor tensor;
    tensor.name = entry.name;
    if (!tensors_.empty() && tensors_.back().name == entry.name) return Bad(entry, "is there twice");
    tensor.dtype = DtypeFromTorchName(entry.dtype);
    if (!tensor.dtype) return Bad(entry, "has the unknown type '" + Shorten(entry.dtype) + "'");
    tensor.shape = entry.shape;
    if (TensorBytes(*tensor.dtype, entry.shape) != entry.uncompressed)
      return Bad(entry, "has another size than its shape");
    tensor.checksum_kind = entry.checksum_algorithm == "sha256" ? ForeignChecksum::kSha256 : ForeignChecksum::kXxh3_128;
    if (entry.checksum_algorithm != "sha256" && entry.checksum_algorithm != "xxh3-128") {
      return ForeignRefusal(kKind, path_, "its checksum_algorithm is '" + Shorten(entry.checksum_algorithm) + "'",
                            "known: xxh3-128, sha256");
    }
    tensor.checksum = entry.checksum;
    if (!IsChecksum(tensor.checksum, tensor.checksum_kind)) return Bad(entry, "has no checksum");
    if (!IsPlainShardName(entry.payload_file)) {
      return ForeignRefusal(kKind, path_, "payload '" + Shorten(entry.payload_file) + "' is no plain file name",
                            "do not trust who sent it");
    }
    if (!payloads.contains(entry.payload_file)) {
      WD_ASSIGN(payloads[entry.payload_file], ReadPayload(entry.payload_file));
    }
    const Payload& payload = payloads[entry.payload_file];
    const auto place = payload.places.find(entry.payload_key);
    if (place == payload.places.end()) return Bad(entry, "is not in '" + entry.payload_file + "'");
    const auto [begin, end] = place->second;
    if (end - begin != entry.compressed) return Bad(entry, "has a frame of another length");
    tensors_.push_back(std::move(tensor));
    frames_.push_back({payload.file, begin, end});
    return {};
  }

  Result<Payload> ReadPayload(const std::string& name) {
    Payload payload;
    WD_ASSIGN(File file, File::OpenForRead(path_ + "/" + name));
    WD_ASSIGN(const FileIdentity identity, file.Identify());
    bytes_ += identity.size;
    WD_ASSIGN(const SafetensorsHeader header, SafetensorsHeader::Read(file));
    payload.file = std::make_shared<const File>(std::move(file));
    for (size_t i = 0; i < header.tensor_count(); ++i) {
      const TensorEntry entry = header.tensor(i);
      const uint64_t data = header.bytes().size();
      if (entry.dtype == Dtype::kU8)
        payload.places.emplace(entry.name, std::pair(data + entry.begin, data + entry.end));
    }
    return payload;
  }

  std::vector<Frame> frames_;
};

}  // namespace

bool LooksLikeSkyrl(const std::string& path) {
  const Result<Bytes> text = ReadWholeFile(path + kManifestName, kMaxHeaderBytes);
  return text.ok() && Contains(*text, "\"payload_file");
}

Result<std::unique_ptr<ForeignDelta>> OpenSkyrl(const std::string& path, const Environment&) {
  auto delta = std::make_unique<Skyrl>();
  WD_TRY(delta->Read(path));
  return std::unique_ptr<ForeignDelta>(std::move(delta));
}

}  // namespace wdelta
