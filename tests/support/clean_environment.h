// An environment without anything that tells of S3, and with a home of its own, for as long as a test runs.
#pragma once

#include <unistd.h>

#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "support/scratch_folder.h"

namespace wdelta {

class CleanEnvironment {
 public:
  CleanEnvironment() {
    for (char** entry = environ; *entry; ++entry) {
      const std::string text = *entry;
      const std::string name = text.substr(0, text.find('='));
      if (name.starts_with("AWS_") || name.starts_with("WDELTA_") || name == "HOME")
        kept_.emplace_back(name, text.substr(name.size() + 1));
    }
    for (const auto& [name, value] : kept_) unsetenv(name.c_str());
    Set("HOME", home_.path());
    Set("AWS_EC2_METADATA_DISABLED", "true");
  }
  ~CleanEnvironment() {
    for (const std::string& name : set_) unsetenv(name.c_str());
    for (const auto& [name, value] : kept_) setenv(name.c_str(), value.c_str(), 1);
  }
  CleanEnvironment(const CleanEnvironment&) = delete;
  CleanEnvironment& operator=(const CleanEnvironment&) = delete;

  void Set(const std::string& name, const std::string& value) {
    setenv(name.c_str(), value.c_str(), 1);
    set_.push_back(name);
  }
  void Unset(const std::string& name) { unsetenv(name.c_str()); }
  const ScratchFolder& home() const { return home_; }

 private:
  ScratchFolder home_;
  std::vector<std::pair<std::string, std::string>> kept_;
  std::vector<std::string> set_;
};

}  // namespace wdelta
