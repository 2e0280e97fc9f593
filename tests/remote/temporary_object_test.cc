#include "remote/temporary_object.h"

#include <unistd.h>

#include <filesystem>
#include <thread>

#include "support/expect.h"
#include "support/scratch_folder.h"

namespace wdelta {
namespace {

size_t OpenDescriptorsOf(const std::string& path) {
  size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    count += std::filesystem::read_symlink(entry.path(), gone) == path;
  }
  return count;
}

TEST_CASE("whoever waited for a lock whose file was removed meanwhile gets the lock on the next file of that name") {
  const ScratchFolder folder;
  auto root = OpenRoot(folder.path());
  REQUIRE_OK(root);
  auto first = TakeReplaceLock(*root, folder.path(), {});
  REQUIRE_OK(first);
  Result<Descriptor> second = Error{ErrorKind::kUsage, "not yet"};
  std::thread waiting([&] { second = TakeReplaceLock(*root, folder.path(), {}); });
  while (OpenDescriptorsOf(folder / kReplaceLock) < 2) std::this_thread::yield();
  folder.Remove(kReplaceLock);
  *first = Descriptor(-1);  // gives it back
  waiting.join();
  REQUIRE_OK(second);
  struct stat held, named;
  REQUIRE(fstat(second->get(), &held) == 0);
  REQUIRE(stat((folder / kReplaceLock).c_str(), &named) == 0);
  CHECK(held.st_ino == named.st_ino);
}

}  // namespace
}  // namespace wdelta
