// grail's sparse deltas, versions 3 and 3.1: one zstd frame of a JSON header, then for each tensor the rows, the
// columns and the values of what changed. A tensor is seen as shape[0] rows of all its other dimensions.
#include <algorithm>

#include "core/text.h"
#include "foreign/foreign_parts.h"

namespace wdelta {

namespace {

constexpr uint64_t kMostHeaderBytes = 64 << 20;
constexpr uint64_t kMostMetadataBytes = 64 << 20;

std::string DeltaFileOf(const std::string& folder) {
  return folder + "/delta_sparse.bin.zst";
}

// A row is the sum of the numbers so far; a column too, from zero in each row.
PositionSource RowColumnPositions(NumberSource rows, NumberSource columns, uint64_t row_count, uint64_t column_count) {
  return [=, row = uint64_t{0}, column = uint64_t{0}]() mutable -> Result<std::optional<uint64_t>> {
    if (rows.AtEnd()) return std::optional<uint64_t>();  // there are as many columns
    WD_ASSIGN(const uint64_t row_step, rows.Next());
    WD_ASSIGN(const uint64_t column_step, columns.Next());
    if (row_step != 0) column = 0;
    // Both are inside of the tensor and a step has 32 bits: no overflow.
    row += row_step;
    column += column_step;
    if (row >= row_count) return Error{ErrorKind::kIntegrity, "a row lies outside of the tensor"};
    if (column >= column_count) return Error{ErrorKind::kIntegrity, "a column lies outside of the tensor"};
    return std::optional(row * column_count + column);
  };
}

// One entry of the header: what it says, and what follows from it.
struct GrailTensor {
  std::string name, value_dtype, row_dtype = "int32", column_dtype = "int32";
  std::vector<uint64_t> shape;
  uint64_t changed = 0, indices_offset = 0, indices_size = 0, rows_size = 0, columns_size = 0, values_offset = 0,
           values_size = 0;
  Dtype dtype = Dtype::kBF16, rows = Dtype::kI32, columns = Dtype::kI32;
  uint64_t row_count = 1, column_count = 1;
};

Result<GrailTensor> ReadTensor(JsonReader& json) {
  GrailTensor tensor;
  const std::pair<std::string_view, uint64_t*> numbers[] = {
      {"num_nonzero", &tensor.changed},       {"indices_offset", &tensor.indices_offset},
      {"indices_size", &tensor.indices_size}, {"rows_size", &tensor.rows_size},
      {"cols_size", &tensor.columns_size},    {"values_offset", &tensor.values_offset},
      {"values_size", &tensor.values_size}};
  bool named = false, shaped = false;
  size_t numbers_read = 0;
  WD_TRY(json.Object([&](std::string_view key) -> Result<> {
    named |= key == "name";
    shaped |= key == "shape";
    if (key == "name") return json.Into(tensor.name);
    if (key == "shape") return ReadShape(json, tensor.shape);
    if (key == "value_dtype") return json.Into(tensor.value_dtype);
    if (key == "row_dtype") return json.Into(tensor.row_dtype);
    if (key == "col_dtype") return json.Into(tensor.column_dtype);
    const auto* number = std::ranges::find(numbers, key, &std::pair<std::string_view, uint64_t*>::first);
    if (number == std::end(numbers)) return json.Skip();
    ++numbers_read;
    return json.Into(*number->second);
  }));
  if (!named) return Error{ErrorKind::kIntegrity, "a tensor has no name"};
  if (!shaped || numbers_read != std::size(numbers))
    return Error{ErrorKind::kIntegrity, "tensor '" + Shorten(tensor.name) + "': its entry is not complete"};
  return tensor;
}

// The type of this name, if it is one of `allowed`.
std::optional<Dtype> DtypeOf(std::string_view name, std::initializer_list<Dtype> allowed) {
  const auto* found = std::ranges::find(allowed, name, TorchName);
  return found == allowed.end() ? std::nullopt : std::optional(*found);
}

// Fills in what follows, or says what does not fit.
std::string Settle(GrailTensor& tensor) {
  const std::initializer_list<Dtype> indices = {Dtype::kU8, Dtype::kU16, Dtype::kI32};
  const std::optional<Dtype> dtype = DtypeOf(tensor.value_dtype, {Dtype::kBF16, Dtype::kF16, Dtype::kF32}),
                             rows = DtypeOf(tensor.row_dtype, indices), columns = DtypeOf(tensor.column_dtype, indices);
  if (!dtype) return "its values are '" + Shorten(tensor.value_dtype) + "'";
  if (!rows) return "its rows are '" + Shorten(tensor.row_dtype) + "'";
  if (!columns) return "its columns are '" + Shorten(tensor.column_dtype) + "'";
  tensor.dtype = *dtype, tensor.rows = *rows, tensor.columns = *columns;

  const std::optional<uint64_t> bytes = TensorBytes(*dtype, tensor.shape);
  if (!bytes) return "its shape is too large";
  const uint64_t units = *bytes / UnitBytes(*dtype), changed = tensor.changed;
  if (changed > units) return "it has more changes than elements";
  if (units > 0 && !tensor.shape.empty()) {
    tensor.row_count = tensor.shape.front();
    tensor.column_count = units / tensor.row_count;
  }
  // The bits of a tensor are counted in 64 bits, so it has less than 2^60 elements of two bytes: nothing overflows
  // here.
  const uint64_t rows_size = changed * UnitBytes(*rows), columns_size = changed * UnitBytes(*columns);
  if (tensor.rows_size != rows_size || tensor.columns_size != columns_size ||
      tensor.indices_size != rows_size + columns_size || tensor.values_size != changed * UnitBytes(*dtype)) {
    return "the sizes of its parts do not go with " + std::to_string(changed) + " changes";
  }
  return "";
}

class GrailDelta final : public ForeignDelta {
 public:
  GrailDelta(const std::string& path, const Environment& environment)
      : ForeignDelta("grail delta", path), environment_(environment) {}

  Result<> Read() {
    Result<File> file = File::OpenForRead(DeltaFileOf(path_));
    const bool in_folder = file.ok();
    if (!in_folder) file = File::OpenForRead(path_);
    if (!file.ok()) return file.TakeError();
    WD_ASSIGN(const FileIdentity identity, file->Identify());
    bytes_ = identity.size;
    WD_TRY(Named("", Unpack({std::make_shared<const File>(std::move(*file)), 0, bytes_})));
    if (!in_folder) return {};
    WD_TRY(ReadVersions("metadata.json"));
    return ReadVersions("delta_metadata.json");
  }

 private:
  Result<std::unique_ptr<ForeignStream>> OpenStream(size_t index, Dtype dtype,
                                                    std::span<const uint64_t>) const override {
    const GrailTensor& part = parts_[index];
    const uint64_t rows_at = part.indices_offset, columns_at = rows_at + part.rows_size;
    return OverwriteStream(RowColumnPositions({{data_, rows_at, columns_at}, part.rows},
                                              {{data_, columns_at, columns_at + part.columns_size}, part.columns},
                                              part.row_count, part.column_count),
                           FilePart({data_, part.values_offset, part.values_offset + part.values_size}),
                           UnitBytes(dtype), part.row_count * part.column_count);
  }

  Result<> Unpack(FileRange packed) {
    FrameReader frame(std::move(packed));
    WD_ASSIGN(const Bytes length, frame.Take(4));
    const auto header_bytes = Load<uint32_t>(length.data());
    if (header_bytes > kMostHeaderBytes) return Error{ErrorKind::kIntegrity, "its header is too long"};
    WD_ASSIGN(const Bytes header, frame.Take(header_bytes));
    if (!ValidUtf8(header)) return Error{ErrorKind::kIntegrity, "its header is not UTF-8"};
    WD_TRY(CheckVersion(AsText(header)));
    WD_TRY(Named("header: ", ReadHeader(AsText(header))));
    WD_ASSIGN(const uint64_t data_bytes, PlaceParts());
    WD_ASSIGN(File data, File::CreateUnnamed(environment_));
    WD_TRY(frame.Unpack(data_bytes, data, 0));
    WD_TRY(frame.ExpectEnd());
    data_ = std::make_shared<const File>(std::move(data));
    return {};
  }

  // Before anything else: the entries of another version look different.
  Result<> CheckVersion(std::string_view header) const {
    JsonReader json(header);
    std::optional<uint64_t> version;
    WD_TRY(json.Object([&](std::string_view key) { return key == "version" ? json.Into(version) : json.Skip(); }));
    WD_TRY(json.End());
    if (!version) return Error{ErrorKind::kIntegrity, "its header has no version"};
    if (*version == 3 || *version == 31) return {};
    return Refusal("its version is " + std::to_string(*version), "versions 3 and 31 can be read");
  }

  Result<> ReadHeader(std::string_view header) {
    JsonReader json(header);
    return json.Object([&](std::string_view key) -> Result<> {
      if (key != "tensors") return json.Skip();
      return json.Array([&]() -> Result<> {
        WD_ASSIGN(GrailTensor tensor, ReadTensor(json));
        if (const std::string why = Settle(tensor); !why.empty()) return Wrong(tensor.name, why);
        parts_.push_back(std::move(tensor));
        return {};
      });
    });
  }

  // The parts of the tensors must follow one another without gap or overlap; returns where the last one ends.
  Result<uint64_t> PlaceParts() {
    struct Range {
      uint64_t begin, length;
      const std::string* tensor;
    };
    std::vector<Range> ranges;
    for (const GrailTensor& part : parts_) {
      ranges.push_back({part.indices_offset, part.indices_size, &part.name});
      ranges.push_back({part.values_offset, part.values_size, &part.name});
    }
    std::ranges::sort(ranges, [](const Range& a, const Range& b) {
      return std::pair(a.begin, a.length) < std::pair(b.begin, b.length);
    });
    uint64_t end = 0;
    for (const Range& range : ranges) {
      if (range.begin != end || !CheckedAdd(end, range.length, &end) || end > INT64_MAX)
        return Wrong(*range.tensor, "its parts do not lie where they should");
    }
    WD_TRY(ListTensors(parts_));
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
    if (!ValidUtf8(bytes)) return Error{ErrorKind::kIntegrity, "not UTF-8"};
    const std::string_view text = AsText(bytes);
    JsonReader json(text);
    WD_TRY(json.Object([&](std::string_view key) -> Result<> {
      std::string* const version = key == "window" ? &version_ : key == "prev_window" ? &base_version_ : nullptr;
      return version && version->empty() ? ReadNumberText(json, text, *version) : json.Skip();
    }));
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
  const Result<FileIdentity> identity = file->Identify();
  if (!identity.ok()) return false;
  FrameReader frame({std::make_shared<const File>(std::move(*file)), 0, identity->size});
  const Result<Bytes> length = frame.Take(4);
  if (!length.ok()) return false;
  const auto header_bytes = Load<uint32_t>(length->data());
  if (header_bytes > kMostHeaderBytes) return false;
  const Result<Bytes> header = frame.Take(std::min<uint64_t>(header_bytes, 256));
  return header.ok() && header->size() > 0 && header->front() == '{' && Contains(*header, "\"tensors\"");
}

Result<std::unique_ptr<ForeignDelta>> OpenGrail(const std::string& path, const Environment& environment) {
  return OpenAs<GrailDelta>(path, environment);
}

}  // namespace wdelta
