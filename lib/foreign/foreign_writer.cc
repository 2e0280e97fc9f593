#include "foreign/foreign_writer.h"

#include <algorithm>
#include <cstring>

namespace wdelta {

namespace {

constexpr int kZstdLevel = 1;  // as all of them have it

}  // namespace

Result<> FrameSpool::Begin(const Tensor& tensor) {
  current_ = {.name = std::string(tensor.name),
              .dtype = tensor.dtype,
              .shape = {tensor.shape.begin(), tensor.shape.end()},
              .tensor_bytes = tensor.bytes,
              .begin = spool_.size()};
  hasher_ = std::make_unique<ForeignHasher>(checksum_);
  passed_ = 0;
  changed_ = false;
  positions_.CutBack(0);
  values_.CutBack(0);
  if (!overwrite_) {
    sink_ =
        std::make_unique<ZstdSink>(kZstdLevel, tensor.bytes, [this](ByteSpan frame) { return spool_.Append(frame); });
  }
  return {};
}

Result<> FrameSpool::Add(ByteSpan old_block, ByteSpan new_block) {
  hasher_->Update(new_block);
  const bool same = std::memcmp(old_block.data(), new_block.data(), new_block.size()) == 0;
  changed_ |= !same;
  const uint64_t begin = passed_;
  passed_ += new_block.size();
  if (!overwrite_) {
    work_.resize(new_block.size());
    for (size_t i = 0; i < work_.size(); ++i) work_[i] = old_block[i] ^ new_block[i];
    return sink_->Write(work_);
  }
  if (same) return {};
  BlockDelta changes;
  ListChanges(old_block, new_block, 1, changes);
  work_.resize(4 * changes.positions.size());
  for (size_t i = 0; i < changes.positions.size(); ++i) {
    Store(work_.data() + 4 * i, static_cast<uint32_t>(begin + changes.positions[i]));
  }
  WD_TRY(positions_.Append(work_));
  return values_.Append(changes.values);
}

// The count comes first, so the frame is made when all of the tensor has passed.
Result<> FrameSpool::EndOverwrite() {
  const uint64_t count = values_.size();
  ZstdSink sink(kZstdLevel, 4 + 5 * count, [this](ByteSpan frame) { return spool_.Append(frame); });
  uint8_t count_bytes[4];
  Store(count_bytes, static_cast<uint32_t>(count));
  WD_TRY(sink.Write(count_bytes));
  for (const ByteSpool* part : {&positions_, &values_}) {
    WD_TRY(part->CopyTo(0, part->size(), [&](ByteSpan piece) { return sink.Write(piece); }));
  }
  return sink.Finish();
}

Result<> FrameSpool::End() {
  if (!changed_) {
    spool_.CutBack(current_.begin);
    return {};
  }
  if (overwrite_) {
    WD_TRY(EndOverwrite());
  } else {
    WD_TRY(sink_->Finish());
  }
  current_.end = spool_.size();
  current_.checksum = hasher_->Finish();
  frames_.push_back(std::move(current_));
  return {};
}

size_t FrameSpool::FramesIn(size_t first, uint64_t most) const {
  size_t last = first + 1;
  while (last < frames_.size() && frames_[last].end - frames_[first].begin <= most) ++last;
  return last - first;
}

Result<uint64_t> FrameSpool::WriteShard(const std::string& path, size_t first, size_t last, bool with_checksums) const {
  std::vector<NewTensor> tensors;
  std::vector<std::pair<std::string, std::string>> metadata;
  for (size_t i = first; i < last; ++i) {
    tensors.push_back({frames_[i].name, Dtype::kU8, {frames_[i].end - frames_[i].begin}});
    if (with_checksums) metadata.emplace_back(frames_[i].name, frames_[i].checksum);
  }
  WD_ASSIGN(const Bytes header, EncodeSafetensorsHeader(tensors, metadata));
  WD_ASSIGN(const auto sink, OpenSink(path));
  WD_TRY(sink->Write(header));
  for (size_t i = first; i < last; ++i) {
    WD_TRY(spool_.CopyTo(frames_[i].begin, frames_[i].end, [&](ByteSpan piece) { return sink->Write(piece); }));
  }
  WD_TRY(sink->Commit());
  return sink->written();
}

}  // namespace wdelta
