#include "core/environment.h"

#include <cstdlib>

#include "core/child_variables.h"
#include "support/expect.h"
#include "support/random_checkpoint.h"
#include "wdelta.h"

namespace wdelta {
namespace {

TEST_CASE("the environment of the process is what it was when it was asked for") {
  REQUIRE(setenv("WDELTA_CANARY", "a=b c", 1) == 0);
  const Environment environment = ProcessEnvironment();
  REQUIRE(unsetenv("WDELTA_CANARY") == 0);
  CHECK(environment.Get("WDELTA_CANARY") == "a=b c");
  CHECK(ProcessEnvironment().Get("WDELTA_CANARY").empty());
  CHECK(Context().environment.Get("PATH") == std::getenv("PATH"));
  CHECK(Environment().Get("PATH").empty());
}

TEST_CASE("a child process gets NAME=VALUE for each variable, and a null at the end") {
  const Environment environment({{"B", ""}, {"A", "x=y"}});
  const ChildVariables variables(environment.variables());
  CHECK(std::string(variables.pointers()[0]) == "A=x=y");
  CHECK(std::string(variables.pointers()[1]) == "B=");
  CHECK(variables.pointers()[2] == nullptr);
}

TEST_CASE("a call takes its temporary folder from its own environment") {
  const ScratchFolder folder;
  WriteCheckpoint(folder, "a", {.shards = {{.tensors = {Ramp("w", 100)}}}});
  WriteCheckpoint(folder, "b", {.shards = {{.tensors = {Ramp("w", 100, 0x3d00)}}}});
  const DiffRequest request{.base = folder / "a", .next = folder / "b", .output = folder / "delta"};
  Context context;
  context.environment = Environment({{"TMPDIR", folder / "none"}});
  CHECK_FAILS(Diff(request, context), ErrorKind::kNotFound, "cannot create a temporary file in '" + folder / "none'");
  context.environment = Environment({{"TMPDIR", folder.path()}});
  REQUIRE_OK(Diff(request, context));
}

}  // namespace
}  // namespace wdelta
