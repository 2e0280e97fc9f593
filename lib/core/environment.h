// The variables that tell a call about its surroundings: where the credentials and endpoints of stores are, and where
// temporary files go. They are a value in the Context of a call, so that a program can give each call others than its
// own. Only libcurl looks for itself: the variables of proxies are those of the process.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "words.h"

namespace wdelta {

class Environment {
 public:
  using Variables = std::map<std::string, std::string, std::less<>>;

  Environment() = default;  // no variable at all
  explicit Environment(Variables variables) : variables_(std::make_shared<const Variables>(std::move(variables))) {}

  // Empty if it is not set.
  std::string Get(std::string_view name) const {
    const auto at = variables().find(name);
    return at == variables().end() ? "" : at->second;
  }
  const Variables& variables() const {
    static const Variables kNone;
    return variables_ ? *variables_ : kNone;
  }

 private:
  std::shared_ptr<const Variables> variables_;  // shared by copies, which never change it
};

// Those of this process, as they are now.
WDELTA_EXPORT Environment ProcessEnvironment();

}  // namespace wdelta
