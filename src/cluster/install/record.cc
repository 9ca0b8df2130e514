#include "src/cluster/install/record.h"

#include <boost/json.hpp>

#include <algorithm>
#include <utility>

#include "src/kube/api/json.h"
#include "src/kube/api/resource.h"
#include "src/kube/api/writes.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/doc/doc.h"
#include "src/platform/doc/fields.h"
#include "src/platform/doc/json_texts.h"

namespace kgpu::install {
namespace {

namespace json = boost::json;
using doc::View;

constexpr kube::Resource kConfigMaps{"", "v1", "configmaps"};
constexpr std::string_view kHelmRelease = "meta.helm.sh/release-name";
constexpr std::chrono::milliseconds kReachTime{30'000};

json::array ObjectsJson(const std::vector<InstalledObject>& objects) {
  json::array list;
  for (const InstalledObject& object : objects) {
    json::object item{{"apiVersion", object.ref.api_version},
                      {"kind", object.ref.kind},
                      {"namespace", object.ref.space},
                      {"name", object.ref.name}};
    if (object.existed) {
      item["existed"] = true;
    }
    list.push_back(std::move(item));
  }
  return list;
}

StatusOr<std::vector<InstalledObject>> ReadObjects(std::string_view text,
                                                   const std::string& where) {
  ASSIGN_OR_RETURN(const json::value list, doc::Parse(text, doc::Format::kJson, where));
  if (!list.is_array()) {
    return InvalidArgument("{}: must be a list", where);
  }
  std::vector<InstalledObject> objects;
  for (const json::value& item : list.get_array()) {
    doc::Fields fields(item, fmt::format("{}[{}]", where, objects.size()));
    InstalledObject object{.ref = {.api_version = fields.Text("apiVersion"),
                                   .kind = fields.Text("kind"),
                                   .space = fields.Text("namespace"),
                                   .name = fields.Text("name")}};
    object.existed = fields.Has("existed") && fields.Bool("existed");
    RETURN_IF_ERROR(fields.status());
    objects.push_back(std::move(object));
  }
  return objects;
}

StatusOr<json::object> ReadMap(std::string_view text, const std::string& where) {
  ASSIGN_OR_RETURN(json::value tree, doc::Parse(text, doc::Format::kJson, where));
  if (!tree.is_object()) {
    return InvalidArgument("{}: must be an object", where);
  }
  return std::move(tree.get_object());
}

}  // namespace

const InstalledObject* Record::Find(const kube::ObjectRef& ref) const {
  const auto found = std::ranges::find(objects, ref, &InstalledObject::ref);
  return found == objects.end() ? nullptr : &*found;
}

json::object ConfigMapOf(const Record& record, std::string_view space) {
  json::object data{{"version", record.version},
                    {"state", record.is_complete ? "installed" : "installing"},
                    {"request", doc::PrintLine(record.request)},
                    {"objects", doc::PrintLine(ObjectsJson(record.objects))}};
  if (!record.clearing.empty()) {
    data["clearing"] = doc::PrintLine(record.clearing);
  }
  return {{"apiVersion", "v1"},
          {"kind", "ConfigMap"},
          {"metadata",
           {{"name", View(kRecordName)},
            {"namespace", View(space)},
            {"labels",
             {{"app.kubernetes.io/name", View(kRecordName)},
              {View(kPartOf), "kgpu"},
              {View(kManagedBy), View(kManager)}}}}},
          {"data", std::move(data)}};
}

StatusOr<Record> RecordOf(const json::value& config_map) {
  const std::string where =
      fmt::format("ConfigMap {}/{}: data", kube::NamespaceOf(config_map), kube::NameOf(config_map));
  const json::value* data = kube::FindField(config_map, {"data"});
  const json::value none;
  doc::Fields fields(data == nullptr ? none : *data, where);
  Record record;
  record.version = fields.Text("version");
  record.is_complete = fields.Text("state") == "installed";
  const std::string request = fields.Text("request");
  const std::string objects = fields.Text("objects");
  const std::string clearing = fields.Has("clearing") ? fields.Text("clearing") : "{}";
  RETURN_IF_ERROR(fields.status());
  ASSIGN_OR_RETURN(record.request, ReadMap(request, where + ".request"));
  ASSIGN_OR_RETURN(record.clearing, ReadMap(clearing, where + ".clearing"));
  ASSIGN_OR_RETURN(record.objects, ReadObjects(objects, where + ".objects"));
  return record;
}

std::string RecordPath(std::string_view space) {
  return kConfigMaps.Object(space, kRecordName);
}

StatusOr<std::optional<Record>> ReadRecord(kube::BlockingClient& client, std::string_view space) {
  const StatusOr<json::value> object =
      kube::SendUntilReached(client, {.path = RecordPath(space)}, kReachTime);
  if (object.status().code() == StatusCode::kNotFound) {
    return std::optional<Record>();
  }
  RETURN_IF_ERROR(object.status());
  ASSIGN_OR_RETURN(Record record, RecordOf(*object));
  return std::optional(std::move(record));
}

Status WriteRecord(kube::BlockingClient& client, std::string_view space, const Record& record) {
  ASSIGN_OR_RETURN(const kube::ApiRequest request,
                   kube::ApplyRequest(RecordPath(space), ConfigMapOf(record, space), true,
                                      {.field_manager = std::string(kManager)}));
  return Annotate(kube::SendUntilReached(client, request, kReachTime).status(),
                  "writing what is installed");
}

bool IsOurs(const json::value& object) {
  const std::string_view manager = kube::TextField(object, {"metadata", "labels", kManagedBy});
  return manager == kManager || manager == kControllerManager;
}

std::string OtherManagerOf(const json::value& object) {
  const std::string_view release =
      kube::TextField(object, {"metadata", "annotations", kHelmRelease});
  if (!release.empty()) {
    return fmt::format("helm release {}", release);
  }
  const std::string_view label = kube::TextField(object, {"metadata", "labels", kManagedBy});
  return label.empty() ? "nobody" : std::string(label);
}

}  // namespace kgpu::install
