#include <algorithm>

#include "pack/pack_format.h"

namespace wdelta {

namespace {

constexpr int kIndexZstdLevel = 9;

class PackWriter final : public DeltaWriter {
 public:
  PackWriter(std::unique_ptr<ByteSink> sink, const DeltaIndex& plan, const PackOptions& options)
      : sink_(std::move(sink)),
        files_(plan.layout.file_count()),
        file_places_(plan.layout.file_count()),
        options_(options) {}

  Result<> Begin(const DeltaIndex& plan) {
    ByteWriter header;
    header.Raw(kPackMagic);
    header.Fixed(kPackVersion);
    header.Fixed(uint16_t{0});
    header.Fixed(plan.anchor ? kAnchorFlag : uint32_t{0});
    header.Fixed(uint32_t{0});
    WD_TRY(Write(header.bytes()));
    Bytes body;
    PutByteStream(EncodeLayout(plan), kIndexZstdLevel, body);
    return WriteSection(kLayoutSection, {body});
  }

  Result<> AddFileBlock(size_t file, uint64_t number, ByteSpan content) override {
    BlockDelta whole;
    whole.whole = true;
    PreparedBlock block;
    block.codec = EncodeBlock({{}, content, whole, Dtype::kU8}, options_.level, nullptr, block.coded);
    block.place.number = number;
    block.place.new_digest = ShortDigest(DigestBlock(content));
    return AddBlock(file, block, file_places_[file]);
  }

  Result<Bytes> Prepare(const BlockChange& change, uint8_t* codec) const override {
    Bytes coded;
    *codec = EncodeBlock(change, options_.level, options_.codec, coded);
    if (options_.check) WD_TRY(CheckDecodes(change, *codec, coded));
    return coded;
  }

  Result<> AddTensorBlock(const Tensor&, uint64_t ordinal, const PreparedBlock& block) override {
    if (tensor_places_.empty() || tensor_places_.back().first != ordinal) tensor_places_.push_back({ordinal, {}});
    return AddBlock(files_ + ordinal, block, tensor_places_.back().second);
  }

  Result<> Finish(const DeltaIndex& index) override {
    const uint64_t index_offset = written_;
    Bytes body;
    PutByteStream(EncodeIndex(index), kIndexZstdLevel, body);
    PutByteStream(EncodePlaces(index), kIndexZstdLevel, body);
    ByteWriter check;
    check.Fixed(ShortDigest(DigestBlock(body)));
    // The index and the end stay together.
    BeginPart(SectionBytes(check.bytes().size() + body.size()) + kEndSectionBytes);
    WD_TRY(WriteSection(kIndexSection, {check.bytes(), body}));

    ByteWriter end;
    end.Fixed(index_offset);
    end.Fixed(written_);
    end.Raw(sha256_so_far_.Clone().Finish());
    end.Raw(kPackMagic);
    WD_TRY(WriteSection(kEndSection, {end.bytes()}));
    EndPart();
    sha256_ = sha256_so_far_.Finish();
    return sink_->Commit();
  }

 private:
  // Begins a part of the file if the next `bytes` would make the one under way too long; DeltaReader::CutPoints has the
  // same rule. The first part is a beginning of the file, so that its digest is the one of the file up to here: only
  // what comes after it is hashed twice.
  void BeginPart(uint64_t bytes) {
    if (written_ + bytes - part_begin_ <= options_.max_part_bytes) return;
    EndPart();
    part_sha256_.emplace();
    part_begin_ = written_;
  }
  void EndPart() {
    Sha256 sha256 = part_sha256_ ? std::move(*part_sha256_) : sha256_so_far_.Clone();
    parts_.push_back({sha256.Finish(), written_ - part_begin_});
  }

  static uint64_t SectionBytes(uint64_t body) {
    ByteWriter length;
    length.Varint(body);
    return 1 + length.bytes().size() + body;
  }

  Result<> Write(ByteSpan data) {
    sha256_so_far_.Update(data);
    if (part_sha256_) part_sha256_->Update(data);
    written_ += data.size();
    return sink_->Write(data);
  }

  Result<> WriteSection(uint8_t type, std::initializer_list<ByteSpan> parts) {
    uint64_t length = 0;
    for (const ByteSpan part : parts) length += part.size();
    ByteWriter head;
    head.Fixed(type);
    head.Varint(length);
    WD_TRY(Write(head.bytes()));
    for (const ByteSpan part : parts) WD_TRY(Write(part));
    return {};
  }

  Result<> AddBlock(uint64_t stream, const PreparedBlock& block, StreamPlace& place) {
    ByteWriter head;
    head.Varint(stream);
    head.Varint(block.place.number);
    head.Fixed(static_cast<uint8_t>(block.codec | (block.place.has_old ? kHasOldFlag : 0)));
    if (block.place.has_old) head.Fixed(block.place.old_digest);
    head.Fixed(block.place.new_digest);
    BlockHasher hasher;
    hasher.Update(head.bytes());
    hasher.Update(block.coded);
    ByteWriter check;
    check.Fixed(static_cast<uint32_t>(ShortDigest(hasher.Finish())));
    BeginPart(SectionBytes(check.bytes().size() + head.bytes().size() + block.coded.size()));
    if (place.bytes == 0) place.offset = written_;
    WD_TRY(WriteSection(kBlockSection, {check.bytes(), head.bytes(), block.coded}));
    place.bytes = written_ - place.offset;
    return {};
  }

  // In the order of the layout's carried files, then of the index's records.
  Bytes EncodePlaces(const DeltaIndex& index) {
    ByteWriter out;
    uint64_t previous_end = 0;
    for (size_t file = 0; file < files_; ++file) {
      if (index.carried[file]) PutPlace(out, file_places_[file], previous_end);
    }
    std::ranges::sort(tensor_places_, {}, &std::pair<uint64_t, StreamPlace>::first);
    auto at = tensor_places_.begin();
    for (const TensorRecord& record : index.tensors) {
      const bool found = at != tensor_places_.end() && at->first == record.ordinal;
      PutPlace(out, found ? (at++)->second : StreamPlace{}, previous_end);
    }
    return out.Take();
  }
  // A stream mostly begins where the one before it ended, so its offset is said as a step from there.
  static void PutPlace(ByteWriter& out, const StreamPlace& place, uint64_t& previous_end) {
    out.Varint(place.bytes);
    if (place.bytes == 0) return;
    out.Varint(Fold<uint64_t>(place.offset - previous_end));
    previous_end = place.offset + place.bytes;
  }

  std::unique_ptr<ByteSink> sink_;
  size_t files_;
  std::vector<StreamPlace> file_places_;
  std::vector<std::pair<uint64_t, StreamPlace>> tensor_places_;  // by ordinal
  PackOptions options_;
  Sha256 sha256_so_far_;
  uint64_t part_begin_ = 0;
  std::optional<Sha256> part_sha256_;  // from the second part on
};

}  // namespace

Result<std::unique_ptr<DeltaWriter>> CreatePack(const std::string& path, const DeltaIndex& plan,
                                                const PackOptions& options) {
  WD_ASSIGN(auto sink, OpenSink(path));
  auto writer = std::make_unique<PackWriter>(std::move(sink), plan, options);
  WD_TRY(writer->Begin(plan));
  return std::unique_ptr<DeltaWriter>(std::move(writer));
}

}  // namespace wdelta
