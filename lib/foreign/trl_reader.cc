// TRL's sparse weight patches: one safetensors file with positions and BF16 values of what changed, or all weights.
#include <algorithm>
#include <map>

#include "core/text.h"
#include "foreign/sparse_parts.h"
#include "pack/plain_format.h"

namespace wdelta {

namespace {

constexpr std::string_view kTrlKind = "TRL patch";
constexpr std::string_view kTrlFormat = "sparse_weight_patch";
constexpr std::string_view kShortIndices = ".idx", kShortValues = ".val";
constexpr uint64_t kMostElements = uint64_t{1} << 31;  // what an int32 can point at

// Each number is how many elements lie between a position and the one before.
class GapPositions final : public PositionSource {
 public:
  explicit GapPositions(NumberSource gaps) : gaps_(std::move(gaps)) {}
  Result<std::optional<uint64_t>> Next() override {
    if (gaps_.AtEnd()) return std::optional<uint64_t>();
    WD_ASSIGN(const uint64_t gap, gaps_.Next());
    // Far from 2^64, though a hostile file had 2^31 gaps of 2^32: the stream stops at the first outside of the tensor.
    const uint64_t position = next_ + gap;
    next_ = position + 1;
    return std::optional(position);
  }

 private:
  NumberSource gaps_;
  uint64_t next_ = 0;
};

// All bytes of a tensor, whatever was there before.
class Replacement final : public ForeignStream {
 public:
  explicit Replacement(std::unique_ptr<ByteFeed> bytes) : bytes_(std::move(bytes)) {}
  Result<> Apply(MutableByteSpan block) override { return bytes_->Read(block); }
  Result<> End() override {
    if (bytes_->left() != 0) return Error{ErrorKind::kIntegrity, "there are more values than elements"};
    return {};
  }

 private:
  std::unique_ptr<ByteFeed> bytes_;
};

class TrlPatch final : public ForeignDelta {
 public:
  explicit TrlPatch(const std::string& path) { path_ = path; }

  std::string_view kind() const override { return kTrlKind; }

  Result<> Read() {
    WD_ASSIGN(File file, File::OpenForRead(path_));
    file_ = std::make_shared<const File>(std::move(file));
    WD_ASSIGN(const FileIdentity identity, file_->Identify());
    bytes_ = identity.size;
    WD_ASSIGN(const SafetensorsHeader header, SafetensorsHeader::Read(*file_));
    data_at_ = header.bytes().size();

    std::map<std::string, std::string, std::less<>> metadata;
    header.ForEachMetadata([&](std::string_view key, std::string_view value) {
      for (const std::string_view known : {"format", "version", "sparse", "encoding", "model_version",
                                           "prev_model_version", "wdelta.base_version", "wdelta.version"}) {
        if (key == known) metadata.emplace(key, value);
      }
      return true;
    });
    const auto said = [&](const char* key, const char* otherwise) {
      const auto at = metadata.find(key);
      return at == metadata.end() ? std::string(otherwise) : at->second;
    };
    if (said("format", "") != kTrlFormat || metadata.contains(kPlainVersionKey))
      return ForeignError(kTrlKind, path_, "its metadata do not say so");
    if (said("version", "1") != "1") {
      return ForeignRefusal(kTrlKind, path_, "its version is '" + Shorten(said("version", "")) + "'",
                            "version 1 can be read");
    }
    version_ = said("model_version", "");
    base_version_ = said("wdelta.base_version", said("prev_model_version", "").c_str());
    if (base_version_.starts_with('-')) base_version_.clear();  // how the first writers said that there is none

    const std::string sparse = said("sparse", "True");
    if (sparse == "False") return ReadAnchor(header);
    if (sparse != "True") return ForeignError(kTrlKind, path_, "'sparse' is '" + Shorten(sparse) + "'");
    return ReadPatch(header, said("encoding", ""));
  }

  Result<std::unique_ptr<ForeignStream>> Open(size_t index, Dtype dtype,
                                              std::span<const uint64_t> shape) const override {
    const ForeignTensor& tensor = tensors_[index];
    const Part& part = parts_[index];
    WD_TRY(ExpectForm(*this, tensor, dtype, shape));
    auto values = FilePart(file_, data_at_ + part.values_begin, data_at_ + part.values_end);
    if (is_anchor_) return NamedStream(std::make_unique<Replacement>(std::move(values)), *this, tensor);

    const std::optional<uint64_t> bytes = TensorBytes(dtype, shape);
    if (!bytes || *bytes / 2 > kMostElements) {
      Error error = ForeignRefusal(kTrlKind, path_, "tensor '" + Shorten(tensor.name) + "' has over 2^31 elements",
                                   "the 32 bits of its indices cannot tell them apart");
      error.tensor = tensor.name;
      return error;
    }
    NumberSource numbers(FilePart(file_, data_at_ + part.indices_begin, data_at_ + part.indices_end), part.dtype);
    std::unique_ptr<PositionSource> positions;
    if (part.dtype == Dtype::kI32) {
      positions = ListedPositions(std::move(numbers));
    } else {
      positions = std::make_unique<GapPositions>(std::move(numbers));
    }
    return NamedStream(OverwriteStream(std::move(positions), std::move(values), 2, *bytes / 2), *this, tensor);
  }

 private:
  // Where the parts of a tensor lie in the data.
  struct Part {
    uint64_t indices_begin = 0, indices_end = 0, values_begin = 0, values_end = 0;
    Dtype dtype = Dtype::kI32;  // of the indices; gaps unless it is I32
  };

  Error Wrong(std::string_view tensor, const std::string& why) const {
    return ForeignTensorError(kTrlKind, path_, tensor, why);
  }

  Result<> ReadAnchor(const SafetensorsHeader& header) {
    is_anchor_ = true;
    std::map<std::string_view, size_t> by_name;
    for (size_t i = 0; i < header.tensor_count(); ++i) by_name.emplace(header.tensor(i).name, i);
    for (const auto& [name, i] : by_name) {
      const TensorEntry entry = header.tensor(i);
      if (entry.dtype != Dtype::kBF16) return Wrong(name, NotBf16(entry.dtype));
      ForeignTensor tensor{std::string(name), entry.dtype};
      tensor.shape.emplace(entry.shape.begin(), entry.shape.end());
      tensors_.push_back(std::move(tensor));
      parts_.push_back({0, 0, entry.begin, entry.end});
    }
    return {};
  }

  Result<> ReadPatch(const SafetensorsHeader& header, const std::string& encoding) {
    if (!encoding.empty() && encoding != "raw" && encoding != "gap_delta") {
      return ForeignRefusal(kTrlKind, path_, "its indices are packed as '" + Shorten(encoding) + "'",
                            "let the trainer write 'gap_delta' or 'raw'");
    }
    struct Pair {
      std::optional<TensorEntry> indices, values;
    };
    std::map<std::string_view, Pair> pairs;  // by the tensor's name
    std::string_view indices_ending = kShortIndices, values_ending = kShortValues;
    for (size_t i = 0; i < header.tensor_count(); ++i) {
      const TensorEntry entry = header.tensor(i);
      const std::string_view key = entry.name;
      if (i == 0 && (key.ends_with(kIndicesEnding) || key.ends_with(kValuesEnding))) {
        indices_ending = kIndicesEnding;
        values_ending = kValuesEnding;
      }
      if (key.ends_with(indices_ending)) {
        pairs[key.substr(0, key.size() - indices_ending.size())].indices = entry;
      } else if (key.ends_with(values_ending)) {
        pairs[key.substr(0, key.size() - values_ending.size())].values = entry;
      } else {
        return ForeignError(kTrlKind, path_, "'" + Shorten(key) + "' is no part of one");
      }
    }
    const bool first_version = indices_ending == kIndicesEnding;
    for (const auto& [name, pair] : pairs) {
      if (!pair.values) return Wrong(name, "it has indices, but no values");
      if (!pair.indices) return Wrong(name, "it has values, but no indices");
      if (pair.values->dtype != Dtype::kBF16) return Wrong(name, NotBf16(pair.values->dtype));
      const Dtype dtype = pair.indices->dtype;
      const bool listed = dtype == Dtype::kI32 && encoding != "gap_delta";
      const bool gaps = (dtype == Dtype::kU16 || dtype == Dtype::kU32) && encoding != "raw" && !first_version;
      if (!listed && !gaps) return Wrong(name, "its indices are " + std::string(DtypeName(dtype)));
      if (pair.indices->shape.size() != 1 || !std::ranges::equal(pair.indices->shape, pair.values->shape))
        return Wrong(name, "it does not have as many indices as values");
      tensors_.push_back({std::string(name), Dtype::kBF16});
      parts_.push_back({pair.indices->begin, pair.indices->end, pair.values->begin, pair.values->end, dtype});
    }
    return {};
  }

  static std::string NotBf16(Dtype dtype) { return "its values are " + std::string(DtypeName(dtype)) + ", not BF16"; }

  bool is_anchor_ = false;  // every tensor is there in full
  std::shared_ptr<const File> file_;
  uint64_t data_at_ = 0;
  std::vector<Part> parts_;  // beside tensors_
};

}  // namespace

// The key of our own plain deltas tells them apart: they have the metadata of TRL's too.
bool LooksLikeTrl(const std::string& path) {
  const Result<File> file = File::OpenForRead(path);
  if (!file.ok()) return false;
  const Result<FileIdentity> identity = file->Identify();
  Bytes first(8);
  if (!identity.ok() || identity->size < 8 || !file->ReadAt(0, first).ok()) return false;
  const auto length = Load<uint64_t>(first.data());
  if (length == 0 || length > kMaxHeaderBytes || length > identity->size - 8) return false;
  Bytes header(length);
  if (!file->ReadAt(8, header).ok() || !Contains(header, kTrlFormat)) return false;
  const Result<SafetensorsHeader> read = SafetensorsHeader::Read(*file);
  if (!read.ok()) return !Contains(header, kPlainVersionKey);  // a damaged one, probably
  return read->Metadata("format") == kTrlFormat && !read->Metadata(kPlainVersionKey);
}

Result<std::unique_ptr<ForeignDelta>> OpenTrl(const std::string& path, const Environment&) {
  auto patch = std::make_unique<TrlPatch>(path);
  WD_TRY(patch->Read());
  return std::unique_ptr<ForeignDelta>(std::move(patch));
}

}  // namespace wdelta
