#include "transfer.h"

#include <charconv>
#include <cmath>
#include <limits>

#include "core/try.h"

namespace wdelta {

namespace {

// A number and what follows it.
bool SplitNumber(const std::string& text, double& number, std::string& unit) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || !(number >= 0) || number > 1e18) return false;
  unit.assign(end, text.data() + text.size());
  return true;
}

Error BadValue(const std::string& option, const std::string& expected, const std::string& found) {
  Error error{ErrorKind::kUsage, "option '" + option + "' takes " + expected + ", not '" + found + "'"};
  error.expected = expected;
  error.found = found;
  return error;
}

}  // namespace

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
    WD_ASSIGN(options.bytes_per_second, ParseSize(arguments.Value("bwlimit"), "--bwlimit"));
  }
  const std::pair<const char*, double*> durations[] = {{"connect-timeout", &options.connect_timeout},
                                                       {"idle-timeout", &options.idle_timeout},
                                                       {"timeout", &options.timeout}};
  for (const auto& [name, value] : durations) {
    if (!arguments.Has(name)) continue;
    WD_ASSIGN(*value, ParseDuration(arguments.Value(name), std::string("--") + name));
  }
  options.endpoint = arguments.Value("endpoint");
  options.region = arguments.Value("region");
  options.path_style = arguments.Has("path-style");
  options.ca_file = arguments.Value("ca-file");
  return options;
}

OptionRow LockWaitRow() {
  return {"--lock-wait", "TIME", "how long to wait for another wdelta that works there: 0, 30s, inf",
          "WDELTA_LOCK_WAIT"};
}

Result<double> ChosenLockWait(const Arguments& arguments) {
  if (!arguments.Has("lock-wait")) return 0.0;
  return ParseDuration(arguments.Value("lock-wait"), "--lock-wait");
}

Result<double> ParseDuration(const std::string& text, const std::string& option) {
  if (text == "inf") return std::numeric_limits<double>::infinity();
  double number = 0;
  std::string unit;
  if (SplitNumber(text, number, unit)) {
    if (unit.empty() || unit == "s") return number;
    if (unit == "m") return number * 60;
    if (unit == "h") return number * 3600;
    if (unit == "d") return number * 86400;
  }
  return BadValue(option, "a time such as 30s, 15m, 2h or 7d", text);
}

Result<uint64_t> ParseSize(const std::string& text, const std::string& option) {
  double number = 0;
  std::string unit;
  if (SplitNumber(text, number, unit)) {
    const std::string units = "KMGT";
    if (unit.empty()) return static_cast<uint64_t>(number);
    const size_t power = units.find(unit);
    if (unit.size() == 1 && power != std::string::npos) {
      const double bytes = std::ldexp(number, static_cast<int>(10 * (power + 1)));
      if (bytes < 1e18) return static_cast<uint64_t>(bytes);
    }
  }
  return BadValue(option, "a size such as 512K, 50M or 1.5G", text);
}

Result<> CheckRemoteName(const std::string& name) {
  if (IsRemoteName(name)) return {};
  Error error{ErrorKind::kUsage, "'" + name + "' is no remote"};
  error.hint =
      "a remote is a URL: file:///folder, s3://bucket/prefix, hf://buckets/ORG/NAME/prefix or https://host/path";
  error.found = name;
  return error;
}

void SetRecord(JsonObject& object, const RecordInfo* record) {
  object.SetKnownNumber("number", record ? std::optional(record->number) : std::nullopt);
  object.SetKnownNumber("step", record ? record->step : std::nullopt);
  object.SetKnownNumber("created", record ? std::optional(record->created) : std::nullopt);
  object.SetKnownText("state", record ? record->state : "");
  object.SetKnownText("fingerprint", record ? record->fingerprint : "");
  SetTotals(object, record && record->totals.elements_total ? &record->totals : nullptr);
  SetDeltaSize(object, record ? &record->totals : nullptr, record ? record->delta_bytes : std::nullopt);
  object.SetKnownNumber("anchor_bytes", record ? record->anchor_bytes : std::nullopt);
  std::vector<std::string> tags;
  for (const std::string& tag : record ? record->tags : std::vector<std::string>{}) tags.push_back(JsonString(tag));
  object.SetJson("tags", JsonArray(tags));
}

std::string RecordName(const RecordInfo& record) {
  return "record " + std::to_string(record.number) +
         (record.step ? " (step " + std::to_string(*record.step) + ")" : "");
}

}  // namespace wdelta
