#include "sync/rollback_guard.h"

#include <ctime>

namespace wdelta {

namespace {

constexpr double kMostSkew = 600;  // seconds that two clocks may differ

}  // namespace

Error WentBackwards(const std::string& url, uint64_t seen, uint64_t found) {
  Error error{ErrorKind::kRefused, "the history of '" + url + "' went backwards: record " + std::to_string(seen) +
                                       " was seen before, the newest is now " + std::to_string(found)};
  error.expected = std::to_string(seen);
  error.found = std::to_string(found);
  error.hint = "if that is intended, pull a record by name (@" + std::to_string(found) + ") or use '--allow-rollback'";
  return error;
}

Error Rewritten(const std::string& url, uint64_t number) {
  return Error{ErrorKind::kRefused,
               "the history of '" + url + "' was rewritten: record " + std::to_string(number) +
                   " is not the one that was pulled before",
               "if that is intended, use '--allow-rollback'"};
}

Error OtherHistory(const std::string& folder, const std::string& url) {
  return Error{ErrorKind::kRefused, "'" + folder + "' follows another history than the one at '" + url + "'",
               "pull it into another folder, or use '--allow-rollback'"};
}

Result<> CheckAge(const std::string& url, uint64_t created, double max_age) {
  if (max_age <= 0) return {};
  const std::time_t now = std::time(nullptr);
  const double age = static_cast<double>(now) - static_cast<double>(created);
  if (age < -kMostSkew) {  // it would pass for new for ever
    return Error{ErrorKind::kRefused, "the newest record of '" + url + "' is from the future, so its age is not known",
                 "compare the clocks of this machine and of the pusher"};
  }
  if (age <= max_age) return {};
  return Error{ErrorKind::kRefused,
               "the newest record of '" + url + "' is " + std::to_string(now - static_cast<std::time_t>(created)) +
                   " seconds old, more than allowed",
               "see whether the trainer still pushes, or whether this is an old mirror"};
}

}  // namespace wdelta
