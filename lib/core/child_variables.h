// The variables of an environment in the form in which a child process is given them.
#pragma once

#include <string>
#include <vector>

#include "core/environment.h"

namespace wdelta {

class ChildVariables {
 public:
  explicit ChildVariables(const Environment::Variables& variables) {
    texts_.reserve(variables.size());
    pointers_.reserve(variables.size() + 1);
    for (const auto& [name, value] : variables) pointers_.push_back(texts_.emplace_back(name + "=" + value).data());
    pointers_.push_back(nullptr);
  }
  ChildVariables(const ChildVariables&) = delete;
  ChildVariables& operator=(const ChildVariables&) = delete;

  char* const* pointers() const { return pointers_.data(); }  // for posix_spawn and execve, as long as this lives

 private:
  std::vector<std::string> texts_;
  std::vector<char*> pointers_;
};

}  // namespace wdelta
