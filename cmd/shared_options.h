// Options that several commands share, the values that only they have (sizes and durations), and the names that a user
// gives for things: a path, or "-" for a stream. All is checked before any I/O.
#pragma once

#include <vector>

#include "command.h"
#include "options.h"

namespace wdelta {

// `rows`, and --include and --exclude: which files beside the weights belong to the checkpoint, on top of the default
// choice or out of it.
std::vector<OptionRow> WithFileChoice(std::vector<OptionRow> rows);
FileChoice ChosenFiles(const Arguments& arguments);

// `rows`, and the options of every command that speaks with a remote.
std::vector<OptionRow> WithTransfer(std::vector<OptionRow> rows);
Result<TransferOptions> ChosenTransfer(const Arguments& arguments);

OptionRow LevelRow();  // --level: how small a pack shall be
Level ChosenLevel(const Arguments& arguments);

OptionRow LockWaitRow();  // --lock-wait, a duration

// "1.5G": a number that is not negative, and one of these units, each with its factor. Absent if it is anything else.
using Units = std::vector<std::pair<std::string_view, double>>;
std::optional<double> ParseQuantity(const std::string& text, const Units& units);

// An option such as "90", "90s", "15m", "2h", "7d" or "inf", in seconds; `fallback` if it is not given.
Result<double> ChosenDuration(const Arguments& arguments, const std::string& name, double fallback);

GroupBy ParseGroupBy(const std::string& by);  // "layer"; anything else that an option allows is a row for each tensor

// Fails with kUsage for an empty name and for a URL.
Result<> CheckName(const std::string& name);
Result<> CheckNames(const std::vector<std::string>& names);

// CheckName, and not "-": a checkpoint has to be a file or a folder. `role` is what it is called in the usage line.
Result<> CheckCheckpointName(const std::string& name, const std::string& role);

// Fails with kUsage unless it is the URL of a remote.
Result<> CheckRemoteName(const std::string& name);

// Fails with kUsage if more than one of them is "-": standard input can be read once.
Result<> CheckOneStandardInput(const std::vector<std::string>& names);

}  // namespace wdelta
