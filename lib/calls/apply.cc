// Apply: a base and deltas become a checkpoint, a new one or the base itself.
#include "checkpoint/hex_identity.h"
#include "core/boundary.h"
#include "foreign/foreign_target.h"
#include "walk/in_place.h"
#include "wdelta.h"

namespace wdelta {

Result<ApplyReport> Apply(const ApplyRequest& request, const Context& context) {
  return Guarded([&]() -> Result<ApplyReport> {
    if (request.in_place == !request.output.empty()) {
      return Error{ErrorKind::kUsage, "apply needs an output or 'in place', not both"};
    }
    // Before the base is opened: an interrupted run may have left it half patched.
    if (request.in_place) WD_TRY(PrepareInPlace(request.base, request.durable, context));
    WD_ASSIGN(const OpenedTarget opened, OpenTarget(request.base, request.deltas, {}, Trust::kWhole, context));
    WD_ASSIGN(const Rebuilt rebuilt, request.in_place ? PatchInPlace(opened, request.base, request.durable, context)
                                                      : RebuildCopy(opened, request.output, request.durable, context));
    if (rebuilt.already_applied) context.note("'" + request.base + "' is already the result of the delta");
    return ApplyReport{rebuilt.totals, HexIdentity(rebuilt.base), HexIdentity(rebuilt.proof.digests()),
                       rebuilt.proof.path(), rebuilt.already_applied};
  });
}

}  // namespace wdelta
