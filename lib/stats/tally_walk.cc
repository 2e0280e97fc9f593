#include "stats/tally_walk.h"

#include <map>
#include <mutex>

#include "stats_report.h"
#include "walk/piece_walk.h"

namespace wdelta {

namespace {

// Counts of several threads become one when all is done.
TallyTotals SumUp(const std::vector<Tally>& tallies) {
  TallyTotals totals;
  for (const Tally& tally : tallies) totals.Add(tally.totals());
  return totals;
}

// How the tensors of a result are divided, found out once.
struct Division {
  uint64_t columns = 1, slice = 0;
};
std::vector<Division> Divide(const std::vector<Tensor>& tensors) {
  std::vector<Division> divisions;
  divisions.reserve(tensors.size());
  for (const Tensor& tensor : tensors) divisions.push_back({RowUnits(tensor), ExpertUnits(tensor)});
  return divisions;
}

}  // namespace

std::vector<uint64_t> WalkTally::units_changed() const {
  std::vector<uint64_t> changed;
  changed.reserve(tensors.size());
  for (const BlockTally& tally : tensors) changed.push_back(tally.units_changed);
  return changed;
}

uint64_t RowUnits(const Tensor& tensor) {
  if (tensor.shape.empty() || tensor.units() == 0) return 1;
  // Elements of less than a byte share units, and a row may end inside one: a unit then belongs to one of its rows.
  const uint64_t bits = tensor.shape.back() * DtypeBits(tensor.dtype);
  return std::max<uint64_t>(bits / 8 / UnitBytes(tensor.dtype), 1);
}

uint64_t ExpertUnits(const Tensor& tensor) {
  if (tensor.shape.size() < 3 || tensor.shape[0] == 0 || tensor.shape[0] > UINT32_MAX || tensor.units() == 0) return 0;
  const TensorPlace place = PlaceOf(tensor.name);
  if (place.expert || ("." + place.module + ".").find(".experts.") == std::string::npos) return 0;
  return tensor.units() % tensor.shape[0] == 0 ? tensor.units() / tensor.shape[0] : 0;
}

Result<WalkTally> TallyPair(const Checkpoint& base, const Checkpoint& next, const Context& context) {
  WalkTally out;
  out.tensors.resize(next.tensors().size());
  const std::vector<Division> divisions = Divide(next.tensors());
  std::vector<Tally> tallies(LimitsFor(context).threads);
  WD_TRY(WalkPieces<BlockTally>(
      base, next, Unrelated::kVisit, context,
      [&](unsigned worker, const PiecePair& piece, BlockTally& sum) {
        const Dtype dtype = piece.tensor.dtype;
        const Division& division = divisions[static_cast<size_t>(&piece.tensor - next.tensors().data())];
        sum.Append(tallies[worker].Count(
            {piece.old_bytes, piece.new_bytes, dtype, piece.at / UnitBytes(dtype), division.columns, division.slice}));
      },
      [&](uint32_t tensor, const BlockTally& sum) { out.tensors[tensor].Append(sum); }));
  out.totals = SumUp(tallies);
  return out;
}

Result<WalkTally> TallyTarget(Target& target, const Context& context) {
  WalkTally out;
  const std::vector<Division> divisions = Divide(target.tensors());
  std::vector<Tally> tallies;
  // Tallies of blocks wait here for their turn to be added: a row may reach from one block into the next.
  std::mutex mutex;
  std::map<std::pair<uint32_t, uint64_t>, BlockTally> waiting;
  const auto begin = [&]() -> Result<> {
    out.tensors.assign(target.tensors().size(), {});
    tallies.clear();
    tallies.resize(LimitsFor(context).threads);
    waiting.clear();
    return {};
  };
  const auto count = [&](uint32_t index, const LoadedBlock& block, WalkScratch& scratch,
                         WalkedBlock& walked) -> Result<> {
    const Tensor& tensor = target.tensors()[index];
    const uint64_t number = walked.prepared.place.number;
    BlockTally tally = tallies[scratch.worker].Count({block.same ? block.new_block : block.old_block, block.new_block,
                                                      tensor.dtype, number * kBlockBytes / UnitBytes(tensor.dtype),
                                                      divisions[index].columns, divisions[index].slice});
    const std::lock_guard lock(mutex);
    waiting.emplace(std::pair(index, number), std::move(tally));
    return {};
  };
  const auto add = [&](uint32_t index, const WalkedBlock& walked) -> Result<> {
    const std::lock_guard lock(mutex);
    out.tensors[index].Append(waiting.extract({index, walked.prepared.place.number}).mapped());
    return {};
  };
  WD_ASSIGN(out.digests, Walk(target, context, begin, count, add));
  out.totals = SumUp(tallies);
  return out;
}

}  // namespace wdelta
