#include "src/cluster/chart/manifest.h"

#include <boost/json.hpp>

#include <algorithm>
#include <array>

#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/doc/doc.h"

namespace kgpu::chart {
namespace {

namespace json = boost::json;

// Objects of a kind need those before it.
constexpr std::array<std::string_view, 21> kOrder = {
    "Namespace",
    "PriorityClass",
    "CustomResourceDefinition",
    "SecurityContextConstraints",
    "ServiceAccount",
    "ClusterRole",
    "ClusterRoleBinding",
    "Role",
    "RoleBinding",
    "ValidatingAdmissionPolicy",
    "ValidatingAdmissionPolicyBinding",
    "NetworkPolicy",
    "ResourceQuota",
    "ConfigMap",
    "PersistentVolumeClaim",
    "PodDisruptionBudget",
    "Service",
    "DaemonSet",
    "Deployment",
    "PodMonitor",
    "PrometheusRule",
};

std::string_view TextField(const json::object& object, std::string_view key) {
  const json::value* value = object.if_contains(json::string_view(key.data(), key.size()));
  const json::string* text = value == nullptr ? nullptr : value->if_string();
  return text == nullptr ? std::string_view() : std::string_view(text->data(), text->size());
}

std::string_view MetadataText(const Manifest& manifest, std::string_view key) {
  const json::value* metadata = manifest.object.if_contains("metadata");
  return metadata != nullptr && metadata->is_object() ? TextField(metadata->get_object(), key)
                                                      : std::string_view();
}

bool HasContent(std::string_view text) {
  return std::ranges::any_of(Split(text, '\n'), [](std::string_view line) {
    const std::string_view content = Trim(line);
    return !content.empty() && !content.starts_with('#');
  });
}

StatusOr<Manifest> ReadManifest(std::string_view text, std::string_view source) {
  // Blank lines at the end come from conditions of the template.
  while (text.ends_with('\n')) {
    text.remove_suffix(1);
  }
  text.remove_prefix(std::min(text.find_first_not_of('\n'), text.size()));
  Manifest manifest{.text = std::string(text) + "\n", .object = {}, .source = std::string(source)};
  ASSIGN_OR_RETURN(json::value value, doc::Parse(manifest.text, doc::Format::kYaml, source));
  if (!value.is_object()) {
    return InvalidArgument("{}: must be an object of Kubernetes, a map", source);
  }
  manifest.object = std::move(value.get_object());
  if (KindOf(manifest).empty() || NameOf(manifest).empty()) {
    return InvalidArgument("{}: kind and metadata.name must be set", source);
  }
  return manifest;
}

}  // namespace

std::string_view KindOf(const Manifest& manifest) {
  return TextField(manifest.object, "kind");
}

std::string_view NameOf(const Manifest& manifest) {
  return MetadataText(manifest, "name");
}

std::string_view SpaceOf(const Manifest& manifest) {
  return MetadataText(manifest, "namespace");
}

std::string PrintYaml(const std::vector<Manifest>& manifests) {
  std::string out;
  for (const Manifest& manifest : manifests) {
    out += out.empty() ? "" : "---\n";
    out += manifest.text;
  }
  return out;
}

std::string PrintJson(const std::vector<Manifest>& manifests) {
  json::array items;
  for (const Manifest& manifest : manifests) {
    items.push_back(manifest.object);
  }
  return doc::Print(
      json::object{{"apiVersion", "v1"}, {"kind", "List"}, {"items", std::move(items)}},
      doc::Format::kJson);
}

StatusOr<std::vector<Manifest>> SplitManifests(std::string_view text, std::string_view source) {
  std::vector<Manifest> manifests;
  while (!text.empty()) {
    const size_t separator = text.starts_with("---\n") ? 0 : text.find("\n---\n");
    const size_t end = separator == 0 ? 0 : std::min(separator, text.size() - 1) + 1;
    const std::string_view document = text.substr(0, end);
    text.remove_prefix(separator == std::string_view::npos ? text.size() : end + 4);
    if (HasContent(document)) {
      ASSIGN_OR_RETURN(Manifest manifest, ReadManifest(document, source));
      manifests.push_back(std::move(manifest));
    }
  }
  return manifests;
}

void SortForApply(std::vector<Manifest>& manifests) {
  std::ranges::stable_sort(manifests, {}, [](const Manifest& manifest) {
    return std::ranges::find(kOrder, KindOf(manifest)) - kOrder.begin();
  });
}

}  // namespace kgpu::chart
