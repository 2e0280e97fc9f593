// prime-rl's sparse updates: a manifest, and beside it a safetensors file with the positions and the values of what
// changed, perhaps as one zstd frame.
#include <algorithm>

#include "core/text.h"
#include "foreign/foreign_parts.h"

namespace wdelta {

namespace {

constexpr std::string_view kPrimeFormat = "prime-rl-sparse-update";
constexpr uint64_t kMostManifestBytes = 128 << 20;

std::string ManifestOf(const std::string& folder) {
  return folder + "/sparse_update_manifest.json";
}

// As PyTorch says, or "BF16".
std::optional<Dtype> DtypeFromAnyName(std::string_view name) {
  const std::optional<Dtype> dtype = DtypeFromName(name);
  return dtype ? dtype : DtypeFromTorchName(name);
}

// What the manifest says of one tensor, and where its parts lie in the patch file.
struct PrimeTensor {
  std::string name, dtype_name, indices_key, values_key;
  std::vector<uint64_t> shape;
  uint64_t elements = 0, changed = 0;
  Dtype dtype = Dtype::kBF16, index_dtype = Dtype::kI32;
  FileRange indices, values;
};

Result<PrimeTensor> ReadTensor(JsonReader& json) {
  PrimeTensor tensor;
  size_t fields = 0;
  WD_TRY(json.Object([&](std::string_view key) -> Result<> {
    ++fields;
    if (key == "name") return json.Into(tensor.name);
    if (key == "dtype") return json.Into(tensor.dtype_name);
    if (key == "indices") return json.Into(tensor.indices_key);
    if (key == "values") return json.Into(tensor.values_key);
    if (key == "shape") return ReadShape(json, tensor.shape);
    if (key == "numel") return json.Into(tensor.elements);
    if (key == "changed_numel") return json.Into(tensor.changed);
    --fields;
    return json.Skip();  // the checksum among them: it does not see values that changed places
  }));
  if (fields != 7)
    return Error{ErrorKind::kIntegrity, "the entry of tensor '" + Shorten(tensor.name) + "' is not complete"};
  return tensor;
}

// Where the data of a safetensors header end, by what it says; whoever uses it checks the header.
Result<uint64_t> DataEnd(std::string_view header) {
  uint64_t end = 0;
  JsonReader json(header);
  WD_TRY(json.Object([&](std::string_view name) -> Result<> {
    if (name == "__metadata__") return json.Skip();
    return json.Object([&](std::string_view key) -> Result<> {
      if (key != "data_offsets") return json.Skip();
      std::vector<uint64_t> offsets;
      WD_TRY(ReadShape(json, offsets));
      for (const uint64_t offset : offsets) end = std::max(end, offset);
      return {};
    });
  }));
  return end;
}

class PrimeUpdate final : public ForeignDelta {
 public:
  PrimeUpdate(const std::string& path, const Environment& environment)
      : ForeignDelta("prime-rl update", path), environment_(environment) {}

  Result<> Read() {
    WD_ASSIGN(const Bytes manifest, ReadWholeFile(ManifestOf(path_), kMostManifestBytes));
    bytes_ = manifest.size();
    if (!ValidUtf8(manifest)) return Wrong("its manifest is not UTF-8");
    WD_TRY(Named("manifest: ", ReadManifest(AsText(manifest))));
    if (format_ != kPrimeFormat) return Wrong("the format in its manifest is '" + Shorten(format_) + "'");
    if (format_version_ != "1")
      return Refusal("its format version is '" + format_version_ + "'", "version 1 can be read");
    for (PrimeTensor& part : parts_) WD_TRY(Settle(part));
    WD_TRY(ListTensors(parts_));
    if (!patch_file_) {
      if (!parts_.empty()) return Wrong("it lists tensors, but no patch file");
      return {};
    }
    WD_ASSIGN(const SafetensorsHeader header, OpenPatch());
    return FindParts(header);
  }

 private:
  Result<std::unique_ptr<ForeignStream>> OpenStream(size_t index, Dtype dtype,
                                                    std::span<const uint64_t>) const override {
    const PrimeTensor& part = parts_[index];
    return OverwriteStream(ListedPositions({part.indices, part.index_dtype}), FilePart(part.values), UnitBytes(dtype),
                           part.elements);
  }

  Result<> ReadManifest(std::string_view text) {
    JsonReader json(text);
    WD_TRY(json.Object([&](std::string_view key) -> Result<> {
      if (key == "format") return json.Into(format_);
      if (key == "version") return ReadNumberText(json, text, format_version_);
      if (key == "step") return ReadNumberText(json, text, version_);
      if (key == "base_step") return ReadNumberText(json, text, base_version_);
      if (key == "tensors") {
        return json.Array([&]() -> Result<> {
          WD_ASSIGN(parts_.emplace_back(), ReadTensor(json));
          return {};
        });
      }
      const bool is_patch_file = key == "patch_file", is_compressed = key == "compressed";
      WD_ASSIGN(const JsonReader::Type type, json.Peek());
      if (is_compressed) compressed_ = type == JsonReader::Type::kTrue;
      return is_patch_file && type != JsonReader::Type::kNull ? json.Into(patch_file_) : json.Skip();
    }));
    return json.End();
  }

  // What follows from the entry alone.
  Result<> Settle(PrimeTensor& part) const {
    const std::optional<Dtype> dtype = DtypeFromAnyName(part.dtype_name);
    if (!dtype || DtypeBits(*dtype) < 8) {
      return Refusal("tensor '" + Shorten(part.name) + "' is of type '" + Shorten(part.dtype_name) + "'",
                     "types of whole bytes that safetensors has can be read")
          .OfTensor(part.name);
    }
    part.dtype = *dtype;
    const std::optional<uint64_t> bytes = TensorBytes(*dtype, part.shape);
    if (!bytes) return Wrong(part.name, "its shape is too large");
    if (*bytes / UnitBytes(*dtype) != part.elements)
      return Wrong(part.name, "its shape does not have 'numel' elements");
    if (part.changed > part.elements) return Wrong(part.name, "it has more changes than elements");
    return {};
  }

  Result<SafetensorsHeader> OpenPatch() {
    const std::string& name = *patch_file_;
    if (name.empty() || name == "." || name == ".." || name.find_first_of(std::string_view("/\\\0", 3)) != name.npos) {
      return Refusal("its patch file is named '" + Shorten(name) + "'", "a patch file lies beside the manifest");
    }
    const std::string path = path_ + "/" + name;
    WD_ASSIGN(File file, File::OpenForRead(path));
    WD_ASSIGN(const FileIdentity identity, file.Identify());
    bytes_ += identity.size;
    file_ = std::make_shared<const File>(std::move(file));
    if (!compressed_ && !StartsLikeFrame(*file_)) return SafetensorsHeader::Read(*file_);
    return Named("patch file: ", Unpack(path, identity.size));
  }

  // Puts the content of the frame into a file without a name, unless it is more than the manifest can mean.
  Result<SafetensorsHeader> Unpack(const std::string& path, uint64_t packed_bytes) {
    uint64_t most = 0;
    for (const PrimeTensor& part : parts_) {
      uint64_t bytes;
      if (!CheckedMultiply(part.changed, 8 + UnitBytes(part.dtype), &bytes) || !CheckedAdd(most, bytes, &most))
        return Wrong(part.name, "it has too many changes");
    }
    FrameReader frame({std::move(file_), 0, packed_bytes});
    WD_ASSIGN(Bytes header, frame.Take(8));
    const auto header_bytes = Load<uint64_t>(header.data());
    if (header_bytes > kMaxHeaderBytes) return Error{ErrorKind::kIntegrity, "its header is too long"};
    WD_ASSIGN(const Bytes json, frame.Take(header_bytes));
    if (!ValidUtf8(json)) return Error{ErrorKind::kIntegrity, "its header is not UTF-8"};
    header.insert(header.end(), json.begin(), json.end());
    WD_ASSIGN(const uint64_t data_bytes, DataEnd(AsText(json)));
    if (data_bytes > most) return Error{ErrorKind::kIntegrity, "it is longer than the tensors of the manifest"};
    WD_ASSIGN(SafetensorsHeader read, SafetensorsHeader::Parse(header, header.size() + data_bytes, path));
    WD_ASSIGN(File file, File::CreateUnnamed(environment_));
    WD_TRY(file.WriteAt(0, header));
    WD_TRY(frame.Unpack(data_bytes, file, header.size()));
    WD_TRY(frame.ExpectEnd());
    file_ = std::make_shared<const File>(std::move(file));
    return read;
  }

  // Every tensor of the patch file belongs to one entry of the manifest.
  Result<> FindParts(const SafetensorsHeader& header) {
    struct Key {
      std::string_view name;
      size_t index;
      bool used;
    };
    std::vector<Key> keys;
    for (size_t i = 0; i < header.tensor_count(); ++i) keys.push_back({header.tensor(i).name, i, false});
    std::ranges::sort(keys, {}, &Key::name);
    const auto take = [&](const PrimeTensor& part, const std::string& name) -> Result<TensorEntry> {
      const auto at = std::ranges::lower_bound(keys, std::string_view(name), {}, &Key::name);
      if (at == keys.end() || at->name != name)
        return Wrong(part.name, "'" + Shorten(name) + "' is not in the patch file");
      if (at->used) return Wrong(part.name, "'" + Shorten(name) + "' is used twice");
      at->used = true;
      const TensorEntry entry = header.tensor(at->index);
      if (entry.shape.size() != 1 || entry.shape[0] != part.changed)
        return Wrong(part.name, "'" + Shorten(name) + "' does not have 'changed_numel' elements");
      return entry;
    };
    for (PrimeTensor& part : parts_) {
      WD_ASSIGN(const TensorEntry indices, take(part, part.indices_key));
      WD_ASSIGN(const TensorEntry values, take(part, part.values_key));
      if (indices.dtype != Dtype::kI32 && indices.dtype != Dtype::kI64)
        return Wrong(part.name, "its indices are " + std::string(DtypeName(indices.dtype)));
      if (values.dtype != part.dtype) {
        return Wrong(part.name, "its values are " + std::string(DtypeName(values.dtype)) + ", not " +
                                    std::string(DtypeName(part.dtype)));
      }
      const uint64_t data_at = header.bytes().size();
      part.index_dtype = indices.dtype;
      part.indices = {file_, data_at + indices.begin, data_at + indices.end};
      part.values = {file_, data_at + values.begin, data_at + values.end};
    }
    for (const Key& key : keys) {
      if (!key.used) return Wrong("the manifest does not mention '" + Shorten(key.name) + "' of the patch file");
    }
    return {};
  }

  std::string format_, format_version_;
  bool compressed_ = false;
  std::optional<std::string> patch_file_;
  std::shared_ptr<const File> file_;
  std::vector<PrimeTensor> parts_;  // beside tensors_
  const Environment environment_;
};

}  // namespace

bool LooksLikePrime(const std::string& path) {
  return File::OpenForRead(ManifestOf(path)).ok();
}

Result<std::unique_ptr<ForeignDelta>> OpenPrime(const std::string& path, const Environment& environment) {
  return OpenAs<PrimeUpdate>(path, environment);
}

}  // namespace wdelta
