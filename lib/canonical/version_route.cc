#include "canonical/version_route.h"

#include <algorithm>

namespace wdelta {

uint64_t VersionWay::bytes() const {
  uint64_t sum = 0;
  for (const VersionFile& file : files) sum += file.bytes;
  return sum;
}

std::vector<PlanStep> VersionRoute::Steps() const {
  std::vector<PlanStep> steps;
  if (whole) steps.push_back({0, whole->version, whole->bytes(), whole->bytes()});
  uint64_t before = start;
  for (const VersionWay& delta : deltas) {
    steps.push_back({before, delta.version, delta.bytes(), delta.bytes()});
    before = delta.version;
  }
  return steps;
}

Result<VersionRoute> FindRoute(VersionStore& store, uint64_t target, const std::function<bool(uint64_t)>& is_here,
                               bool has_base) {
  VersionRoute route;
  for (route.start = target; !is_here(route.start);) {
    const bool is_first = route.start == 0;
    if (is_first && !has_base) {
      return Error{ErrorKind::kNotFound,
                   "the versions of '" + store.remote().url() +
                       "' begin with version 0, the model that the run started from, which is not in the store",
                   "name that checkpoint with '--base'"};
    }
    if (is_first) break;
    Result<CanonicalIndex> index = store.ReadIndex(route.start);
    // A run may begin with a later version than 0; then the base is that.
    const bool is_gone = !index.ok() && index.error().kind == ErrorKind::kNotFound;
    if (is_gone && has_base && !route.deltas.empty()) break;
    if (!index.ok()) return index.TakeError();
    WD_ASSIGN(std::vector<VersionFile> files, store.FilesOf(route.start, *index));
    if (!index->is_delta()) {
      route.whole = {route.start, std::move(files)};
      break;
    }
    route.deltas.push_back({route.start, std::move(files)});
    route.start = *VersionNumber(index->Value("base_version"));
  }
  std::reverse(route.deltas.begin(), route.deltas.end());
  return route;
}

}  // namespace wdelta
