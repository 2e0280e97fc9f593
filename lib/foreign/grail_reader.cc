// grail's sparse deltas, versions 3 and 3.1: one zstd frame of a JSON header, then for each tensor the rows, the
// columns and the values of what changed. A tensor is seen as shape[0] rows of all its other dimensions.
#include <algorithm>

#include "core/text.h"
#include "foreign/sparse_parts.h"

namespace wdelta {

namespace {

constexpr std::string_view kGrailKind = "grail delta";
constexpr uint64_t kMostHeaderBytes = 64 << 20;
constexpr uint64_t kMostMetadataBytes = 64 << 20;

std::string DeltaFileOf(const std::string& folder) {
  return folder + "/delta_sparse.bin.zst";
}

// A row is the sum of the numbers so far; a column too, anew in each row.
class RowColumnPositions final : public PositionSource {
 public:
  RowColumnPositions(NumberSource rows, NumberSource columns, uint64_t row_count, uint64_t column_count)
      : rows_(std::move(rows)), columns_(std::move(columns)), row_count_(row_count), column_count_(column_count) {}

  Result<std::optional<uint64_t>> Next() override {
    if (rows_.AtEnd()) return std::optional<uint64_t>();  // there are as many columns
    WD_ASSIGN(const uint64_t row_step, rows_.Next());
    WD_ASSIGN(const uint64_t column_step, columns_.Next());
    if (row_step != 0) column_ = 0;
    // Both are inside of the tensor and a step has 32 bits: no overflow.
    row_ += row_step;
    column_ += column_step;
    if (row_ >= row_count_) return Error{ErrorKind::kIntegrity, "a row lies outside of the tensor"};
    if (column_ >= column_count_) return Error{ErrorKind::kIntegrity, "a column lies outside of the tensor"};
    return std::optional(row_ * column_count_ + column_);
  }

 private:
  NumberSource rows_, columns_;
  uint64_t row_count_, column_count_, row_ = 0, column_ = 0;
};

// One entry of the header: what it says, and what follows from it.
struct GrailTensor {
  std::string name, value_dtype, row_dtype = "int32", column_dtype = "int32";
  std::optional<std::vector<uint64_t>> shape;
  std::optional<uint64_t> changed, indices_offset, indices_size, rows_size, columns_size, values_offset, values_size;
  Dtype dtype = Dtype::kBF16, rows = Dtype::kI32, columns = Dtype::kI32;
  uint64_t row_count = 1, column_count = 1;
};

Result<GrailTensor> ReadTensor(JsonReader& json) {
  GrailTensor tensor;
  const std::pair<std::string_view, std::string*> texts[] = {{"name", &tensor.name},
                                                             {"value_dtype", &tensor.value_dtype},
                                                             {"row_dtype", &tensor.row_dtype},
                                                             {"col_dtype", &tensor.column_dtype}};
  const std::pair<std::string_view, std::optional<uint64_t>*> numbers[] = {
      {"num_nonzero", &tensor.changed},       {"indices_offset", &tensor.indices_offset},
      {"indices_size", &tensor.indices_size}, {"rows_size", &tensor.rows_size},
      {"cols_size", &tensor.columns_size},    {"values_offset", &tensor.values_offset},
      {"values_size", &tensor.values_size}};
  bool named = false;
  WD_TRY(json.BeginObject());
  for (;;) {
    WD_ASSIGN(const std::optional<std::string_view> key, json.NextKey());
    if (!key) break;
    const auto is_key = [&](const auto& field) { return field.first == *key; };
    if (const auto text = std::ranges::find_if(texts, is_key); text != std::end(texts)) {
      named |= *key == "name";
      WD_ASSIGN(*text->second, json.String());
    } else if (const auto number = std::ranges::find_if(numbers, is_key); number != std::end(numbers)) {
      WD_ASSIGN(*number->second, json.UnsignedInteger());
    } else if (*key == "shape") {
      WD_ASSIGN(tensor.shape, ReadShape(json));
    } else {
      WD_TRY(json.Skip());
    }
  }
  if (!named) return Error{ErrorKind::kIntegrity, "a tensor has no name"};
  const bool complete = std::ranges::all_of(numbers, [](const auto& number) { return number.second->has_value(); });
  if (!complete || !tensor.shape)
    return Error{ErrorKind::kIntegrity, "tensor '" + Shorten(tensor.name) + "': its entry is not complete"};
  return tensor;
}

std::optional<Dtype> IndexDtypeOf(std::string_view name) {
  if (name == "uint8") return Dtype::kU8;
  if (name == "uint16") return Dtype::kU16;
  if (name == "int32") return Dtype::kI32;
  return std::nullopt;
}

std::optional<Dtype> ValueDtypeOf(std::string_view name) {
  if (name == "bfloat16") return Dtype::kBF16;
  if (name == "float16") return Dtype::kF16;
  if (name == "float32") return Dtype::kF32;
  return std::nullopt;
}

// Fills in what follows, or says what does not fit.
std::string Settle(GrailTensor& tensor) {
  const std::optional<Dtype> dtype = ValueDtypeOf(tensor.value_dtype), rows = IndexDtypeOf(tensor.row_dtype),
                             columns = IndexDtypeOf(tensor.column_dtype);
  if (!dtype) return "its values are '" + Shorten(tensor.value_dtype) + "'";
  if (!rows) return "its rows are '" + Shorten(tensor.row_dtype) + "'";
  if (!columns) return "its columns are '" + Shorten(tensor.column_dtype) + "'";
  tensor.dtype = *dtype, tensor.rows = *rows, tensor.columns = *columns;

  const std::optional<uint64_t> bytes = TensorBytes(*dtype, *tensor.shape);
  if (!bytes) return "its shape is too large";
  const uint64_t units = *bytes / UnitBytes(*dtype), changed = *tensor.changed;
  if (changed > units) return "it has more changes than elements";
  if (units > 0 && !tensor.shape->empty()) {
    tensor.row_count = tensor.shape->front();
    tensor.column_count = units / tensor.row_count;
  }
  // The bits of a tensor are counted in 64 bits, so it has less than 2^60 elements of two bytes: nothing overflows
  // here.
  const uint64_t rows_size = changed * UnitBytes(*rows), columns_size = changed * UnitBytes(*columns);
  if (*tensor.rows_size != rows_size || *tensor.columns_size != columns_size ||
      *tensor.indices_size != rows_size + columns_size || *tensor.values_size != changed * UnitBytes(*dtype)) {
    return "the sizes of its parts do not go with " + std::to_string(changed) + " changes";
  }
  return "";
}

class GrailDelta final : public ForeignDelta {
 public:
  GrailDelta(const std::string& path, const Environment& environment) : environment_(environment) { path_ = path; }

  std::string_view kind() const override { return kGrailKind; }

  Result<> Read() {
    Result<File> file = File::OpenForRead(DeltaFileOf(path_));
    const bool in_folder = file.ok();
    if (!in_folder) file = File::OpenForRead(path_);
    if (!file.ok()) return file.TakeError();
    WD_ASSIGN(const FileIdentity identity, file->Identify());
    bytes_ = identity.size;
    WD_TRY(Named("", Unpack(std::make_shared<const File>(std::move(*file)))));
    if (!in_folder) return {};
    WD_TRY(ReadVersions("metadata.json"));
    return ReadVersions("delta_metadata.json");
  }

  Result<std::unique_ptr<ForeignStream>> Open(size_t index, Dtype dtype,
                                              std::span<const uint64_t> shape) const override {
    WD_TRY(ExpectForm(*this, tensors_[index], dtype, shape));
    const GrailTensor& part = parts_[index];
    const uint64_t rows_at = *part.indices_offset, columns_at = rows_at + *part.rows_size;
    auto positions = std::make_unique<RowColumnPositions>(
        NumberSource(FilePart(data_, rows_at, columns_at), part.rows),
        NumberSource(FilePart(data_, columns_at, columns_at + *part.columns_size), part.columns), part.row_count,
        part.column_count);
    auto values = FilePart(data_, *part.values_offset, *part.values_offset + *part.values_size);
    const uint64_t units = part.row_count * part.column_count;
    return NamedStream(OverwriteStream(std::move(positions), std::move(values), UnitBytes(dtype), units), *this,
                       tensors_[index]);
  }

 private:
  // The failure of a part of this delta, told as one of the delta.
  Result<> Named(const std::string& part, Result<> result) const {
    if (result.ok() || result.error().kind != ErrorKind::kIntegrity || !result.error().path.empty()) return result;
    return ForeignError(kGrailKind, path_, part + result.error().message);
  }

  Result<> Unpack(std::shared_ptr<const File> packed) {
    FrameFile frame(std::move(packed));
    WD_ASSIGN(const Bytes length, frame.Take(4));
    const auto header_bytes = Load<uint32_t>(length.data());
    if (header_bytes > kMostHeaderBytes) return Error{ErrorKind::kIntegrity, "its header is too long"};
    WD_ASSIGN(const Bytes header, frame.Take(header_bytes));
    if (!ValidUtf8(header)) return Error{ErrorKind::kIntegrity, "its header is no UTF-8"};
    WD_TRY(CheckVersion(AsText(header)));
    WD_TRY(Named("header: ", ReadHeader(AsText(header))));
    WD_ASSIGN(const uint64_t data_bytes, PlaceParts());
    WD_ASSIGN(File data, File::CreateUnnamed(environment_));
    WD_TRY(frame.TakeRest(data_bytes, data, 0));
    data_ = std::make_shared<const File>(std::move(data));
    return {};
  }

  // Before anything else: the entries of another version look different.
  Result<> CheckVersion(std::string_view header) const {
    JsonReader json(header);
    std::optional<uint64_t> version;
    WD_TRY(json.BeginObject());
    for (;;) {
      WD_ASSIGN(const std::optional<std::string_view> key, json.NextKey());
      if (!key) break;
      if (*key == "version") {
        WD_ASSIGN(version, json.UnsignedInteger());
      } else {
        WD_TRY(json.Skip());
      }
    }
    WD_TRY(json.End());
    if (!version) return Error{ErrorKind::kIntegrity, "its header has no version"};
    if (*version == 3 || *version == 31) return {};
    return ForeignRefusal(kGrailKind, path_, "its version is " + std::to_string(*version),
                          "versions 3 and 31 can be read");
  }

  Result<> ReadHeader(std::string_view header) {
    JsonReader json(header);
    WD_TRY(json.BeginObject());
    for (;;) {
      WD_ASSIGN(const std::optional<std::string_view> key, json.NextKey());
      if (!key) return {};
      if (*key != "tensors") {
        WD_TRY(json.Skip());
        continue;
      }
      WD_TRY(json.BeginArray());
      for (;;) {
        WD_ASSIGN(const bool more, json.NextElement());
        if (!more) break;
        WD_ASSIGN(GrailTensor tensor, ReadTensor(json));
        if (const std::string why = Settle(tensor); !why.empty())
          return ForeignTensorError(kGrailKind, path_, tensor.name, why);
        parts_.push_back(std::move(tensor));
      }
    }
  }

  // The parts of the tensors must follow one another without gap or overlap; returns where the last one ends.
  Result<uint64_t> PlaceParts() {
    struct Range {
      uint64_t begin, length;
      const std::string* tensor;
    };
    std::vector<Range> ranges;
    for (const GrailTensor& part : parts_) {
      ranges.push_back({*part.indices_offset, *part.indices_size, &part.name});
      ranges.push_back({*part.values_offset, *part.values_size, &part.name});
    }
    std::ranges::sort(ranges, [](const Range& a, const Range& b) {
      return std::pair(a.begin, a.length) < std::pair(b.begin, b.length);
    });
    uint64_t end = 0;
    for (const Range& range : ranges) {
      if (range.begin != end || !CheckedAdd(end, range.length, &end) || end > INT64_MAX)
        return ForeignTensorError(kGrailKind, path_, *range.tensor, "its parts do not lie where they should");
    }
    std::ranges::sort(parts_, {}, &GrailTensor::name);
    for (const GrailTensor& part : parts_) {
      if (!tensors_.empty() && tensors_.back().name == part.name)
        return ForeignTensorError(kGrailKind, path_, part.name, "it is there twice");
      tensors_.push_back({part.name, part.dtype, part.shape});
    }
    return end;
  }

  // What a file beside the delta says about windows, as far as that is not known yet.
  Result<> ReadVersions(const std::string& name) {
    const Result<Bytes> read = ReadWholeFile(path_ + "/" + name, kMostMetadataBytes);
    if (!read.ok() && read.error().kind == ErrorKind::kNotFound) return {};
    if (!read.ok()) return Error(read.error());
    bytes_ += read->size();
    return Named(name + ": ", ReadWindows(*read));
  }

  Result<> ReadWindows(ByteSpan bytes) {
    if (!ValidUtf8(bytes)) return Error{ErrorKind::kIntegrity, "no UTF-8"};
    const std::string_view text = AsText(bytes);
    JsonReader json(text);
    WD_TRY(json.BeginObject());
    for (;;) {
      WD_ASSIGN(const std::optional<std::string_view> key, json.NextKey());
      if (!key) break;
      std::string* const version = *key == "window" ? &version_ : *key == "prev_window" ? &base_version_ : nullptr;
      if (version && version->empty()) {
        WD_ASSIGN(*version, ReadNumberText(json, text));
      } else {
        WD_TRY(json.Skip());
      }
    }
    return json.End();
  }

  std::shared_ptr<const File> data_;
  std::vector<GrailTensor> parts_;  // beside tensors_
  const Environment environment_;
};

}  // namespace

bool LooksLikeGrail(const std::string& path) {
  if (File::OpenForRead(DeltaFileOf(path)).ok()) return true;
  Result<File> file = File::OpenForRead(path);
  if (!file.ok() || !StartsLikeFrame(*file)) return false;
  FrameFile frame(std::make_shared<const File>(std::move(*file)));
  const Result<Bytes> length = frame.Take(4);
  if (!length.ok()) return false;
  const auto header_bytes = Load<uint32_t>(length->data());
  if (header_bytes > kMostHeaderBytes) return false;
  const Result<Bytes> header = frame.Take(std::min<uint64_t>(header_bytes, 256));
  return header.ok() && header->size() > 0 && header->front() == '{' && Contains(*header, "\"tensors\"");
}

Result<std::unique_ptr<ForeignDelta>> OpenGrail(const std::string& path, const Environment& environment) {
  auto delta = std::make_unique<GrailDelta>(path, environment);
  WD_TRY(delta->Read());
  return std::unique_ptr<ForeignDelta>(std::move(delta));
}

}  // namespace wdelta
