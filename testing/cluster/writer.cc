#include "testing/cluster/writer.h"

#include <boost/json.hpp>

#include "src/platform/doc/json_texts.h"
#include "testing/apiserver/failure.h"
#include "testing/apiserver/json_fields.h"

namespace kgpu::simcluster {
namespace {

namespace json = boost::json;
using apiserver::FieldAt;
using apiserver::MakeObject;
using apiserver::ObjectAt;
using apiserver::TextAt;

constexpr size_t kMostProblems = 100;

// Whether `status` has everything that `patch` sets.
bool Covers(const json::object& status, const json::object& patch) {
  for (const auto& [key, wanted] : patch) {
    const json::value* has = status.if_contains(key);
    const bool is_same =
        wanted.is_null() ? has == nullptr
                         : has != nullptr && (has->is_object() && wanted.is_object()
                                                  ? Covers(has->get_object(), wanted.get_object())
                                                  : *has == wanted);
    if (!is_same) {
      return false;
    }
  }
  return true;
}

}  // namespace

std::string PathOf(std::string_view group_version, std::string_view plural,
                   const apiserver::ObjectKey& key) {
  return fmt::format("/{}/{}{}/{}/{}", group_version == "v1" ? "api" : "apis", group_version,
                     key.name_space.empty() ? "" : fmt::format("/namespaces/{}", key.name_space),
                     plural, key.name);
}

bool Writer::Do(std::string_view method, std::string_view target, const json::value& body) {
  const std::string full = fmt::format("{}?fieldManager={}", target, manager_);
  const auto answer = api_.Do(method, full, body);
  if (answer.ok()) {
    return true;
  }
  const int code = apiserver::HttpCodeOf(answer.status());
  if (code != 404 && code != 409 && problems_.size() < kMostProblems) {
    problems_.push_back(fmt::format("{} {}: {}", method, target, Message(answer.status())));
  }
  return false;
}

bool Writer::Create(std::string_view collection, const json::object& object) {
  return Do("POST", collection, object);
}

bool Writer::Patch(std::string_view path, const json::object& merge_patch) {
  return Do("PATCH", path, merge_patch);
}

void Writer::PatchStatus(const std::string& path, const json::object& now,
                         const json::object& status) {
  const json::object* current = ObjectAt(now, {"status"});
  if (current == nullptr || !Covers(*current, status)) {
    Patch(fmt::format("{}/status", path), {{"status", status}});
  }
}

void Writer::Delete(std::string_view path, std::string_view uid, bool now) {
  json::object options = {{"apiVersion", "v1"},
                          {"kind", "DeleteOptions"},
                          {"preconditions", {{"uid", doc::View(uid)}}}};
  if (now) {
    options["gracePeriodSeconds"] = 0;
  }
  Do("DELETE", path, options);
}

void Writer::DeletePod(const json::object& pod, bool now) {
  Delete(PathOf("v1", "pods",
                {std::string(TextAt(pod, {"metadata", "namespace"})),
                 std::string(TextAt(pod, {"metadata", "name"}))}),
         TextAt(pod, {"metadata", "uid"}), now);
}

json::array WithCondition(const json::array& conditions, json::object condition,
                          const std::string& now) {
  json::array all;
  bool is_new = true;
  condition["lastTransitionTime"] = now;
  for (const json::value& item : conditions) {
    const json::object* old = item.if_object();
    if (old == nullptr || TextAt(*old, {"type"}) != TextAt(condition, {"type"})) {
      all.push_back(item);
      continue;
    }
    if (TextAt(*old, {"status"}) == TextAt(condition, {"status"})) {
      condition["lastTransitionTime"] = doc::View(TextAt(*old, {"lastTransitionTime"}));
    }
    all.push_back(condition);
    is_new = false;
  }
  if (is_new) {
    all.push_back(std::move(condition));
  }
  return all;
}

json::object PodFromTemplate(const json::object& owner, std::string_view api_version,
                             std::string_view kind) {
  json::object pod;
  if (const json::object* form = ObjectAt(owner, {"spec", "template"}); form != nullptr) {
    pod = *form;
  }
  pod["apiVersion"] = "v1";
  pod["kind"] = "Pod";
  json::object& metadata = MakeObject(pod, "metadata");
  metadata.erase("creationTimestamp");
  metadata["generateName"] = fmt::format("{}-", TextAt(owner, {"metadata", "name"}));
  metadata["ownerReferences"] =
      json::array{{{"apiVersion", doc::View(api_version)},
                   {"kind", doc::View(kind)},
                   {"name", doc::View(TextAt(owner, {"metadata", "name"}))},
                   {"uid", doc::View(TextAt(owner, {"metadata", "uid"}))},
                   {"controller", true},
                   {"blockOwnerDeletion", true}}};
  MakeObject(pod, "spec");
  return pod;
}

// FNV-1a.
std::string HashOf(const json::value& template_spec) {
  uint32_t hash = 2'166'136'261U;
  for (const char c : json::serialize(template_spec)) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 16'777'619U;
  }
  return fmt::format("{:08x}", hash);
}

}  // namespace kgpu::simcluster
