#include "src/agent/mig_plan.h"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <utility>

#include "src/platform/base/status_macros.h"
#include "src/platform/doc/doc.h"
#include "src/platform/doc/fields.h"

namespace kgpu::agent {
namespace {

namespace json = boost::json;

constexpr char kWhere[] = "kgpu mig apply";
constexpr size_t kMostGpus = 128;

StatusOr<const json::array*> ListOf(const json::value& tree, const char* key) {
  const json::object* fields = tree.if_object();
  const json::value* value = fields == nullptr ? nullptr : fields->if_contains(key);
  const json::array* list = value == nullptr ? nullptr : value->if_array();
  if (list == nullptr || list->size() > kMostGpus) {
    return InvalidArgument("{}: {}: must be a list of GPUs", kWhere, key);
  }
  return list;
}

}  // namespace

StatusOr<MigPlan> ParseMigPlan(std::string_view text) {
  ASSIGN_OR_RETURN(const json::value tree, doc::Parse(text, doc::Format::kJson, kWhere));
  MigPlan plan;
  doc::Fields fields(tree, kWhere);
  plan.is_feasible = fields.Bool("feasible");
  plan.reason = fields.Text("reason");
  RETURN_IF_ERROR(fields.status());
  ASSIGN_OR_RETURN(const json::array* changes, ListOf(tree, "changes"));
  for (const json::value& item : *changes) {
    doc::Fields change(item, fmt::format("{}: changes", kWhere));
    const bool enables = change.Bool("enablesMig");
    const bool disables = change.Bool("disablesMig");
    plan.changes.push_back({.gpu = change.Text("uuid"), .changes_mode = enables || disables});
    RETURN_IF_ERROR(change.status());
  }
  ASSIGN_OR_RETURN(const json::array* waiting, ListOf(tree, "waitingGpus"));
  for (const json::value& item : *waiting) {
    doc::Fields fields_of(item, fmt::format("{}: waitingGpus", kWhere));
    plan.waiting.push_back({.gpu = fields_of.Text("uuid"), .reason = fields_of.Text("reason")});
    RETURN_IF_ERROR(fields_of.status());
  }
  return plan;
}

}  // namespace kgpu::agent
