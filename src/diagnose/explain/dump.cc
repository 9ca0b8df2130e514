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
#include "src/platform/doc/json_texts.h"

namespace kgpu::explain {
namespace {

namespace json = boost::json;

constexpr std::string_view kKind = "ExplainDump";
constexpr std::string_view kVersion = "kgpu.dev/v1";
constexpr size_t kDepth = 64;

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
  dump.claim = Text(root, {"claim"});
  dump.taken = Text(root, {"taken"});
  for (std::string& kind : TextList(root, {"listed"})) {
    dump.listed.insert(std::move(kind));
  }
  dump.unreadable = TextList(root, {"unreadable"});
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
    dump.unreadable.push_back(fmt::format(
        "pods in namespaces other than {}: they may use GPUs (kubectl get pods,nodes,events -A)",
        spaces.begin()->empty() ? "default" : *spaces.begin()));
  }
}

}  // namespace

StatusOr<Dump> ReadDump(std::string_view text, std::string_view file) {
  ASSIGN_OR_RETURN(json::value root, ParseTree(text, file));
  if (!root.is_object()) {
    return InvalidArgument("{}: must be an object: the output of `kgpu explain dump`, or a list",
                           file);
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
        "{}: contains no relevant object: create it with `kgpu explain dump` or `kubectl get "
        "pods,nodes,events -A -o json`",
        file);
  }
  return dump;
}

json::value DumpJson(Dump dump) {
  json::array held;
  for (const HeldDevice& device : dump.held) {
    held.push_back({{"container", doc::View(device.container)},
                    {"resource", doc::View(device.resource)},
                    {"id", doc::View(device.id)}});
  }
  json::array items(std::make_move_iterator(dump.items.begin()),
                    std::make_move_iterator(dump.items.end()));
  return json::object{{"apiVersion", doc::View(kVersion)},
                      {"kind", doc::View(kKind)},
                      {"pod", doc::View(dump.pod)},
                      {"claim", doc::View(dump.claim)},
                      {"taken", doc::View(dump.taken)},
                      {"listed", doc::Texts(dump.listed)},
                      {"unreadable", doc::Texts(dump.unreadable)},
                      {"held", std::move(held)},
                      {"items", std::move(items)}};
}

}  // namespace kgpu::explain
