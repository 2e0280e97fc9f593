#include "walk/rebuild.h"

#include "checkpoint/checkpoint_editor.h"
#include "walk/difference.h"

namespace wdelta {

namespace {

class Nothing final : public Sink {
 public:
  const std::string& path() const override { return path_; }
  Result<> WriteFile(size_t, uint64_t, ByteSpan) override { return {}; }
  Result<> Take(const Tensor&, const LoadedBlock&, WalkScratch&, WalkedBlock&) override { return {}; }
  Result<> Put(const Tensor&, const WalkedBlock&) override { return {}; }
  Result<> Commit(bool) override { return {}; }

 private:
  std::string path_;
};

// Blocks are written where they are taken, by the thread that has them in its cache; nothing is left to be put.
class NewCheckpoint final : public Sink {
 public:
  NewCheckpoint(CheckpointEditor editor, std::string path) : editor_(std::move(editor)), path_(std::move(path)) {}
  const std::string& path() const override { return path_; }
  Result<> WriteFile(size_t file, uint64_t number, ByteSpan content) override {
    return editor_.WriteFileBlock(file, number, content);
  }
  Result<> Take(const Tensor& tensor, const LoadedBlock& block, WalkScratch&, WalkedBlock& out) override {
    return editor_.WriteTensor(tensor, out.prepared.place.number * kBlockBytes, block.new_block);
  }
  Result<> Put(const Tensor&, const WalkedBlock&) override { return {}; }
  Result<> Commit(bool) override { return editor_.Commit(); }

 private:
  CheckpointEditor editor_;
  std::string path_;
};

}  // namespace

// The one maker of proofs.
class Rebuilding {
 public:
  Rebuilding(const OpenedTarget& opened, Sink& sink, const Context& context)
      : base_(opened.base.get()), target_(*opened.target), sink_(sink), context_(context) {}

  // Everything but the commit.
  Result<StateDigests> WalkIntoSink() {
    const std::vector<Tensor>& tensors = target_.tensors();
    const auto begin = [&]() -> Result<> {
      WD_TRY(sink_.Begin());
      for (size_t file = 0; file < target_.layout().file_count(); ++file) {
        WD_TRY(ReadFile(target_, file,
                        [&](uint64_t number, ByteSpan content) { return sink_.WriteFile(file, number, content); }));
      }
      changed_.assign(tensors.size(), 0);
      rebuilt_ = 0;
      return {};
    };
    const bool counts = !target_.totals();
    const auto take = [&](uint32_t tensor, const LoadedBlock& block, WalkScratch& scratch,
                          WalkedBlock& out) -> Result<> {
      const unsigned unit = UnitBytes(tensors[tensor].dtype);
      if (counts && !block.same) {
        out.units_changed =
            block.has_old ? CountChanged(block.old_block, block.new_block, unit) : block.new_block.size() / unit;
      }
      return sink_.Take(tensors[tensor], block, scratch, out);
    };
    const auto put = [&](uint32_t tensor, const WalkedBlock& block) -> Result<> {
      rebuilt_ += block.rebuilt;
      changed_[tensor] += block.units_changed;
      return sink_.Put(tensors[tensor], block);
    };
    WD_ASSIGN(digests_, Walk(target_, context_, begin, take, put));
    if (base_ && !sink_.patches_base()) WD_TRY(base_->CheckUnchanged());
    return CombineState(Fingerprint(digests_.result), target_.layout().Digest());
  }

  Result<Rebuilt> Run() {
    WD_ASSIGN(const StateDigests result, WalkIntoSink());
    StateDigests base;
    if (target_.base()) {
      base = *target_.base();
    } else if (base_) {
      WD_ASSIGN(const std::vector<TensorDigest> tensors, DigestBase(*base_, target_, digests_, context_));
      base = CombineState(Fingerprint(tensors), base_->layout().Digest());
    }
    const bool changed = rebuilt_ > 0 || !base_ || base_->layout().Digest() != result.layout;
    const Totals totals = target_.totals() ? *target_.totals() : Summarize(base_, target_, changed_).totals;
    WD_TRY(sink_.Commit(changed));
    return Rebuilt{Proof(sink_.path(), result), base, totals, !changed && base.state != result.state};
  }

  static Result<Proof> Prove(const Checkpoint& checkpoint, const Context& context) {
    WD_ASSIGN(const std::vector<TensorDigest> digests, DigestTensors(checkpoint, checkpoint.tensors(), context));
    WD_TRY(checkpoint.CheckUnchanged());
    return Proof(checkpoint.path(), CombineState(Fingerprint(digests), checkpoint.layout().Digest()));
  }

 private:
  const Checkpoint* base_;
  Target& target_;
  Sink& sink_;
  const Context& context_;
  WalkDigests digests_;
  std::vector<uint64_t> changed_;  // units, by tensor of the result
  uint64_t rebuilt_ = 0;           // blocks
};

Result<std::unique_ptr<Sink>> CopySink(const std::string& path, const Layout& layout, bool durable) {
  WD_ASSIGN(CheckpointEditor editor, CheckpointEditor::Create(path, layout, durable));
  return std::unique_ptr<Sink>(std::make_unique<NewCheckpoint>(std::move(editor), path));
}

Result<Rebuilt> Rebuild(const OpenedTarget& opened, Sink& sink, const Context& context) {
  return Rebuilding(opened, sink, context).Run();
}

Result<Rebuilt> RebuildCopy(const OpenedTarget& opened, const std::string& path, bool durable, const Context& context) {
  WD_ASSIGN(const std::unique_ptr<Sink> sink, CopySink(path, opened.target->layout(), durable));
  return Rebuild(opened, *sink, context);
}

Result<StateDigests> VerifyTarget(const OpenedTarget& opened, const Context& context) {
  Nothing nothing;
  return Rebuilding(opened, nothing, context).WalkIntoSink();
}

Result<Proof> ProveCheckpoint(const Checkpoint& checkpoint, const Context& context) {
  return Rebuilding::Prove(checkpoint, context);
}

}  // namespace wdelta
