// The small files in which wdelta remembers where a folder stands: one flat JSON object of texts, replaced atomically.
//
// The first text, "format", is the version of what the others mean. Files from before there was one are of version 1. A
// wdelta that meets a newer version touches nothing, because it cannot know what it would destroy.
#pragma once

#include <map>
#include <string>

#include "core/digest.h"

namespace wdelta {

class StateFile {
 public:
  static constexpr uint64_t kFormat = 1;

  // A file that is not there is an empty state. kIntegrity if it cannot be understood, kRefused if it is of a newer
  // version.
  static Result<StateFile> Read(const std::string& path);
  Result<> Write(const std::string& path, bool durable) const;

  bool empty() const { return values_.empty(); }
  bool Has(const std::string& key) const { return values_.contains(key); }
  std::string Text(const std::string& key) const;     // empty if it is not there
  uint64_t Number(const std::string& key) const;      // 0 if it is not there or no number
  Sha256Digest Digest(const std::string& key) const;  // all zero if it is not there or no digest
  void Set(const std::string& key, std::string value) { values_[key] = std::move(value); }
  void Set(const std::string& key, uint64_t number) { values_[key] = std::to_string(number); }
  void Set(const std::string& key, const Sha256Digest& digest) { values_[key] = Hex(digest); }
  void Remove(const std::string& key) { values_.erase(key); }
  template <class Predicate>
  void RemoveIf(const Predicate& unwanted) {  // asked with each key
    std::erase_if(values_, [&](const auto& item) { return unwanted(item.first); });
  }

 private:
  std::map<std::string, std::string> values_;
};

}  // namespace wdelta
