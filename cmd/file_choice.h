// --include and --exclude, which several commands share: which files beside the weights belong to the
// checkpoint, on top of the default choice or out of it.
#pragma once

#include <vector>

#include "command.h"
#include "options.h"

namespace wdelta {

// `rows` and the two options.
std::vector<OptionRow> WithFileChoice(std::vector<OptionRow> rows);
FileChoice ChosenFiles(const Arguments& arguments);

}  // namespace wdelta
