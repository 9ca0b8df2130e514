#include "src/diagnose/explain/dump.h"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include <utility>

#include "src/diagnose/explain/readers.h"
#include "src/kube/api/json.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/doc/doc.h"
#include "src/platform/doc/json_reader.h"

namespace kgpu::explain {
namespace {

namespace json = boost::json;

constexpr std::string_view kKind = "ExplainDump";
constexpr std::string_view kVersion = "kgpu.dev/v1";
constexpr size_t kDepth = 64;

json::string_view ViewOf(std::string_view text) {
  return {text.data(), text.size()};
}

bool IsYaml(std::string_view text, std::string_view file) {
  const auto format = doc::FormatOfPath(file);
  if (format.ok()) {
    return *format == doc::Format::kYaml;
  }
  return !Trim(text.substr(0, 4096)).starts_with('{');
}

StatusOr<json::value> ParseTree(std::string_view text, std::string_view file) {
  if (IsYaml(text, file)) {
    return doc::Parse(text, doc::Format::kYaml, file, {.bytes = kMaxYamlDump, .depth = kDepth});
  }
  return doc::ParseJson(text, file, {.bytes = kMaxJsonDump, .depth = kDepth});
}

void TakeHeader(const json::value& root, Dump& dump) {
  dump.pod = Text(root, {"pod"});
  dump.taken = Text(root, {"taken"});
  for (std::string& kind : TextList(root, {"listed"})) {
    dump.listed.insert(std::move(kind));
  }
  dump.unseen = TextList(root, {"unseen"});
  const auto add_held = [&](const json::value& item) {
    dump.held.push_back({.container = Text(item, {"container"}),
                         .resource = Text(item, {"resource"}),
                         .id = Text(item, {"id"})});
  };
  ForEach(root, {"held"}, add_held);
}

// A list of pods of one namespace says nothing of who else has GPUs.
void NoteOneNamespace(Dump& dump) {
  std::set<std::string_view> spaces;
  for (const json::value& item : dump.items) {
    if (kube::TextField(item, {"kind"}) == "Pod") {
      spaces.insert(kube::NamespaceOf(item));
    }
  }
  if (spaces.size() == 1 && dump.Has("Node")) {
    dump.unseen.push_back(fmt::format(
        "pods of other namespaces than {}: they may have GPUs (kubectl get pods,nodes,events -A)",
        spaces.begin()->empty() ? "default" : *spaces.begin()));
  }
}

}  // namespace

StatusOr<Dump> ReadDump(std::string_view text, std::string_view file) {
  ASSIGN_OR_RETURN(json::value root, ParseTree(text, file));
  if (!root.is_object()) {
    return InvalidArgument("{}: must be an object: a dump of `kgpu explain dump`, or a list", file);
  }
  Dump dump;
  const std::string kind = Text(root, {"kind"});
  const bool is_ours = kind == kKind;
  if (is_ours) {
    TakeHeader(root, dump);
  }
  json::value* items = root.get_object().if_contains("items");
  json::array list;
  if (items != nullptr && items->is_array()) {
    list = std::move(items->get_array());
  } else if (!is_ours) {
    list.push_back(std::move(root));
  }
  // Lists of one kind leave it out of their items: "PodList".
  const std::string_view of_all =
      kind.ends_with("List") ? std::string_view(kind).substr(0, kind.size() - 4) : "";
  for (json::value& item : list) {
    const bool has_kind = !kube::TextField(item, {"kind"}).empty();
    if (Slim(item, has_kind ? "" : of_all)) {
      dump.items.push_back(std::move(item));
    }
  }
  if (!is_ours) {
    for (const json::value& item : dump.items) {
      dump.listed.insert(Text(item, {"kind"}));
    }
    NoteOneNamespace(dump);
  }
  if (dump.items.empty() && !is_ours) {
    return InvalidArgument(
        "{}: has no object that matters here: make it by `kgpu explain dump` or "
        "`kubectl get pods,nodes,events -A -o json`",
        file);
  }
  return dump;
}

json::value DumpJson(Dump dump) {
  json::array listed;
  for (const std::string& kind : dump.listed) {
    listed.push_back(ViewOf(kind));
  }
  json::array unseen;
  for (const std::string& line : dump.unseen) {
    unseen.push_back(ViewOf(line));
  }
  json::array held;
  for (const HeldDevice& device : dump.held) {
    held.push_back({{"container", ViewOf(device.container)},
                    {"resource", ViewOf(device.resource)},
                    {"id", ViewOf(device.id)}});
  }
  json::array items;
  items.reserve(dump.items.size());
  for (json::value& item : dump.items) {
    items.push_back(std::move(item));
  }
  return json::object{{"apiVersion", ViewOf(kVersion)}, {"kind", ViewOf(kKind)},
                      {"pod", ViewOf(dump.pod)},        {"taken", ViewOf(dump.taken)},
                      {"listed", std::move(listed)},    {"unseen", std::move(unseen)},
                      {"held", std::move(held)},        {"items", std::move(items)}};
}

}  // namespace kgpu::explain
