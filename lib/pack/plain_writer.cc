#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/text.h"
#include "pack/plain_format.h"

namespace wdelta {

namespace {

// A tensor of the new file, and where its bytes wait.
struct Waiting {
  NewTensor tensor;
  const ByteSpool* spool = nullptr;
  uint64_t at = 0, bytes = 0;
};

// As Python prints it, because that is what readers of this metadata compare with.
std::string PythonFloat(double value) {
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".en") == std::string::npos) text += ".0";
  return text;
}

// The sizes of a safetensors file stand in front of its data, so the data are spooled until all sizes are known.
class PlainWriter final : public DeltaWriter {
 public:
  PlainWriter(std::unique_ptr<ByteSink> sink, const DeltaIndex& plan, const Environment& environment)
      : sink_(std::move(sink)), indices_(environment), values_(environment), plan_(plan) {}

  Result<> AddFileBlock(size_t file, uint64_t number, ByteSpan content) override {
    if (number == 0) {
      const LayoutFile& entry = plan_.layout.file(file);
      Wait({std::string(kPlainFile) + entry.path, Dtype::kU8, {entry.bytes}}, values_, entry.bytes);
    }
    return values_.Append(content);
  }

  Result<Bytes> Prepare(const BlockChange& change, uint8_t*) const override {
    if (change.old_block.empty()) return Bytes(change.new_block.begin(), change.new_block.end());
    BlockDelta delta;  // with every position, also when most of the block changed
    ListChanges(change.old_block, change.new_block, UnitBytes(change.dtype), delta);
    ByteWriter out;
    out.Raw({reinterpret_cast<const uint8_t*>(delta.positions.data()), delta.positions.size() * sizeof(uint32_t)});
    out.Raw(delta.values);
    return out.Take();
  }

  Result<> AddTensorBlock(const Tensor& tensor, uint64_t ordinal, const PreparedBlock& block) override {
    const bool first = !blocks_.contains(ordinal);
    if (first && tensor.name.starts_with(kReservedPrefix)) {
      return Error{ErrorKind::kRefused,
                   "tensor '" + std::string(tensor.name) + "' has a name that plain deltas reserve",
                   "'wdelta pack' has no such limit"}
          .OfTensor(tensor.name);
    }
    ByteWriter& digests = blocks_[ordinal];
    if (!block.place.has_old) {
      if (first) {
        Wait({std::string(kPlainNew) + std::string(tensor.name), tensor.dtype,
              std::vector(tensor.shape.begin(), tensor.shape.end())},
             values_, tensor.bytes);
      }
      digests.Fixed(block.place.new_digest);
      return values_.Append(block.coded);
    }
    digests.Varint(block.place.number + 1);
    digests.Fixed(block.place.old_digest);
    digests.Fixed(block.place.new_digest);
    return AppendChanges(tensor, first, block);
  }

  Result<> Finish(const DeltaIndex& index) override {
    ByteWriter blocks;
    for (const TensorRecord& record : index.tensors) {
      if (const auto at = blocks_.find(record.ordinal); at != blocks_.end()) blocks.Raw(at->second.bytes());
      if (record.HasBase()) blocks.Varint(0);  // no more blocks
    }
    Bytes layout, body;
    PutByteStream(EncodeLayout(index), 9, layout);
    PutByteStream(EncodeIndex(index), 9, body);
    for (const auto& [name, bytes] : {std::pair{kPlainLayout, ByteSpan(layout)}, std::pair{kPlainIndex, ByteSpan(body)},
                                      std::pair{kPlainBlocks, ByteSpan(blocks.bytes())}}) {
      Wait({std::string(name), Dtype::kU8, {bytes.size()}}, values_, bytes.size());
      WD_TRY(values_.Append(bytes));
    }
    // Wide types first, as the reference writer does it: then every tensor is aligned to its own elements.
    std::stable_sort(waiting_.begin(), waiting_.end(),
                     [](const Waiting& a, const Waiting& b) { return a.tensor.dtype > b.tensor.dtype; });
    std::vector<NewTensor> tensors;
    for (const Waiting& waiting : waiting_) tensors.push_back(waiting.tensor);
    WD_ASSIGN(const Bytes header, EncodeSafetensorsHeader(tensors, Metadata(index)));
    WD_TRY(sink_->Write(header));
    for (const Waiting& waiting : waiting_) {
      WD_TRY(waiting.spool->CopyTo(waiting.at, waiting.at + waiting.bytes,
                                   [&](ByteSpan piece) { return sink_->Write(piece); }));
    }
    written_ = sink_->written();
    return sink_->Commit();
  }

 private:
  void Wait(NewTensor tensor, const ByteSpool& spool, uint64_t bytes) {
    waiting_.push_back({std::move(tensor), &spool, spool.size(), bytes});
  }

  Result<> AppendChanges(const Tensor& tensor, bool first, const PreparedBlock& block) {
    const unsigned unit = UnitBytes(tensor.dtype);
    const size_t count = block.coded.size() / (sizeof(uint32_t) + unit);
    const Dtype index_dtype = IndexDtype(tensor.units());
    if (first) {
      const std::string name(tensor.name);
      Wait({name + std::string(kIndicesEnding), index_dtype, {0}}, indices_, 0);
      Wait({name + std::string(kValuesEnding), ValueDtype(tensor.dtype), {0}}, values_, 0);
    }
    const uint64_t first_unit = block.place.number * (kBlockBytes / unit);
    ByteWriter indices;
    for (size_t i = 0; i < count; ++i) {
      const uint64_t index = first_unit + Load<uint32_t>(block.coded.data() + i * sizeof(uint32_t));
      index_dtype == Dtype::kI64 ? indices.Fixed(index) : indices.Fixed(static_cast<uint32_t>(index));
    }
    const ByteSpan values = ByteSpan(block.coded).subspan(count * sizeof(uint32_t));
    Waiting &waiting_indices = waiting_[waiting_.size() - 2], &waiting_values = waiting_.back();
    for (Waiting* waiting : {&waiting_indices, &waiting_values}) waiting->tensor.shape[0] += count;
    waiting_indices.bytes += indices.bytes().size();
    waiting_values.bytes += values.size();
    WD_TRY(indices_.Append(indices.bytes()));
    return values_.Append(values);
  }

  static std::vector<std::pair<std::string, std::string>> Metadata(const DeltaIndex& index) {
    std::string changed = "[", in_bytes = "[";
    size_t patched = 0;
    for (const TensorRecord& record : index.tensors) {
      if (!record.HasBase()) continue;
      changed += (patched++ ? ", " : "") + JsonString(record.name);
      if (ValueDtype(record.dtype) != record.dtype)
        in_bytes += (in_bytes.size() > 1 ? ", " : "") + JsonString(record.name);
    }
    return {
        {"format", "sparse_weight_patch"},
        {"version", "1"},
        {"sparse", "True"},
        {"model_version", "0"},
        {"num_changed_params", std::to_string(patched)},
        {"total_changed_elements", std::to_string(index.totals.elements_changed)},
        {"total_elements", std::to_string(index.totals.elements_total)},
        {"sparsity", PythonFloat(index.totals.sparsity())},
        {"changed_params", changed + "]"},
        {std::string(kPlainVersionKey), "1"},
        {"wdelta.byte_tensors", in_bytes + "]"},
        {"wdelta.base_fingerprint", Hex(index.base.fingerprint)},
        {"wdelta.base_state", Hex(index.base.state)},
        {"wdelta.fingerprint", Hex(index.result.fingerprint)},
        {"wdelta.state", Hex(index.result.state)},
    };
  }

  std::unique_ptr<ByteSink> sink_;
  ByteSpool indices_, values_;
  DeltaIndex plan_;
  std::vector<Waiting> waiting_;
  std::map<uint64_t, ByteWriter> blocks_;  // digests of the blocks, by ordinal
};

}  // namespace

Result<std::unique_ptr<DeltaWriter>> CreatePlainDelta(const std::string& path, const DeltaIndex& plan,
                                                      const Environment& environment) {
  WD_ASSIGN(auto sink, OpenSink(path));
  return std::unique_ptr<DeltaWriter>(std::make_unique<PlainWriter>(std::move(sink), plan, environment));
}

}  // namespace wdelta
