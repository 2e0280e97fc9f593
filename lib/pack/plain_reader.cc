#include <algorithm>

#include "pack/plain_format.h"

namespace wdelta {

namespace {

class PlainReader final : public DeltaReader {
 public:
  PlainReader(File file, std::string path, SafetensorsHeader header)
      : file_(std::move(file)), header_(std::move(header)) {
    path_ = std::move(path);
    for (size_t i = 0; i < header_.tensor_count(); ++i) by_name_.push_back(header_.tensor(i));
    std::ranges::sort(by_name_, {}, &TensorEntry::name);
  }

  std::string_view kind() const override { return "plain delta"; }

  Result<> Open() {
    WD_ASSIGN(const FileIdentity identity, file_.Identify());
    bytes_ = identity.size;
    return Named(ReadAll());
  }

  Result<std::vector<BlockPlace>> TensorBlocks(size_t record) const override { return parts_[record].blocks; }

  // `at` and `length` of a place count entries of the indices.
  Result<> DecodeTensorBlock(size_t record, const BlockPlace& place, ByteSpan, BlockDelta& delta) const override {
    const TensorRecord& tensor = index_.tensors[record];
    const Part& part = parts_[record];
    delta.Clear();
    if (!tensor.HasBase()) {
      delta.whole = true;
      delta.values.resize(BlockLength(part.values.end - part.values.begin, place.number));
      return ReadPart(part.values, place.number * kBlockBytes, delta.values);
    }
    const unsigned unit = UnitBytes(tensor.dtype), width = DtypeBits(part.indices.dtype) / 8;
    Bytes indices(place.length * width);
    WD_TRY(ReadPart(part.indices, place.at * width, indices));
    const uint64_t first_unit = place.number * (kBlockBytes / unit);
    for (uint64_t i = 0; i < place.length; ++i) {
      delta.positions.push_back(static_cast<uint32_t>(LoadIndex(indices, i, width) - first_unit));
    }
    delta.values.resize(place.length * unit);
    return ReadPart(part.values, place.at * unit, delta.values);
  }

  Result<Bytes> ReadFileBlock(size_t file, uint64_t number) const override {
    WD_ASSIGN(const TensorEntry entry, Find(std::string(kPlainFile) + index_.layout.file(file).path));
    Bytes content(BlockLength(entry.end - entry.begin, number));
    WD_TRY(ReadPart(entry, number * kBlockBytes, content));
    return content;
  }

  Result<> CheckWhole() const override {  // Open has seen the rest that needs no base
    BlockDelta delta;
    for (size_t record = 0; record < index_.tensors.size(); ++record) {
      if (index_.tensors[record].HasBase()) continue;
      for (const BlockPlace& place : parts_[record].blocks) {
        WD_TRY(DecodeTensorBlock(record, place, {}, delta));
        if (ShortDigest(DigestBlock(delta.values)) != place.new_digest)
          return Wrong("tensor '" + index_.tensors[record].name + "'");
      }
    }
    WD_ASSIGN(const std::string damaged, FindDamagedFile());
    if (!damaged.empty()) return Wrong("file '" + damaged + "'");
    return {};
  }

 private:
  // What one record has in the file.
  struct Part {
    TensorEntry indices, values;
    std::vector<BlockPlace> blocks;
  };

  Result<> ReadAll() {
    if (header_.Metadata(kPlainVersionKey) != "1") {
      return Error{ErrorKind::kRefused, "'" + path_ + "' is a safetensors file, but no delta that wdelta knows",
                   "a delta comes from 'wdelta diff -o' or 'wdelta pack'"}
          .At(path_);
    }
    WD_ASSIGN(const Bytes layout, ReadStream(kPlainLayout));
    WD_TRY(DecodeLayout(layout, index_));
    WD_ASSIGN(const Bytes index, ReadStream(kPlainIndex));
    WD_TRY(DecodeIndex(index, index_));
    size_t expected = 3;
    for (size_t file = 0; file < index_.layout.file_count(); ++file) {
      if (!index_.carried[file] || index_.layout.file(file).bytes == 0) continue;
      WD_TRY(
          Expect(std::string(kPlainFile) + index_.layout.file(file).path, Dtype::kU8, index_.layout.file(file).bytes));
      ++expected;
    }
    WD_ASSIGN(const Bytes blocks, ReadEntry(kPlainBlocks, UINT64_MAX));
    ByteReader in(blocks);
    for (const TensorRecord& record : index_.tensors) {
      Result<> read = ReadPartOf(record, in);
      if (!read.ok()) {
        auto error = read.TakeError();
        error->message = "tensor '" + record.name + "': " + error->message;
        error->tensor = record.name;
        return error;
      }
      expected += record.HasBase() ? 2 : parts_.back().blocks.empty() ? 0 : 1;
    }
    WD_TRY(in.ExpectEnd());
    if (expected != by_name_.size()) return Error{ErrorKind::kIntegrity, "holds tensors that its index does not name"};
    return {};
  }

  Error Wrong(const std::string& what) const {
    return Error{ErrorKind::kIntegrity, "plain delta '" + path_ + "': " + what + " does not have its digest"}.At(path_);
  }

  Result<TensorEntry> Find(const std::string& name) const {
    const auto at = std::ranges::lower_bound(by_name_, name, {}, &TensorEntry::name);
    if (at == by_name_.end() || at->name != name) return Error{ErrorKind::kIntegrity, "'" + name + "' is missing"};
    return *at;
  }

  Result<TensorEntry> Expect(const std::string& name, Dtype dtype, std::span<const uint64_t> shape) const {
    WD_ASSIGN(const TensorEntry entry, Find(name));
    if (entry.dtype != dtype || !std::equal(shape.begin(), shape.end(), entry.shape.begin(), entry.shape.end())) {
      return Error{ErrorKind::kIntegrity, "'" + name + "' has the wrong type or shape"};
    }
    return entry;
  }
  Result<TensorEntry> Expect(const std::string& name, Dtype dtype, uint64_t length) const {
    return Expect(name, dtype, std::span(&length, 1));
  }

  Result<> ReadPart(const TensorEntry& entry, uint64_t at, MutableByteSpan out) const {
    return file_.ReadAt(header_.bytes().size() + entry.begin + at, out);
  }

  Result<Bytes> ReadEntry(std::string_view name, uint64_t most) const {
    WD_ASSIGN(const TensorEntry entry, Find(std::string(name)));
    if (entry.end - entry.begin > most) return Error{ErrorKind::kIntegrity, "'" + std::string(name) + "' too long"};
    Bytes bytes(entry.end - entry.begin);
    WD_TRY(ReadPart(entry, 0, bytes));
    return bytes;
  }

  Result<Bytes> ReadStream(std::string_view name) const {
    WD_ASSIGN(const Bytes bytes, ReadEntry(name, kMaxIndexBytes));
    ByteReader in(bytes);
    WD_ASSIGN(Bytes content, TakeByteStream(in, MaxUnpacked(bytes.size())));
    WD_TRY(in.ExpectEnd());
    return content;
  }

  static uint64_t LoadIndex(ByteSpan indices, uint64_t i, unsigned width) {  // a negative one comes out too large
    return width == 8 ? Load<uint64_t>(indices.data() + i * 8) : Load<uint32_t>(indices.data() + i * 4);
  }

  Result<> ReadPartOf(const TensorRecord& record, ByteReader& digests) {
    const uint64_t bytes = *TensorBytes(record.dtype, record.shape);
    Part& part = parts_.emplace_back();
    if (!record.HasBase()) {
      for (uint64_t number = 0; number < BlockCount(bytes); ++number) {
        BlockPlace place;
        place.number = number;
        WD_ASSIGN(place.new_digest, digests.Fixed<uint64_t>());
        part.blocks.push_back(place);
      }
      if (bytes > 0) {
        WD_ASSIGN(part.values, Expect(std::string(kPlainNew) + record.name, record.dtype, record.shape));
      }
      return {};
    }
    for (;;) {
      WD_ASSIGN(const uint64_t number, digests.Varint());
      if (number == 0) break;
      BlockPlace place;
      place.number = number - 1;
      place.has_old = true;
      WD_ASSIGN(place.old_digest, digests.Fixed<uint32_t>());
      WD_ASSIGN(place.new_digest, digests.Fixed<uint64_t>());
      if (!part.blocks.empty() && place.number <= part.blocks.back().number) {
        return Error{ErrorKind::kIntegrity, "blocks out of order"};
      }
      part.blocks.push_back(place);
    }
    const unsigned unit = UnitBytes(record.dtype);
    const Dtype index_dtype = IndexDtype(bytes / unit);
    WD_ASSIGN(part.values, Find(record.name + std::string(kValuesEnding)));
    const uint64_t count = (part.values.end - part.values.begin) / unit;
    WD_ASSIGN(part.values, Expect(record.name + std::string(kValuesEnding), ValueDtype(record.dtype), count));
    WD_ASSIGN(part.indices, Expect(record.name + std::string(kIndicesEnding), index_dtype, count));
    if (part.blocks.empty()) return Error{ErrorKind::kIntegrity, "no block that changed"};
    return PlaceIndices(part, count, bytes / unit, kBlockBytes / unit);
  }

  // Reads the indices once: they must rise, stay inside the tensor, and fall into just the blocks that have digests.
  Result<> PlaceIndices(Part& part, uint64_t count, uint64_t units, uint64_t units_per_block) const {
    const unsigned width = DtypeBits(part.indices.dtype) / 8;
    Bytes piece(std::min<uint64_t>(count, 32 << 10) * width);
    uint64_t next = 0;  // the first unit that an index may still name
    auto block = part.blocks.begin();
    for (uint64_t done = 0; done < count;) {
      const uint64_t run = std::min<uint64_t>(piece.size() / width, count - done);
      WD_TRY(ReadPart(part.indices, done * width, MutableByteSpan(piece).first(run * width)));
      for (uint64_t i = 0; i < run; ++i, ++done) {
        const uint64_t index = LoadIndex(piece, i, width);
        if (index >= units) return Error{ErrorKind::kIntegrity, "index outside the tensor"};
        if (index < next) return Error{ErrorKind::kIntegrity, "indices do not rise"};
        next = index + 1;
        while (block != part.blocks.end() && block->number < index / units_per_block) ++block;
        if (block == part.blocks.end() || block->number != index / units_per_block) {
          return Error{ErrorKind::kIntegrity, "index in a block without a digest"};
        }
        if (block->length++ == 0) block->at = done;
      }
    }
    return {};
  }

  File file_;
  SafetensorsHeader header_;
  std::vector<TensorEntry> by_name_;
  std::vector<Part> parts_;  // by record
};

}  // namespace

Result<std::unique_ptr<DeltaReader>> OpenPlainDelta(File file, std::string path) {
  WD_ASSIGN(SafetensorsHeader header, SafetensorsHeader::Read(file));
  auto reader = std::make_unique<PlainReader>(std::move(file), std::move(path), std::move(header));
  WD_TRY(reader->Open());
  return std::unique_ptr<DeltaReader>(std::move(reader));
}

}  // namespace wdelta
