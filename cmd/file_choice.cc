#include "file_choice.h"

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

}  // namespace wdelta
