// The environment of this process without anything that tells of S3, and with a home of its own.
#pragma once

#include <string>

#include "core/environment.h"
#include "support/scratch_folder.h"

namespace wdelta {

class CleanEnvironment {
 public:
  CleanEnvironment() : variables_(ProcessEnvironment().variables()) {
    std::erase_if(variables_, [](const auto& variable) {
      return variable.first.starts_with("AWS_") || variable.first.starts_with("WDELTA_");
    });
    Set("HOME", home_.path());
    Set("AWS_EC2_METADATA_DISABLED", "true");
  }
  CleanEnvironment(const CleanEnvironment&) = delete;
  CleanEnvironment& operator=(const CleanEnvironment&) = delete;

  void Set(const std::string& name, const std::string& value) { variables_[name] = value; }
  void Unset(const std::string& name) { variables_.erase(name); }
  const ScratchFolder& home() const { return home_; }
  Environment value() const { return Environment(variables_); }

 private:
  ScratchFolder home_;
  Environment::Variables variables_;
};

}  // namespace wdelta
