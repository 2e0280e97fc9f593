#include "walk/chain.h"

#include <algorithm>
#include <map>
#include <mutex>

namespace wdelta {

namespace {

// One delta's part in a tensor.
struct Link {
  const DeltaReader* delta = nullptr;
  size_t record = 0;
  std::vector<BlockPlace> blocks;  // ascending

  const BlockPlace* Find(uint64_t number) const {
    const auto at = std::lower_bound(blocks.begin(), blocks.end(), number,
                                     [](const BlockPlace& place, uint64_t key) { return place.number < key; });
    return at != blocks.end() && at->number == number ? &*at : nullptr;
  }
};

// How a tensor of the result comes about.
struct TensorPlan {
  std::optional<uint32_t> before;  // the tensor of that name, dtype and shape below the chain, if there is one
  bool from_before = true;         // the first link builds on that; else it brings all of the tensor
  std::vector<Link> links;         // oldest first
};

Error WrongBlock(const Tensor& tensor, bool has_before) {
  // With nothing below there is nothing that the delta could have been made for: it contradicts itself.
  return Error{has_before ? ErrorKind::kConflict : ErrorKind::kIntegrity,
               "tensor '" + std::string(tensor.name) + "' is not what the delta was made for"}
      .OfTensor(tensor.name);
}

class Chain final : public ChainTarget {
 public:
  Chain(std::unique_ptr<Target> before, std::vector<std::unique_ptr<DeltaReader>> deltas)
      : before_(std::move(before)), deltas_(std::move(deltas)) {}

  const DeltaReader& first() const override { return *deltas_.front(); }
  const DeltaReader& last() const override { return *deltas_.back(); }
  const Layout& layout() const override { return last().index().layout; }
  const std::vector<Tensor>& tensors() const override { return tensors_; }

  Result<> Open() {
    WD_TRY(CheckLinks());
    for (size_t file = 0; file < layout().file_count(); ++file) {
      WD_ASSIGN(files_.emplace_back(), FindFile(file));
    }
    for (size_t shard = 0; shard < layout().shards.size(); ++shard) {
      const LayoutFile& entry = layout().shards[shard];
      Bytes header;
      WD_TRY(ReadFile(*this, shard, [&](uint64_t, ByteSpan content) -> Result<> {
        header.insert(header.end(), content.begin(), content.end());
        return {};
      }));
      WD_ASSIGN(SafetensorsHeader parsed,
                SafetensorsHeader::Parse(std::move(header), entry.bytes + entry.data_bytes, entry.path));
      headers_.push_back(std::move(parsed));
    }
    WD_ASSIGN(tensors_, CollectTensors(headers_, layout()));
    return CheckRecords();
  }

  Result<Bytes> ReadFileBlock(size_t file, uint64_t number) const override {
    const FileSource& source = files_[file];
    return source.delta ? source.delta->ReadFileBlock(source.file, number)
                        : before_->ReadFileBlock(source.file, number);
  }

  std::optional<StateDigests> base() const override {
    if (before_ && !before_->checkpoint()) return std::nullopt;
    return first().index().base;
  }
  // The result may have other totals than the only delta says if the base has some of it; that is the delta's figure
  // all the same, because it is about the two checkpoints and not about this run.
  std::optional<Totals> totals() const override {
    if (deltas_.size() > 1 || (before_ && !before_->checkpoint())) return std::nullopt;
    return last().index().totals;
  }
  bool resumable() const override { return !before_ || before_->resumable(); }

  Result<bool> Accept(const WalkDigests& digests) override {
    if (before_ && !before_->checkpoint()) {
      WD_ASSIGN(const bool accepted, before_->Accept(digests));
      if (!accepted) return false;
    }
    const Sha256Digest found = Fingerprint(digests.result);
    const Sha256Digest& expected = last().index().result.fingerprint;
    if (found != expected)
      return Error{ErrorKind::kConflict, "the result is not that of '" + last().path() + "'"}.Compared(Hex(expected),
                                                                                                       Hex(found));
    return true;
  }
  std::unique_ptr<Error> Explain(std::unique_ptr<Error> error, const Context& context) const override {
    const Checkpoint* base = before_ ? before_->checkpoint() : nullptr;
    return base ? ExplainConflict(std::move(error), *base, first(), context) : std::move(error);
  }

  Result<LoadedBlock> Load(uint32_t index, uint64_t number, WalkScratch& scratch) const override {
    const Tensor& tensor = tensors_[index];
    WD_ASSIGN(const std::shared_ptr<const TensorPlan> plan, PlanFor(index));
    const size_t length = BlockLength(tensor.bytes, number);
    LoadedBlock loaded;
    const bool has_before = plan->before.has_value();
    if (has_before) {
      WD_ASSIGN(loaded, before_->Load(*plan->before, number, scratch));
    }
    std::vector<std::pair<const Link*, const BlockPlace*>> steps;  // those that touch this block
    for (const Link& link : plan->links) {
      if (const BlockPlace* place = link.Find(number)) steps.emplace_back(&link, place);
    }
    const uint64_t found = ShortDigest(loaded.new_digest);  // of the block below the chain
    size_t first = 0;                                       // the first step that is still to be made
    bool matched = steps.empty() || !plan->from_before;
    if (has_before) {
      for (size_t i = steps.size(); i > 0 && first == 0; --i) {
        if (steps[i - 1].second->new_digest == found) first = i;
      }
      matched = matched || first > 0 || steps[0].second->old_digest == static_cast<uint32_t>(found);
    }
    if (!matched) return WrongBlock(tensor, before_ != nullptr);
    if (first == steps.size() && has_before) return loaded;
    if (!has_before) {
      scratch.new_bytes.assign(length, 0);
    } else if (loaded.new_block.data() != scratch.new_bytes.data()) {
      scratch.new_bytes.assign(loaded.new_block.begin(), loaded.new_block.end());
    }
    for (size_t i = first; i < steps.size(); ++i) {
      const auto& [link, place] = steps[i];
      const TensorRecord& record = link->delta->index().tensors[link->record];
      WD_TRY(link->delta->DecodeTensorBlock(
          link->record, *place, record.HasBase() ? ByteSpan(scratch.new_bytes) : ByteSpan{}, scratch.delta));
      WD_TRY(PatchBlock(scratch.delta, UnitBytes(tensor.dtype), scratch.new_bytes));
      loaded.new_digest = DigestBlock(scratch.new_bytes);
      if (ShortDigest(loaded.new_digest) == place->new_digest) continue;
      return Error{ErrorKind::kIntegrity, "tensor '" + std::string(tensor.name) + "': block " + std::to_string(number) +
                                              " of '" + link->delta->path() + "' does not decode to what it should"}
          .At(link->delta->path())
          .OfTensor(tensor.name);
    }
    loaded.new_block = scratch.new_bytes;
    loaded.same = false;
    loaded.rebuilt = true;
    return loaded;
  }

 private:
  // Where the bytes of a file are: in a delta, or below the chain (delta null).
  struct FileSource {
    const DeltaReader* delta = nullptr;
    size_t file = 0;
  };

  Result<> CheckLinks() {
    for (size_t i = deltas_.size(); i > 0; --i) {  // an anchor needs nothing of what comes before it
      if (deltas_[i - 1]->index().anchor) {
        deltas_.erase(deltas_.begin(), deltas_.begin() + static_cast<ptrdiff_t>(i - 1));
        break;
      }
    }
    if (!before_ && !deltas_[0]->index().anchor)
      return Error{ErrorKind::kUsage, "'" + deltas_[0]->path() + "' is a delta and needs a base",
                   "name the checkpoint that it was made for first"};
    for (size_t i = 1; i < deltas_.size(); ++i) {
      const Sha256Digest &needs = deltas_[i]->index().base.fingerprint,
                         &has = deltas_[i - 1]->index().result.fingerprint;
      if (needs == has) continue;
      return Error{ErrorKind::kNotFound,
                   "a delta is missing: the base of '" + deltas_[i]->path() + "' is " + Hex(needs).substr(0, 12) +
                       ", the result of '" + deltas_[i - 1]->path() + "' is " + Hex(has).substr(0, 12),
                   "name all deltas between them, oldest first"}
          .At(deltas_[i]->path())
          .Compared(Hex(needs), Hex(has));
    }
    return {};
  }

  // The records of the last delta name the tensors of its result by their place.
  Result<> CheckRecords() const {
    const DeltaIndex& index = last().index();
    const bool same_count = index.totals.tensors_total == tensors_.size();
    for (const TensorRecord& record : index.tensors) {
      if (same_count && tensors_[record.ordinal].name == record.name) continue;
      return Error{ErrorKind::kIntegrity, "the index of '" + last().path() + "' names tensor '" + record.name +
                                              "' at a place where the headers have another"}
          .OfTensor(record.name);
    }
    return {};
  }

  Result<FileSource> FindFile(size_t file) const {
    const LayoutFile& wanted = layout().file(file);
    for (size_t i = deltas_.size(); i > 0; --i) {
      const DeltaIndex& index = deltas_[i - 1]->index();
      for (size_t candidate = 0; candidate < index.layout.file_count(); ++candidate) {
        const LayoutFile& entry = index.layout.file(candidate);
        if (index.carried[candidate] && entry.sha256 == wanted.sha256 && entry.bytes == wanted.bytes) {
          return FileSource{deltas_[i - 1].get(), candidate};
        }
      }
    }
    for (size_t candidate = 0; before_ && candidate < before_->layout().file_count(); ++candidate) {
      const LayoutFile& entry = before_->layout().file(candidate);
      if (entry.sha256 == wanted.sha256 && entry.bytes == wanted.bytes) return FileSource{nullptr, candidate};
    }
    const bool is_shard = file < layout().shards.size();
    return Error{before_ ? ErrorKind::kConflict : ErrorKind::kIntegrity,
                 std::string(is_shard ? "the header of '" : "'") + wanted.path + "' with SHA-256 " +
                     Hex(wanted.sha256).substr(0, 12) + " is neither in the delta nor in the base",
                 "use the checkpoint that the delta was made for, with all its files"}
        .At(wanted.path);
  }

  Result<std::shared_ptr<const TensorPlan>> PlanFor(uint32_t index) const {
    const std::lock_guard lock(mutex_);
    if (const auto at = plans_.find(index); at != plans_.end()) return at->second;
    WD_ASSIGN(TensorPlan plan, MakePlan(tensors_[index]));
    // A walk comes to a tensor once; only those under way are needed again.
    if (plans_.size() >= 512) plans_.clear();
    return plans_[index] = std::make_shared<const TensorPlan>(std::move(plan));
  }

  Result<TensorPlan> MakePlan(const Tensor& tensor) const {
    TensorPlan plan;
    const Tensor* below = before_ ? FindTensor(before_->tensors(), tensor.name) : nullptr;
    if (below && below->SameForm(tensor)) plan.before = static_cast<uint32_t>(below - before_->tensors().data());
    for (size_t i = deltas_.size(); i > 0 && plan.from_before; --i) {
      const DeltaReader& delta = *deltas_[i - 1];
      const std::optional<size_t> found = delta.FindRecord(tensor.name);
      if (!found) {
        if (delta.index().anchor) plan.from_before = false;
        continue;
      }
      const TensorRecord& record = delta.index().tensors[*found];
      if (record.dtype != tensor.dtype ||
          !std::equal(record.shape.begin(), record.shape.end(), tensor.shape.begin(), tensor.shape.end())) {
        return Error{ErrorKind::kIntegrity, "tensor '" + record.name + "' has one form in the index of '" +
                                                delta.path() + "' and another in the header"}
            .OfTensor(record.name);
      }
      WD_ASSIGN(std::vector<BlockPlace> blocks, delta.TensorBlocks(*found));
      plan.links.push_back({&delta, *found, std::move(blocks)});
      plan.from_before = record.HasBase();
    }
    std::reverse(plan.links.begin(), plan.links.end());
    const bool missing =
        plan.from_before ? !plan.before
                         : plan.links.empty() || plan.links[0].delta->index().tensors[plan.links[0].record].HasBase();
    if (missing) return WrongBlock(tensor, before_ != nullptr);
    return plan;
  }

  std::unique_ptr<Target> before_;
  std::vector<std::unique_ptr<DeltaReader>> deltas_;
  std::vector<FileSource> files_;
  std::vector<SafetensorsHeader> headers_;
  std::vector<Tensor> tensors_;
  mutable std::mutex mutex_;
  mutable std::map<uint32_t, std::shared_ptr<const TensorPlan>> plans_;
};

}  // namespace

Result<std::unique_ptr<ChainTarget>> OpenChain(std::unique_ptr<Target> before,
                                               std::vector<std::unique_ptr<DeltaReader>> deltas) {
  auto chain = std::make_unique<Chain>(std::move(before), std::move(deltas));
  WD_TRY(chain->Open());
  return std::unique_ptr<ChainTarget>(std::move(chain));
}

Result<OpenedTarget> OpenBase(const std::string& base, const std::vector<std::unique_ptr<DeltaReader>>& deltas,
                              FileChoice files, const Context& context) {
  if (!deltas.empty()) files = {deltas.back()->index().layout.include, deltas.back()->index().layout.exclude};
  WD_ASSIGN(Checkpoint checkpoint, Checkpoint::Open(base, files, context.note));
  OpenedTarget opened;
  opened.base = std::make_unique<Checkpoint>(std::move(checkpoint));
  opened.target = SelfTarget(*opened.base);
  return opened;
}

Result<OpenedTarget> OpenPacks(const std::string& base, const std::vector<std::string>& packs, const FileChoice& files,
                               Trust trust, const Context& context) {
  WD_ASSIGN(std::vector<std::unique_ptr<DeltaReader>> deltas, OpenDeltas(packs, trust, context));
  OpenedTarget opened;
  if (!base.empty()) {
    WD_ASSIGN(opened, OpenBase(base, deltas, files, context));
  }
  if (deltas.empty()) return opened;
  for (const std::unique_ptr<DeltaReader>& delta : deltas) opened.delta_bytes += delta->bytes();
  WD_ASSIGN(opened.target, OpenChain(std::move(opened.target), std::move(deltas)));
  return opened;
}

Result<std::vector<std::unique_ptr<DeltaReader>>> OpenDeltas(const std::vector<std::string>& paths, Trust trust,
                                                             const Context& context) {
  if (std::count(paths.begin(), paths.end(), "-") > 1) {
    return Error{ErrorKind::kUsage, "only one delta can come from standard input"};
  }
  std::vector<std::unique_ptr<DeltaReader>> deltas;
  for (const std::string& path : paths) {
    WD_ASSIGN(deltas.emplace_back(), OpenDelta(path, trust, context));
  }
  return deltas;
}

}  // namespace wdelta
