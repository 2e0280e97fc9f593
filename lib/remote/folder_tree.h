// A folder and what lies below it, by descriptor: every step goes from an open folder to a name in it and never through
// a symbolic link, so that a key cannot lead out of the folder, whatever other programs write there.
#pragma once

#include <sys/stat.h>

#include <string>
#include <string_view>
#include <utility>

#include "core/stop.h"
#include "remote/remote.h"

namespace wdelta {

// An open file or folder; closes itself.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~Descriptor();
  int get() const { return number_; }

 private:
  int number_;
};

// As SystemError, and kTransient for what a file server that is away for a moment answers.
Error FolderError(std::string_view action, const std::string& path, int errno_value);

Result<Descriptor> OpenRoot(const std::string& root);

// The folder that holds the object `key`, kNotFound if it is not there, and the object's name in it. With `made`, which
// may be null, folders are created where they are missing, and `made` is called for each part of the way with the
// folder that holds it and its path below `root`.
struct Place {
  Descriptor folder;
  std::string name;
};
using OnWay = std::function<Result<>(const Descriptor& holder, const std::string& way)>;
Result<Place> FindPlace(const std::string& root, std::string_view key, const OnWay& made);

// What is at a name, links not followed; false if nothing is.
Result<bool> Look(const Descriptor& folder, const std::string& name, const std::string& path, struct stat* status);

// The names in a folder, those of folders with a slash at their end, without what is neither a file nor a folder.
Result<std::vector<std::string>> NamesIn(const Descriptor& folder, const std::string& path);

// Up to `limit` objects below the folder, in the order of their keys; `more` as in ObjectPage. Hidden names, and names
// that no key can have, are passed over.
Result<ObjectPage> ListBelow(const std::string& root, const std::string& prefix, const std::string& after,
                             unsigned limit, const StopToken& stop);

}  // namespace wdelta
