#include "testing/kubelet/claim_object.h"

#include <boost/json.hpp>

#include "src/platform/base/status_macros.h"
#include "src/platform/doc/doc.h"
#include "testing/kubelet/json_fields.h"

namespace kgpu::kubelet {
namespace {

namespace json = boost::json;

// Reads `field` of each item of a list that may be absent.
Status ReadEach(const JsonFields& parent, std::string_view list, std::string_view field,
                std::set<std::string>& out) {
  const json::value* items = parent.Find(list);
  if (items == nullptr) {
    return OkStatus();
  }
  return JsonFields(*items, parent.PathOf(list)).ForEachItem([&](const JsonFields& item) -> Status {
    std::string text;
    RETURN_IF_ERROR(item.Require(field, text));
    out.insert(text);
    return OkStatus();
  });
}

Status ReadAllocation(const JsonFields& status, ClaimObject& claim) {
  const json::value* allocation = status.Find("allocation");
  if (allocation == nullptr || allocation->is_null()) {
    return OkStatus();
  }
  claim.is_allocated = true;
  const JsonFields fields(*allocation, status.PathOf("allocation"));
  const json::value* devices = fields.Find("devices");
  if (devices == nullptr) {
    return OkStatus();
  }
  return ReadEach(JsonFields(*devices, fields.PathOf("devices")), "results", "driver",
                  claim.drivers);
}

}  // namespace

StatusOr<ClaimObject> ParseClaimObject(std::string_view text, const std::string& where) {
  ASSIGN_OR_RETURN(const json::value tree, doc::Parse(text, doc::Format::kJson, where));
  const JsonFields top(tree, where);
  ClaimObject claim;
  ASSIGN_OR_RETURN(const JsonFields metadata, top.Field("metadata"));
  RETURN_IF_ERROR(metadata.Require("name", claim.name));
  RETURN_IF_ERROR(metadata.Require("namespace", claim.name_space));
  RETURN_IF_ERROR(metadata.Require("uid", claim.uid));
  RETURN_IF_ERROR(ReadEach(metadata, "ownerReferences", "uid", claim.owners));
  if (const json::value* status = top.Find("status"); status != nullptr) {
    const JsonFields fields(*status, top.PathOf("status"));
    RETURN_IF_ERROR(ReadEach(fields, "reservedFor", "uid", claim.reserved_for));
    RETURN_IF_ERROR(ReadAllocation(fields, claim));
  }
  return claim;
}

}  // namespace kgpu::kubelet
