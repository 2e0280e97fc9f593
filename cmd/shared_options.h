// Options that several commands share. --include and --exclude: which files beside the weights belong to the
// checkpoint, on top of the default choice or out of it. --level: how small a pack shall be.
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

}  // namespace wdelta
