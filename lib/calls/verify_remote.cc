// Verify, of a whole history in a store.
#include "core/boundary.h"
#include "sync/verify_history.h"
#include "wdelta.h"

namespace wdelta {

namespace {

Result<VerifyRemoteReport> DoVerifyRemote(const VerifyRemoteRequest& request, const Context& context) {
  WD_ASSIGN(Session session, Session::Open(request.remote, request.transfer, context));
  return VerifyHistory(session, request.quick, context);
}

}  // namespace

Result<VerifyRemoteReport> VerifyRemote(const VerifyRemoteRequest& request, const Context& context) {
  return Guarded(DoVerifyRemote, request, context);
}

}  // namespace wdelta
