// Options that several commands share. --include and --exclude: which files beside the weights belong to the
// checkpoint, on top of the default choice or out of it. --level: how small a pack shall be. --by: what a row is.
#pragma once

#include <vector>

#include "command.h"
#include "options.h"

namespace wdelta {

// `rows` and the two options.
std::vector<OptionRow> WithFileChoice(std::vector<OptionRow> rows);
FileChoice ChosenFiles(const Arguments& arguments);

OptionRow LevelRow();
Level ChosenLevel(const Arguments& arguments);

GroupBy ParseGroupBy(const std::string& by);  // "layer"; anything else that an option allows is a row for each tensor

}  // namespace wdelta
