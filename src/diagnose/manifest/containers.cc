#include "src/diagnose/manifest/containers.h"

#include <boost/json.hpp>

#include <algorithm>
#include <iterator>

#include "src/platform/base/strings.h"
#include "src/platform/doc/doc.h"

namespace kgpu::manifest {

namespace json = boost::json;

std::vector<Container> ItemsOf(const json::value* map, const Path& at, std::string_view key) {
  std::vector<Container> items;
  const json::value* field = FieldOf(map, key);
  const json::array* list = field == nullptr ? nullptr : field->if_array();
  for (size_t i = 0; list != nullptr && i < list->size(); ++i) {
    items.push_back({&(*list)[i], at.Key(key).Index(i)});
  }
  return items;
}

std::vector<Container> ContainersOf(const PodSpec& pod) {
  std::vector<Container> containers;
  for (const std::string_view key : {"initContainers", "containers", "ephemeralContainers"}) {
    std::ranges::move(ItemsOf(pod.spec, pod.path, key), std::back_inserter(containers));
  }
  if (const json::value* alone = FieldOf(pod.spec, "container");
      alone != nullptr && alone->is_object()) {
    containers.push_back({alone, pod.path.Key("container")});
  }
  return containers;
}

std::string_view GpuKeyOf(const json::value& container) {
  for (const std::string_view list : {"limits", "requests"}) {
    const json::value* map = FieldOf(FieldOf(&container, "resources"), list);
    const json::object* fields = map == nullptr ? nullptr : map->if_object();
    for (size_t i = 0; fields != nullptr && i < fields->size(); ++i) {
      const auto& field = *(fields->begin() + i);
      const std::string_view key(field.key().data(), field.key().size());
      if (IsGpuKey(key)) {
        return key;
      }
    }
  }
  return "";
}

bool AsksForGpus(const json::value& container) {
  const json::value* claims = FieldOf(FieldOf(&container, "resources"), "claims");
  const bool has_claim = claims != nullptr && claims->is_array() && !claims->get_array().empty();
  return has_claim || !GpuKeyOf(container).empty();
}

bool AsksForGpus(const PodSpec& pod) {
  return std::ranges::any_of(
      ContainersOf(pod), [](const Container& container) { return AsksForGpus(*container.value); });
}

bool AsksByOldKey(const PodSpec& pod) {
  return std::ranges::any_of(ContainersOf(pod), [](const Container& container) {
    const json::value* resources = FieldOf(container.value, "resources");
    return FieldOf(FieldOf(resources, "limits"), kOldGpuKey) != nullptr ||
           FieldOf(FieldOf(resources, "requests"), kOldGpuKey) != nullptr;
  });
}

std::string Shown(const json::value& value) {
  if (const json::string* text = value.if_string()) {
    return fmt::format("\"{}\"", Printable(View(*text), 120));
  }
  if (value.is_structured()) {
    return value.is_array() ? "a list" : "a map";
  }
  return Printable(doc::PrintLine(value), 120);
}

}  // namespace kgpu::manifest
