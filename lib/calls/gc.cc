// gc: removes the objects of a history that no kept record needs.
#include <algorithm>

#include "core/boundary.h"
#include "sync/gc_fence.h"
#include "sync/session.h"
#include "wdelta.h"

namespace wdelta {

namespace {

// A removal must not be under way for longer than pushers wait for a sweep. The attempts, and the pauses that a store
// may ask for between them, have to fit into what is left of that time after the sweep's own.
TransferOptions Impatient(TransferOptions transfer) {
  constexpr double kAttempt = 30;
  transfer.retries = std::min(transfer.retries, 2U);
  transfer.timeout = transfer.timeout > 0 ? std::min(transfer.timeout, kAttempt) : kAttempt;
  return transfer;
}

}  // namespace

Result<GcReport> Gc(const GcRequest& request, const Context& context) {
  return Guarded([&]() -> Result<GcReport> {
    const char* why_not = "garbage is collected in a whole history, not in one of its records";
    WD_ASSIGN(const Session session, Session::OpenWhole(request.remote, request.transfer, context, why_not));
    WD_ASSIGN(const Session remover, Session::Open(request.remote, Impatient(request.transfer), context));
    return GcFrom(session.remote(), remover.remote(), request, context.stop);
  });
}

}  // namespace wdelta
