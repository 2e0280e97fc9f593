// The sparse patch of TRL, in its first version, which all its readers know: indices and new BF16 values of each
// tensor.
#include <fmt/format.h>

#include "core/json_object.h"
#include "core/text.h"
#include "foreign/foreign_writer.h"

namespace wdelta {

namespace {

class TrlWriter final : public ForeignWriter {
 public:
  TrlWriter(std::string path, ForeignOptions options)
      : path_(std::move(path)),
        options_(std::move(options)),
        indices_(options_.environment),
        values_(options_.environment) {}

  Result<> Check(const Tensor& tensor) const override {
    if (tensor.dtype == Dtype::kBF16 && tensor.units() <= INT32_MAX) return {};
    return Error{ErrorKind::kRefused,
                 "tensor '" + Shorten(tensor.name) + "' is of type " + std::string(DtypeName(tensor.dtype)) + " with " +
                     std::to_string(tensor.units()) + " elements; TRL sends BF16 with less than 2^31",
                 "'--format canonical' takes any type and size"}
        .OfTensor(tensor.name);
  }

  Result<> Begin(const Tensor& tensor) override {
    current_ = {std::string(tensor.name), indices_.size(), values_.size(), 0, 0};
    passed_ = 0;
    return {};
  }
  Result<> Add(ByteSpan old_block, ByteSpan new_block) override {
    ListChanges(old_block, new_block, 2, changes_);
    Bytes indices(4 * changes_.positions.size());
    for (size_t i = 0; i < changes_.positions.size(); ++i) {
      Store(indices.data() + 4 * i, static_cast<int32_t>(passed_ + changes_.positions[i]));
    }
    passed_ += new_block.size() / 2;
    if (indices.empty()) return {};
    WD_TRY(indices_.Append(indices));
    return values_.Append(changes_.values);
  }
  Result<> End() override {
    current_.indices_end = indices_.size();
    current_.values_end = values_.size();
    if (current_.values_end > current_.values_begin) patches_.push_back(std::move(current_));
    return {};
  }

  Result<> Finish(const Totals& totals) override {
    std::vector<NewTensor> tensors;
    std::vector<std::string> names;
    for (const Patch& patch : patches_) {
      const uint64_t count = (patch.values_end - patch.values_begin) / 2;
      tensors.push_back({patch.name + (options_.newer_keys ? ".idx" : ".indices"), Dtype::kI32, {count}});
      tensors.push_back({patch.name + (options_.newer_keys ? ".val" : ".values"), Dtype::kBF16, {count}});
      names.push_back(JsonString(patch.name));
    }
    std::string sparsity = fmt::format("{}", totals.sparsity());
    if (sparsity.find_first_of(".e") == std::string::npos) sparsity += ".0";  // as Python writes it
    std::vector<std::pair<std::string, std::string>> metadata = {
        {"format", "sparse_weight_patch"},
        {"version", "1"},
        {"sparse", "True"},
        {"model_version", options_.version},
        {"num_changed_params", std::to_string(patches_.size())},
        {"total_changed_elements", std::to_string(totals.elements_changed)},
        {"total_elements", std::to_string(totals.elements_total)},
        {"sparsity", sparsity},
        {"wdelta.base_version", options_.base_version},  // TRL passes over what it does not know
    };
    if (options_.newer_keys) {
      metadata.emplace_back("encoding", "raw");
    } else {
      metadata.emplace_back("changed_params", JsonArray(names));
    }
    WD_ASSIGN(const Bytes header, EncodeSafetensorsHeader(tensors, metadata));
    WD_ASSIGN(const auto sink, OpenSink(path_));
    WD_TRY(sink->Write(header));
    const auto write = [&](ByteSpan piece) { return sink->Write(piece); };
    for (const Patch& patch : patches_) {
      WD_TRY(indices_.CopyTo(patch.indices_begin, patch.indices_end, write));
      WD_TRY(values_.CopyTo(patch.values_begin, patch.values_end, write));
    }
    WD_TRY(sink->Commit());
    written_ = sink->written();
    return {};
  }

 private:
  struct Patch {
    std::string name;
    uint64_t indices_begin = 0, values_begin = 0, indices_end = 0, values_end = 0;
  };

  std::string path_;
  ForeignOptions options_;
  ByteSpool indices_, values_;
  std::vector<Patch> patches_;
  Patch current_;
  BlockDelta changes_;
  uint64_t passed_ = 0;
};

}  // namespace

std::unique_ptr<ForeignWriter> CreateTrl(const std::string& path, const ForeignOptions& options) {
  return std::make_unique<TrlWriter>(path, options);
}

}  // namespace wdelta
