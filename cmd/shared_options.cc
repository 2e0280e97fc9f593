#include "shared_options.h"

namespace wdelta {

std::vector<OptionRow> WithFileChoice(std::vector<OptionRow> rows) {
  rows.push_back(
      {"--include", "GLOB", "files beside the weights that belong to the checkpoint too", nullptr, {}, true});
  rows.push_back(
      {"--exclude", "GLOB", "files that do not, even if included or in the default choice", nullptr, {}, true});
  return rows;
}

FileChoice ChosenFiles(const Arguments& arguments) {
  return FileChoice{arguments.Values("include"), arguments.Values("exclude")};
}

OptionRow LevelRow() {
  return {"--level", "LEVEL", "effort of the coding: fast, default or max", "WDELTA_LEVEL", {"fast", "default", "max"}};
}

Level ChosenLevel(const Arguments& arguments) {
  const std::string level = arguments.Value("level");
  return level == "fast" ? Level::kFast : level == "max" ? Level::kMax : Level::kDefault;
}

GroupBy ParseGroupBy(const std::string& by) {
  if (by == "layer") return GroupBy::kLayer;
  if (by == "module") return GroupBy::kModule;
  if (by == "dtype") return GroupBy::kDtype;
  if (by == "shard") return GroupBy::kShard;
  return GroupBy::kTensor;
}

}  // namespace wdelta
