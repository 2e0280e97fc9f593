#include "shared_options.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <limits>

#include "core/try.h"

namespace wdelta {

std::optional<double> ParseQuantity(const std::string& text, const Units& units) {
  double number = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failed != std::errc{} || !(number >= 0) || number > 1e18) return std::nullopt;
  const std::string_view unit(end, static_cast<size_t>(text.data() + text.size() - end));
  for (const auto& [word, factor] : units) {
    if (unit == word) return number * factor;
  }
  return std::nullopt;
}

std::vector<OptionRow> WithFileChoice(std::vector<OptionRow> rows) {
  rows.push_back({"--include", "GLOB", "also include files beside the weights that match", nullptr, {}, true});
  rows.push_back({"--exclude", "GLOB", "leave out files that match, even if included", nullptr, {}, true});
  return rows;
}

FileChoice ChosenFiles(const Arguments& arguments) {
  return FileChoice{arguments.Values("include"), arguments.Values("exclude")};
}

std::vector<OptionRow> WithTransfer(std::vector<OptionRow> rows) {
  const std::vector<OptionRow> more = {
      {"--jobs", "N", "transfers at the same time, 4 by default", "WDELTA_JOBS"},
      {"--bwlimit", "SIZE", "transfer at most SIZE a second, e.g. 50M", "WDELTA_BWLIMIT"},
      {"--retries", "N", "retries after a temporary failure, 8 by default", "WDELTA_RETRIES"},
      {"--connect-timeout", "TIME", "give up connecting after TIME, 10s by default", "WDELTA_CONNECT_TIMEOUT"},
      {"--idle-timeout", "TIME", "give up an attempt if nothing moved for TIME, 30s by default", "WDELTA_IDLE_TIMEOUT"},
      {"--timeout", "TIME", "give up an attempt after TIME", "WDELTA_TIMEOUT"},
      {"--endpoint", "URL", "the S3 service to use", "WDELTA_ENDPOINT"},
      {"--region", "NAME", "the region to sign for", "WDELTA_REGION"},
      {"--path-style", "", "S3: name the bucket in the path, not in the host"},
      {"--ca-file", "FILE", "trust the certificates in FILE instead of the system's", "WDELTA_CA_FILE"},
  };
  rows.insert(rows.end(), more.begin(), more.end());
  return rows;
}

Result<TransferOptions> ChosenTransfer(const Arguments& arguments) {
  TransferOptions options;
  options.jobs = static_cast<unsigned>(std::min<uint64_t>(arguments.Number("jobs", 0), 256));
  options.retries = static_cast<unsigned>(std::min<uint64_t>(arguments.Number("retries", options.retries), 1000));
  if (arguments.Has("bwlimit")) {
    const Units units = {{"", 1}, {"K", 0x1p10}, {"M", 0x1p20}, {"G", 0x1p30}, {"T", 0x1p40}};
    const std::string text = arguments.Value("bwlimit");
    const std::optional<double> bytes = ParseQuantity(text, units);
    if (!bytes || *bytes > 1e18) return BadValue("option '--bwlimit'", "a size such as 512K, 50M or 1.5G", text);
    options.bytes_per_second = static_cast<uint64_t>(*bytes);
  }
  WD_ASSIGN(options.connect_timeout, ChosenDuration(arguments, "connect-timeout", options.connect_timeout));
  WD_ASSIGN(options.idle_timeout, ChosenDuration(arguments, "idle-timeout", options.idle_timeout));
  WD_ASSIGN(options.timeout, ChosenDuration(arguments, "timeout", options.timeout));
  options.endpoint = arguments.Value("endpoint");
  options.region = arguments.Value("region");
  options.path_style = arguments.Has("path-style");
  options.ca_file = arguments.Value("ca-file");
  return options;
}

OptionRow LevelRow() {
  return Choice("--level", "LEVEL", "time to spend on a small pack: fast, default or max", {"fast", "default", "max"},
                "WDELTA_LEVEL");
}

Level ChosenLevel(const Arguments& arguments) {
  const std::string level = arguments.Value("level");
  return level == "fast" ? Level::kFast : level == "max" ? Level::kMax : Level::kDefault;
}

OptionRow LockWaitRow() {
  return {"--lock-wait", "TIME", "how long to wait for another wdelta that works there: 0, 30s, inf",
          "WDELTA_LOCK_WAIT"};
}

Result<double> ChosenDuration(const Arguments& arguments, const std::string& name, double fallback) {
  if (!arguments.Has(name)) return fallback;
  const std::string text = arguments.Value(name);
  if (text == "inf") return std::numeric_limits<double>::infinity();
  const Units units = {{"", 1}, {"s", 1}, {"m", 60}, {"h", 3600}, {"d", 86400}};
  if (const std::optional<double> seconds = ParseQuantity(text, units)) return *seconds;
  return BadValue("option '--" + name + "'", "a time such as 30s, 15m, 2h or 7d", text);
}

GroupBy ParseGroupBy(const std::string& by) {
  if (by == "layer") return GroupBy::kLayer;
  if (by == "module") return GroupBy::kModule;
  if (by == "dtype") return GroupBy::kDtype;
  if (by == "shard") return GroupBy::kShard;
  return GroupBy::kTensor;
}

namespace {

bool LooksLikeUrl(const std::string& name) {
  const size_t colon = name.find("://");
  if (colon == std::string::npos || colon == 0 || !std::isalpha(static_cast<unsigned char>(name[0]))) return false;
  return std::all_of(name.begin(), name.begin() + static_cast<std::ptrdiff_t>(colon),
                     [](unsigned char c) { return std::isalnum(c) || c == '+' || c == '-' || c == '.'; });
}

}  // namespace

Result<> CheckName(const std::string& name) {
  if (name.empty()) return Error{ErrorKind::kUsage, "a name is empty"};
  if (!LooksLikeUrl(name)) return {};
  Error error{ErrorKind::kUsage, "'" + name + "' is a remote, and a file or a folder belongs here",
              "a local file of that name is written './" + name + "'"};
  error.path = name;
  return error;
}

Result<> CheckNames(const std::vector<std::string>& names) {
  for (const std::string& name : names) WD_TRY(CheckName(name));
  return {};
}

Result<> CheckCheckpointName(const std::string& name, const std::string& role) {
  WD_TRY(CheckName(name));
  if (name != "-") return {};
  return Error{ErrorKind::kUsage, role + " has to be a file or a folder, not '-'",
               "only deltas and packs go through pipes; a file of that name is written './-'"};
}

Result<> CheckRemoteName(const std::string& name) {
  if (IsRemoteName(name)) return {};
  Error error{ErrorKind::kUsage, "'" + name + "' is not a remote"};
  error.hint =
      "a remote is a URL: file:///folder, s3://bucket/prefix, hf://buckets/ORG/NAME/prefix or https://host/path";
  error.found = name;
  return error;
}

Result<> CheckOneStandardInput(const std::vector<std::string>& names) {
  if (std::count(names.begin(), names.end(), "-") <= 1) return {};
  return Error{ErrorKind::kUsage, "'-' is given more than once, and standard input can be read only once"};
}

}  // namespace wdelta
