// Push: what the user asked for, as values, and on to a history or to a store of versions.
#include "canonical/publish.h"
#include "canonical/version.h"
#include "core/boundary.h"
#include "foreign/foreign.h"
#include "sync/pusher.h"
#include "wdelta.h"

namespace wdelta {

namespace {

// Versions of other systems have no place for some options, and are made of checkpoints only.
Result<> CheckVersionRequest(const PushRequest& request) {
  const std::pair<bool, const char*> misplaced[] = {{request.step.has_value(), "--step"},
                                                    {!request.tag.empty(), "--tag"},
                                                    {!request.mirror.empty(), "--mirror"},
                                                    {request.rebase, "--rebase"}};
  for (const auto& [is_given, option] : misplaced) {
    if (is_given) {
      return Error{ErrorKind::kUsage, std::string("'") + option + "' does not go with '--format canonical'",
                   "versions are numbered one after the other, and a base is kept with '--keep-base'"};
    }
  }
  if (!request.run.empty()) WD_TRY(CheckRunName(request.run));
  WD_ASSIGN(const bool is_delta, LooksLikeAnyDelta(request.source));
  if (!is_delta) return {};
  return Error{ErrorKind::kUsage, "'--format canonical' takes a checkpoint, and '" + request.source + "' is none",
               "rebuild it first: 'wdelta apply BASE " + request.source + " -o CKPT'"};
}

}  // namespace

Result<PushReport> Push(const PushRequest& request, const Context& context) {
  return Guarded([&]() -> Result<PushReport> {
    const bool is_version = request.format == "canonical";
    if (is_version) WD_TRY(CheckVersionRequest(request));
    if (!request.base.empty() && !request.mirror.empty()) {
      return Error{ErrorKind::kUsage, "a push takes a base or a mirror, not both"};
    }
    WD_ASSIGN(Session session,
              Session::OpenWhole(request.remote, request.transfer, context,
                                 is_version ? "a push goes to the end, not to a version that is there"
                                            : "a push goes to the end of a history, not to one of its records"));
    return is_version ? PublishVersion(session, request, context) : PushToHistory(session, request, context);
  });
}

}  // namespace wdelta
