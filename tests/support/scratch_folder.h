// A folder for one test, which vanishes with everything in it.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "core/bytes.h"

namespace wdelta {

// What lies at a place: relative path to content, hidden files too. A folder ends in a slash, a link is "-> target";
// a lone file has the path "".
using Tree = std::map<std::string, std::string>;

class ScratchFolder {
 public:
  // In memory where the machine has a file system for that, because tests sync a lot; else in TMPDIR.
  ScratchFolder();
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  const std::string& path() const { return path_; }
  std::string operator/(std::string_view name) const { return path_ + "/" + std::string(name); }

  // Makes the folders on the way, and gives the file a time of long ago, so that any later write shows.
  void Write(std::string_view name, std::string_view content) const;
  std::string Read(std::string_view name) const;
  bool Exists(std::string_view name) const;
  void Copy(std::string_view from, std::string_view to) const;
  void Remove(std::string_view name) const;
  Tree TreeOf(std::string_view name = "") const;

 private:
  std::string path_;
};

// The paths of a tree in one line, for messages.
std::string Names(const Tree& tree);

}  // namespace wdelta
