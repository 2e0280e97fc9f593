// prime-rl's sparse updates: a manifest, and beside it a safetensors file with the positions and the values of what
// changed, perhaps as one zstd frame.
#include <algorithm>

#include "core/text.h"
#include "foreign/foreign_frame.h"
#include "foreign/sparse_parts.h"

namespace wdelta {

namespace {

constexpr std::string_view kPrimeKind = "prime-rl update";
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
  std::optional<std::vector<uint64_t>> shape;
  std::optional<uint64_t> elements, changed;
  Dtype dtype = Dtype::kBF16, index_dtype = Dtype::kI32;
  uint64_t indices_begin = 0, indices_end = 0, values_begin = 0, values_end = 0;
};

Result<PrimeTensor> ReadTensor(JsonReader& json) {
  PrimeTensor tensor;
  const std::pair<std::string_view, std::string*> texts[] = {{"name", &tensor.name},
                                                             {"dtype", &tensor.dtype_name},
                                                             {"indices", &tensor.indices_key},
                                                             {"values", &tensor.values_key}};
  size_t texts_read = 0;
  WD_TRY(json.BeginObject());
  for (;;) {
    WD_ASSIGN(const std::optional<std::string_view> key, json.NextKey());
    if (!key) break;
    const auto text = std::ranges::find_if(texts, [&](const auto& field) { return field.first == *key; });
    if (text != std::end(texts)) {
      WD_ASSIGN(*text->second, json.String());
      ++texts_read;
    } else if (*key == "shape") {
      WD_ASSIGN(tensor.shape, ReadShape(json));
    } else if (*key == "numel") {
      WD_ASSIGN(tensor.elements, json.UnsignedInteger());
    } else if (*key == "changed_numel") {
      WD_ASSIGN(tensor.changed, json.UnsignedInteger());
    } else {
      WD_TRY(json.Skip());  // the checksum among them: it does not see values that changed places
    }
  }
  if (texts_read != std::size(texts) || !tensor.shape || !tensor.elements || !tensor.changed)
    return Error{ErrorKind::kIntegrity, "the entry of tensor '" + Shorten(tensor.name) + "' is not complete"};
  return tensor;
}

// Where the data of a safetensors header end, by what it says; whoever uses it checks the header.
Result<uint64_t> DataEnd(std::string_view header) {
  uint64_t end = 0;
  JsonReader json(header);
  WD_TRY(json.BeginObject());
  for (;;) {
    WD_ASSIGN(const std::optional<std::string_view> name, json.NextKey());
    if (!name) return end;
    if (*name == "__metadata__") {
      WD_TRY(json.Skip());
      continue;
    }
    WD_TRY(json.BeginObject());
    for (;;) {
      WD_ASSIGN(const std::optional<std::string_view> key, json.NextKey());
      if (!key) break;
      if (*key != "data_offsets") {
        WD_TRY(json.Skip());
        continue;
      }
      WD_ASSIGN(const std::vector<uint64_t> offsets, ReadShape(json));
      for (const uint64_t offset : offsets) end = std::max(end, offset);
    }
  }
}

class PrimeUpdate final : public ForeignDelta {
 public:
  PrimeUpdate(const std::string& path, const Environment& environment) : environment_(environment) { path_ = path; }

  std::string_view kind() const override { return kPrimeKind; }

  Result<> Read() {
    WD_ASSIGN(const Bytes manifest, ReadWholeFile(ManifestOf(path_), kMostManifestBytes));
    bytes_ = manifest.size();
    if (!ValidUtf8(manifest)) return Wrong("its manifest is no UTF-8");
    WD_TRY(Named("manifest: ", ReadManifest(AsText(manifest))));
    if (format_ != kPrimeFormat) return Wrong("the format in its manifest is '" + Shorten(format_) + "'");
    if (format_version_ != "1") {
      return ForeignRefusal(kPrimeKind, path_, "its format version is '" + format_version_ + "'",
                            "version 1 can be read");
    }
    std::ranges::sort(parts_, {}, &PrimeTensor::name);
    for (PrimeTensor& part : parts_) {
      if (!tensors_.empty() && tensors_.back().name == part.name) return Wrong(part, "it is there twice");
      WD_TRY(Settle(part));
      tensors_.push_back({part.name, part.dtype, part.shape});
    }
    if (!patch_file_) {
      if (!parts_.empty()) return Wrong("it lists tensors, but no patch file");
      return {};
    }
    WD_ASSIGN(const SafetensorsHeader header, OpenPatch());
    data_at_ = header.bytes().size();
    return FindParts(header);
  }

  Result<std::unique_ptr<ForeignStream>> Open(size_t index, Dtype dtype,
                                              std::span<const uint64_t> shape) const override {
    WD_TRY(ExpectForm(*this, tensors_[index], dtype, shape));
    const PrimeTensor& part = parts_[index];
    auto positions = ListedPositions(
        NumberSource(FilePart(file_, data_at_ + part.indices_begin, data_at_ + part.indices_end), part.index_dtype));
    auto values = FilePart(file_, data_at_ + part.values_begin, data_at_ + part.values_end);
    return NamedStream(OverwriteStream(std::move(positions), std::move(values), UnitBytes(dtype), *part.elements),
                       *this, tensors_[index]);
  }

 private:
  Error Wrong(const std::string& why) const { return ForeignError(kPrimeKind, path_, why); }
  Error Wrong(const PrimeTensor& tensor, const std::string& why) const {
    return ForeignTensorError(kPrimeKind, path_, tensor.name, why);
  }
  // The failure of a part of this update, told as one of the update.
  template <class T>
  Result<T> Named(const std::string& part, Result<T> result) const {
    if (result.ok() || result.error().kind != ErrorKind::kIntegrity || !result.error().path.empty()) return result;
    return Wrong(part + result.error().message);
  }

  Result<> ReadManifest(std::string_view text) {
    JsonReader json(text);
    WD_TRY(json.BeginObject());
    for (;;) {
      WD_ASSIGN(const std::optional<std::string_view> key, json.NextKey());
      if (!key) break;
      if (*key == "format") {
        WD_ASSIGN(format_, json.String());
      } else if (*key == "version") {
        WD_ASSIGN(format_version_, ReadNumberText(json, text));
      } else if (*key == "step") {
        WD_ASSIGN(version_, ReadNumberText(json, text));
      } else if (*key == "base_step") {
        WD_ASSIGN(base_version_, ReadNumberText(json, text));
      } else if (*key == "compressed") {
        WD_ASSIGN(const JsonReader::Type type, json.Peek());
        compressed_ = type == JsonReader::Type::kTrue;
        WD_TRY(json.Skip());
      } else if (*key == "patch_file") {
        WD_ASSIGN(const JsonReader::Type type, json.Peek());
        if (type == JsonReader::Type::kNull) {
          WD_TRY(json.Null());
        } else {
          WD_ASSIGN(patch_file_, json.String());
        }
      } else if (*key == "tensors") {
        WD_TRY(json.BeginArray());
        for (;;) {
          WD_ASSIGN(const bool more, json.NextElement());
          if (!more) break;
          WD_ASSIGN(PrimeTensor tensor, ReadTensor(json));
          parts_.push_back(std::move(tensor));
        }
      } else {
        WD_TRY(json.Skip());
      }
    }
    return json.End();
  }

  // What follows from the entry alone.
  Result<> Settle(PrimeTensor& part) const {
    const std::optional<Dtype> dtype = DtypeFromAnyName(part.dtype_name);
    if (!dtype || DtypeBits(*dtype) < 8) {
      Error error = ForeignRefusal(kPrimeKind, path_,
                                   "tensor '" + Shorten(part.name) + "' is of type '" + Shorten(part.dtype_name) + "'",
                                   "types of whole bytes that safetensors has can be read");
      error.tensor = part.name;
      return error;
    }
    part.dtype = *dtype;
    const std::optional<uint64_t> bytes = TensorBytes(*dtype, *part.shape);
    if (!bytes) return Wrong(part, "its shape is too large");
    if (*bytes / UnitBytes(*dtype) != *part.elements) return Wrong(part, "its shape does not have 'numel' elements");
    if (*part.changed > *part.elements) return Wrong(part, "it has more changes than elements");
    return {};
  }

  Result<SafetensorsHeader> OpenPatch() {
    const std::string& name = *patch_file_;
    if (name.empty() || name == "." || name == ".." || name.find_first_of(std::string_view("/\\\0", 3)) != name.npos) {
      return ForeignRefusal(kPrimeKind, path_, "its patch file is named '" + Shorten(name) + "'",
                            "a patch file lies beside the manifest");
    }
    const std::string path = path_ + "/" + name;
    WD_ASSIGN(File file, File::OpenForRead(path));
    WD_ASSIGN(const FileIdentity identity, file.Identify());
    bytes_ += identity.size;
    file_ = std::make_shared<const File>(std::move(file));
    if (!compressed_ && !StartsLikeFrame(*file_)) return SafetensorsHeader::Read(*file_);
    return Named("patch file: ", Unpack(path));
  }

  // Puts the content of the frame into a file without a name, unless it is more than the manifest can mean.
  Result<SafetensorsHeader> Unpack(const std::string& path) {
    uint64_t most = 0;
    for (const PrimeTensor& part : parts_) {
      uint64_t bytes;
      if (!CheckedMultiply(*part.changed, 8 + UnitBytes(part.dtype), &bytes) || !CheckedAdd(most, bytes, &most))
        return Wrong(part, "it has too many changes");
    }
    FrameFile frame(std::move(file_));
    WD_ASSIGN(Bytes header, frame.Take(8));
    const auto header_bytes = Load<uint64_t>(header.data());
    if (header_bytes > kMaxHeaderBytes) return Error{ErrorKind::kIntegrity, "its header is too long"};
    WD_ASSIGN(const Bytes json, frame.Take(header_bytes));
    if (!ValidUtf8(json)) return Error{ErrorKind::kIntegrity, "its header is no UTF-8"};
    header.insert(header.end(), json.begin(), json.end());
    WD_ASSIGN(const uint64_t data_bytes, DataEnd(AsText(json)));
    if (data_bytes > most) return Error{ErrorKind::kIntegrity, "it is longer than the tensors of the manifest"};
    WD_ASSIGN(SafetensorsHeader read, SafetensorsHeader::Parse(header, header.size() + data_bytes, path));
    WD_ASSIGN(File file, File::CreateUnnamed(environment_));
    WD_TRY(file.WriteAt(0, header));
    WD_TRY(frame.TakeRest(data_bytes, file, header.size()));
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
      if (at == keys.end() || at->name != name) return Wrong(part, "'" + Shorten(name) + "' is not in the patch file");
      if (at->used) return Wrong(part, "'" + Shorten(name) + "' is used twice");
      at->used = true;
      const TensorEntry entry = header.tensor(at->index);
      if (entry.shape.size() != 1 || entry.shape[0] != *part.changed)
        return Wrong(part, "'" + Shorten(name) + "' does not have 'changed_numel' elements");
      return entry;
    };
    for (PrimeTensor& part : parts_) {
      WD_ASSIGN(const TensorEntry indices, take(part, part.indices_key));
      WD_ASSIGN(const TensorEntry values, take(part, part.values_key));
      if (indices.dtype != Dtype::kI32 && indices.dtype != Dtype::kI64)
        return Wrong(part, "its indices are " + std::string(DtypeName(indices.dtype)));
      if (values.dtype != part.dtype) {
        return Wrong(part, "its values are " + std::string(DtypeName(values.dtype)) + ", not " +
                               std::string(DtypeName(part.dtype)));
      }
      part.index_dtype = indices.dtype;
      part.indices_begin = indices.begin, part.indices_end = indices.end;
      part.values_begin = values.begin, part.values_end = values.end;
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
  uint64_t data_at_ = 0;
  std::vector<PrimeTensor> parts_;  // beside tensors_
  const Environment environment_;
};

}  // namespace

bool LooksLikePrime(const std::string& path) {
  return File::OpenForRead(ManifestOf(path)).ok();
}

Result<std::unique_ptr<ForeignDelta>> OpenPrime(const std::string& path, const Environment& environment) {
  auto update = std::make_unique<PrimeUpdate>(path, environment);
  WD_TRY(update->Read());
  return std::unique_ptr<ForeignDelta>(std::move(update));
}

}  // namespace wdelta
