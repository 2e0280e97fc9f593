// From words on the command line to checked values. The only place that knows CLI11, which takes the words apart;
// the rules about values, the environment and the messages are ours. Nothing here touches a file.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "command.h"

namespace wdelta {

// The parsed command line of one command. Options are asked for by their long name without dashes.
class Arguments {
 public:
  bool Has(std::string_view name) const;                         // given, by flag or by environment
  std::string Value(std::string_view name) const;                // the last one; empty if there is none
  std::vector<std::string> Values(std::string_view name) const;  // of an option that repeats
  uint64_t Number(std::string_view name, uint64_t fallback) const;
  const std::vector<std::string>& operands() const { return operands_; }

 private:
  friend Result<Arguments> ParseArguments(const Command& command, std::span<const std::string> words);
  std::map<std::string, std::vector<std::string>, std::less<>> values_;
  std::vector<std::string> operands_;
};

// Settings come from the flag, then from the environment. Fails with kUsage.
Result<Arguments> ParseArguments(const Command& command, std::span<const std::string> words);

// "option '--keep-for' takes a time, not 'x'"; `source` is how the user said it.
Error BadValue(const std::string& source, const std::string& expected, const std::string& found);

// What `wdelta CMD --help` prints.
std::string CommandHelp(const Command& command);

// Whether a flag is among words that may not parse, and the value of an option among them: a usage error has to
// know about --json and --report too.
bool MentionsFlag(std::span<const std::string> words, std::string_view flag);
std::string MentionedValue(std::span<const std::string> words, std::string_view option);

// The candidate that `word` was probably meant to be, or empty.
std::string NearestName(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace wdelta
