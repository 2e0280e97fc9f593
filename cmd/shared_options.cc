#include "shared_options.h"

namespace wdelta {

std::vector<OptionRow> WithFileChoice(std::vector<OptionRow> rows) {
  rows.push_back({"--include", "GLOB", "also include files beside the weights that match", nullptr, {}, true});
  rows.push_back({"--exclude", "GLOB", "leave out files that match, even if included", nullptr, {}, true});
  return rows;
}

FileChoice ChosenFiles(const Arguments& arguments) {
  return FileChoice{arguments.Values("include"), arguments.Values("exclude")};
}

OptionRow LevelRow() {
  return {"--level",
          "LEVEL",
          "time to spend on a small pack: fast, default or max",
          "WDELTA_LEVEL",
          {"fast", "default", "max"}};
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
