// The columns that kubectl shows of each kind.
#include <algorithm>
#include <functional>
#include <set>

#include <boost/json.hpp>

#include "src/platform/base/strings.h"
#include "testing/apiserver/event_form.h"
#include "testing/apiserver/json_fields.h"
#include "testing/apiserver/time_text.h"
#include "testing/apiserver/view.h"

namespace kgpu::apiserver {
namespace {

namespace json = boost::json;

using Cell = std::function<json::value(const json::object& object, int64_t now)>;

struct TableColumn {
  std::string name{};
  std::string type = "string";
  int priority = 0;
  Cell cell;
};

json::value OrNone(std::string_view text) {
  return json::string(text.empty() ? "<none>" : text);
}

// A copy of the path: the list that makes it is gone when the cell is asked for.
Cell TextCell(std::string path) {
  return [path = std::move(path)](const json::object& object, int64_t) -> json::value {
    return OrNone(PlainText(FieldAtDots(object, path)));
  };
}

Cell NumberCell(std::string path) {
  return [path = std::move(path)](const json::object& object, int64_t) -> json::value {
    const json::value* value = FieldAtDots(object, path);
    return value != nullptr && value->is_int64() ? *value : json::value(0);
  };
}

Cell CountCell(std::string path) {
  return [path = std::move(path)](const json::object& object, int64_t) -> json::value {
    const json::value* value = FieldAtDots(object, path);
    if (value == nullptr) {
      return 0;
    }
    return value->is_object()  ? value->get_object().size()
           : value->is_array() ? value->get_array().size()
                               : 0;
  };
}

json::value AgeSince(std::string_view time, int64_t now) {
  const int64_t since = SecondsOf(time);
  return since == 0 ? json::value("<unknown>") : json::value(AgeText(now - since));
}

Cell AgeCell(std::string path) {
  return [path = std::move(path)](const json::object& object, int64_t now) {
    return AgeSince(PlainText(FieldAtDots(object, path)), now);
  };
}

TableColumn Name() {
  return {.name = "Name", .cell = TextCell("metadata.name")};
}

TableColumn Age() {
  return {.name = "Age", .cell = AgeCell("metadata.creationTimestamp")};
}

json::value NodeReadiness(const json::object& node, int64_t /*now*/) {
  std::string text = "Unknown";
  for (const json::value& item : ItemsAt(node, {"status", "conditions"})) {
    if (item.is_object() && TextAt(item.get_object(), {"type"}) == "Ready") {
      text = TextAt(item.get_object(), {"status"}) == "True" ? "Ready" : "NotReady";
    }
  }
  if (FlagAt(node, {"spec", "unschedulable"})) {
    text += ",SchedulingDisabled";
  }
  return json::string(text);
}

json::value NodeRoles(const json::object& node, int64_t /*now*/) {
  static constexpr std::string_view kPrefix = "node-role.kubernetes.io/";
  std::set<std::string> roles;
  const json::object none;
  const json::object* labels = ObjectAt(node, {"metadata", "labels"});
  for (const auto& [key, value] : labels == nullptr ? none : *labels) {
    const std::string_view name(key.data(), key.size());
    if (name.starts_with(kPrefix) && name.size() > kPrefix.size()) {
      roles.emplace(name.substr(kPrefix.size()));
    }
  }
  return OrNone(Join({roles.begin(), roles.end()}, ","));
}

Cell NodeAddress(std::string type) {
  return [type = std::move(type)](const json::object& node, int64_t) -> json::value {
    for (const json::value& item : ItemsAt(node, {"status", "addresses"})) {
      if (item.is_object() && TextAt(item.get_object(), {"type"}) == type) {
        return OrNone(TextAt(item.get_object(), {"address"}));
      }
    }
    return "<none>";
  };
}

std::vector<TableColumn> NodeColumns() {
  return {
      Name(),
      {.name = "Status", .cell = NodeReadiness},
      {.name = "Roles", .cell = NodeRoles},
      Age(),
      {.name = "Version", .cell = TextCell("status.nodeInfo.kubeletVersion")},
      {.name = "Internal-IP", .priority = 1, .cell = NodeAddress("InternalIP")},
      {.name = "External-IP", .priority = 1, .cell = NodeAddress("ExternalIP")},
      {.name = "OS-Image", .priority = 1, .cell = TextCell("status.nodeInfo.osImage")},
      {.name = "Kernel-Version", .priority = 1, .cell = TextCell("status.nodeInfo.kernelVersion")},
      {.name = "Container-Runtime",
       .priority = 1,
       .cell = TextCell("status.nodeInfo.containerRuntimeVersion")}};
}

json::value PodReadiness(const json::object& pod, int64_t /*now*/) {
  const json::array* containers = ListAt(pod, {"spec", "containers"});
  size_t ready = 0;
  for (const json::value& item : ItemsAt(pod, {"status", "containerStatuses"})) {
    ready += item.is_object() && FlagAt(item.get_object(), {"ready"}) ? 1 : 0;
  }
  return json::string(fmt::format("{}/{}", ready, containers == nullptr ? 0 : containers->size()));
}

json::value PodState(const json::object& pod, int64_t /*now*/) {
  if (FieldAt(pod, {"metadata", "deletionTimestamp"}) != nullptr) {
    return "Terminating";
  }
  const std::string_view reason = TextAt(pod, {"status", "reason"});
  return json::string(reason.empty() ? TextAt(pod, {"status", "phase"}) : reason);
}

json::value PodRestarts(const json::object& pod, int64_t /*now*/) {
  int64_t restarts = 0;
  for (const json::value& item : ItemsAt(pod, {"status", "containerStatuses"})) {
    restarts += item.is_object() ? NumberAt(item.get_object(), {"restartCount"}, 0) : 0;
  }
  return json::string(std::to_string(restarts));
}

std::vector<TableColumn> PodColumns() {
  return {Name(),
          {.name = "Ready", .cell = PodReadiness},
          {.name = "Status", .cell = PodState},
          {.name = "Restarts", .cell = PodRestarts},
          Age(),
          {.name = "IP", .priority = 1, .cell = TextCell("status.podIP")},
          {.name = "Node", .priority = 1, .cell = TextCell("spec.nodeName")},
          {.name = "Nominated Node", .priority = 1, .cell = TextCell("status.nominatedNodeName")},
          {.name = "Readiness Gates", .priority = 1, .cell = TextCell("spec.readinessGates")}};
}

// In core's form.
json::value EventLastSeen(const json::object& event, int64_t now) {
  for (const char* path : {"series.lastObservedTime", "lastTimestamp", "eventTime"}) {
    const std::string time = PlainText(FieldAtDots(event, path));
    if (!time.empty()) {
      return AgeSince(time, now);
    }
  }
  return "<unknown>";
}

json::value EventObject(const json::object& event, int64_t /*now*/) {
  return json::string(fmt::format("{}/{}", ToLower(TextAt(event, {"involvedObject", "kind"})),
                                  TextAt(event, {"involvedObject", "name"})));
}

json::value EventSource(const json::object& event, int64_t /*now*/) {
  const std::string_view source = TextAt(event, {"source", "component"});
  return json::string(source.empty() ? TextAt(event, {"reportingComponent"}) : source);
}

json::value EventCount(const json::object& event, int64_t /*now*/) {
  return std::max<int64_t>(1, NumberAt(event, {"series", "count"}, NumberAt(event, {"count"}, 1)));
}

std::vector<TableColumn> EventColumns() {
  return {{.name = "Last Seen", .cell = EventLastSeen},
          {.name = "Type", .cell = TextCell("type")},
          {.name = "Reason", .cell = TextCell("reason")},
          {.name = "Object", .cell = EventObject},
          {.name = "Subobject", .priority = 1, .cell = TextCell("involvedObject.fieldPath")},
          {.name = "Source", .priority = 1, .cell = EventSource},
          {.name = "Message", .cell = TextCell("message")},
          {.name = "First Seen", .priority = 1, .cell = AgeCell("metadata.creationTimestamp")},
          {.name = "Count", .type = "integer", .priority = 1, .cell = EventCount},
          {.name = "Name", .priority = 1, .cell = TextCell("metadata.name")}};
}

std::vector<TableColumn> DaemonSetColumns() {
  const auto number = [](const char* name, const char* path) {
    return TableColumn{.name = name, .type = "integer", .cell = NumberCell(path)};
  };
  return {Name(),
          number("Desired", "status.desiredNumberScheduled"),
          number("Current", "status.currentNumberScheduled"),
          number("Ready", "status.numberReady"),
          number("Up-to-date", "status.updatedNumberScheduled"),
          number("Available", "status.numberAvailable"),
          {.name = "Node Selector", .cell = TextCell("spec.template.spec.nodeSelector")},
          Age()};
}

json::value DeploymentReadiness(const json::object& deployment, int64_t /*now*/) {
  return json::string(fmt::format("{}/{}", NumberAt(deployment, {"status", "readyReplicas"}, 0),
                                  NumberAt(deployment, {"spec", "replicas"}, 1)));
}

json::value JobState(const json::object& job, int64_t /*now*/) {
  for (const json::value& item : ItemsAt(job, {"status", "conditions"})) {
    const json::object* condition = item.if_object();
    if (condition != nullptr && TextAt(*condition, {"status"}) == "True") {
      const std::string_view type = TextAt(*condition, {"type"});
      if (type == "Complete" || type == "Failed" || type == "Suspended") {
        return json::string(type);
      }
    }
  }
  return "Running";
}

json::value JobCompletions(const json::object& job, int64_t /*now*/) {
  return json::string(fmt::format("{}/{}", NumberAt(job, {"status", "succeeded"}, 0),
                                  NumberAt(job, {"spec", "completions"}, 1)));
}

json::value ServicePorts(const json::object& service, int64_t /*now*/) {
  std::vector<std::string> ports;
  for (const json::value& item : ItemsAt(service, {"spec", "ports"})) {
    const json::object port = item.is_object() ? item.get_object() : json::object();
    const int64_t on_node = NumberAt(port, {"nodePort"}, 0);
    ports.push_back(fmt::format("{}{}/{}", NumberAt(port, {"port"}, 0),
                                on_node == 0 ? "" : fmt::format(":{}", on_node),
                                TextAt(port, {"protocol"})));
  }
  return OrNone(Join(ports, ","));
}

std::vector<TableColumn> CustomColumns(const Resource& resource) {
  std::vector<TableColumn> columns = {Name()};
  for (const Column& column : resource.columns) {
    Cell cell = column.type == "date" ? AgeCell(column.json_path) : TextCell(column.json_path);
    if (column.type == "integer" || column.type == "boolean" || column.type == "number") {
      cell = [path = column.json_path](const json::object& object, int64_t) -> json::value {
        const json::value* value = FieldAtDots(object, path);
        return value == nullptr ? json::value() : *value;
      };
    }
    columns.push_back({.name = column.name,
                       .type = column.type == "date" ? "string" : column.type,
                       .priority = column.priority,
                       .cell = std::move(cell)});
  }
  if (resource.columns.empty()) {
    columns.push_back(Age());
  }
  return columns;
}

std::vector<TableColumn> SmallColumns(const std::string& kind) {
  if (kind == "Namespace") {
    return {Name(), {.name = "Status", .cell = TextCell("status.phase")}, Age()};
  }
  if (kind == "ConfigMap") {
    return {Name(), {.name = "Data", .type = "integer", .cell = CountCell("data")}, Age()};
  }
  if (kind == "Secret") {
    return {Name(),
            {.name = "Type", .cell = TextCell("type")},
            {.name = "Data", .type = "integer", .cell = CountCell("data")},
            Age()};
  }
  if (kind == "ServiceAccount") {
    return {Name(), {.name = "Secrets", .type = "integer", .cell = CountCell("secrets")}, Age()};
  }
  if (kind == "Lease") {
    return {Name(), {.name = "Holder", .cell = TextCell("spec.holderIdentity")}, Age()};
  }
  if (kind == "PodDisruptionBudget") {
    return {Name(),
            {.name = "Min Available", .cell = TextCell("spec.minAvailable")},
            {.name = "Max Unavailable", .cell = TextCell("spec.maxUnavailable")},
            {.name = "Allowed Disruptions",
             .type = "integer",
             .cell = NumberCell("status.disruptionsAllowed")},
            Age()};
  }
  if (kind == "CustomResourceDefinition") {
    return {Name(), {.name = "Created At", .cell = TextCell("metadata.creationTimestamp")}};
  }
  if (kind == "Job") {
    return {Name(),
            {.name = "Status", .cell = JobState},
            {.name = "Completions", .cell = JobCompletions},
            Age()};
  }
  if (kind == "Service") {
    return {Name(),
            {.name = "Type", .cell = TextCell("spec.type")},
            {.name = "Cluster-IP", .cell = TextCell("spec.clusterIP")},
            {.name = "External-IP", .cell = TextCell("spec.externalIPs")},
            {.name = "Port(s)", .cell = ServicePorts},
            Age()};
  }
  if (kind == "PersistentVolumeClaim") {
    return {Name(),
            {.name = "Status", .cell = TextCell("status.phase")},
            {.name = "Volume", .cell = TextCell("spec.volumeName")},
            {.name = "Capacity", .cell = TextCell("status.capacity.storage")},
            {.name = "StorageClass", .cell = TextCell("spec.storageClassName")},
            Age()};
  }
  if (kind == "Deployment") {
    return {
        Name(),
        {.name = "Ready", .cell = DeploymentReadiness},
        {.name = "Up-to-date", .type = "integer", .cell = NumberCell("status.updatedReplicas")},
        {.name = "Available", .type = "integer", .cell = NumberCell("status.availableReplicas")},
        Age()};
  }
  return {Name(), Age()};
}

std::vector<TableColumn> ColumnsOf(const Resource& resource) {
  if (resource.is_custom) {
    return CustomColumns(resource);
  }
  if (resource.kind == "Node") {
    return NodeColumns();
  }
  if (resource.kind == "Pod") {
    return PodColumns();
  }
  if (resource.kind == "Event") {
    return EventColumns();
  }
  if (resource.kind == "DaemonSet") {
    return DaemonSetColumns();
  }
  return SmallColumns(resource.kind);
}

json::object RowOf(const Resource& resource, const std::vector<TableColumn>& columns,
                   const Stored& item, const View& view) {
  json::array cells;
  for (const TableColumn& column : columns) {
    cells.push_back(column.cell(item.object(), view.now));
  }
  json::object row = {{"cells", std::move(cells)}};
  if (view.row_object == RowObject::kWhole) {
    row["object"] = ToExternal(resource, item.object());
  } else if (view.row_object == RowObject::kMetadata) {
    row["object"] = {{"kind", "PartialObjectMetadata"},
                     {"apiVersion", "meta.k8s.io/v1"},
                     {"metadata", item.object().at("metadata")}};
  }
  return row;
}

}  // namespace

json::object MakeTable(const Resource& resource, const std::vector<StoredPtr>& items,
                       const json::object& list_metadata, const View& view) {
  const std::vector<TableColumn> columns = ColumnsOf(resource);
  json::array definitions;
  for (const TableColumn& column : columns) {
    definitions.push_back({{"name", column.name},
                           {"type", column.type},
                           {"format", column.name == "Name" ? "name" : ""},
                           {"description", ""},
                           {"priority", column.priority}});
  }
  json::array rows;
  for (const StoredPtr& item : items) {
    rows.push_back(RowOf(resource, columns, *item, view));
  }
  return {{"kind", "Table"},
          {"apiVersion", "meta.k8s.io/v1"},
          {"metadata", list_metadata},
          {"columnDefinitions", std::move(definitions)},
          {"rows", std::move(rows)}};
}

}  // namespace kgpu::apiserver
