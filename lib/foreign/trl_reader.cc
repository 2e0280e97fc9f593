// TRL's sparse weight patches: one safetensors file with positions and BF16 values of what changed, or all weights.
#include <algorithm>
#include <map>

#include "core/text.h"
#include "foreign/foreign_parts.h"
#include "pack/plain_format.h"

namespace wdelta {

namespace {

constexpr std::string_view kTrlFormat = "sparse_weight_patch";
constexpr std::string_view kShortIndices = ".idx", kShortValues = ".val";
constexpr uint64_t kMostElements = uint64_t{1} << 31;  // what an int32 can point at

// Each number is how many elements lie between a position and the one before.
PositionSource GapPositions(NumberSource gaps) {
  return [gaps = std::move(gaps), next = uint64_t{0}]() mutable -> Result<std::optional<uint64_t>> {
    if (gaps.AtEnd()) return std::optional<uint64_t>();
    WD_ASSIGN(const uint64_t gap, gaps.Next());
    // Far from 2^64, though a hostile file had 2^31 gaps of 2^32: the stream stops at the first outside of the tensor.
    const uint64_t position = next + gap;
    next = position + 1;
    return std::optional(position);
  };
}

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
  TrlPatch(const std::string& path, const Environment&) : ForeignDelta("TRL patch", path) {}

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
      return Wrong("its metadata do not say so");
    if (said("version", "1") != "1")
      return Refusal("its version is '" + Shorten(said("version", "")) + "'", "version 1 can be read");
    version_ = said("model_version", "");
    base_version_ = said("wdelta.base_version", said("prev_model_version", "").c_str());
    if (base_version_.starts_with('-')) base_version_.clear();  // how the first writers said that there is none

    const std::string sparse = said("sparse", "True");
    if (sparse == "False") return ReadAnchor(header);
    if (sparse != "True") return Wrong("'sparse' is '" + Shorten(sparse) + "'");
    return ReadPatch(header, said("encoding", ""));
  }

 private:
  // Where the parts of a tensor lie.
  struct Part {
    FileRange indices, values;
    Dtype dtype = Dtype::kI32;  // of the indices; gaps unless it is I32
  };

  Result<std::unique_ptr<ForeignStream>> OpenStream(size_t index, Dtype dtype,
                                                    std::span<const uint64_t> shape) const override {
    const Part& part = parts_[index];
    auto values = FilePart(part.values);
    if (is_anchor_) return std::unique_ptr<ForeignStream>(std::make_unique<Replacement>(std::move(values)));

    const std::optional<uint64_t> bytes = TensorBytes(dtype, shape);
    if (!bytes || *bytes / 2 > kMostElements) {
      return Refusal("tensor '" + Shorten(tensors_[index].name) + "' has over 2^31 elements",
                     "32-bit indices cannot address them")
          .OfTensor(tensors_[index].name);
    }
    NumberSource numbers(part.indices, part.dtype);
    return OverwriteStream(part.dtype == Dtype::kI32 ? ListedPositions(numbers) : GapPositions(numbers),
                           std::move(values), 2, *bytes / 2);
  }

  FileRange RangeOf(const TensorEntry& entry) const { return {file_, data_at_ + entry.begin, data_at_ + entry.end}; }

  Result<> ReadAnchor(const SafetensorsHeader& header) {
    is_anchor_ = true;
    std::map<std::string_view, size_t> by_name;
    for (size_t i = 0; i < header.tensor_count(); ++i) by_name.emplace(header.tensor(i).name, i);
    for (const auto& [name, i] : by_name) {
      const TensorEntry entry = header.tensor(i);
      if (entry.dtype != Dtype::kBF16) return Wrong(name, NotBf16(entry.dtype));
      tensors_.push_back({.name = std::string(name),
                          .dtype = entry.dtype,
                          .shape = std::vector<uint64_t>(entry.shape.begin(), entry.shape.end())});
      parts_.push_back({{}, RangeOf(entry)});
    }
    return {};
  }

  Result<> ReadPatch(const SafetensorsHeader& header, const std::string& encoding) {
    if (!encoding.empty() && encoding != "raw" && encoding != "gap_delta") {
      return Refusal("its indices are packed as '" + Shorten(encoding) + "'",
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
        return Wrong("'" + Shorten(key) + "' is not a part of one");
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
      tensors_.push_back({.name = std::string(name), .dtype = Dtype::kBF16});
      parts_.push_back({RangeOf(*pair.indices), RangeOf(*pair.values), dtype});
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

Result<std::unique_ptr<ForeignDelta>> OpenTrl(const std::string& path, const Environment& environment) {
  return OpenAs<TrlPatch>(path, environment);
}

}  // namespace wdelta
