#include "src/node/labels/filters.h"

#include <algorithm>

#include "src/node/labels/names.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"

namespace kgpu::labels {
namespace {

bool IsDenied(const Filters& filters, std::string_view name_space) {
  return std::ranges::any_of(filters.denied_namespaces, [&](std::string_view denied) {
    if (!denied.starts_with('*')) {
      return name_space == denied;
    }
    const size_t begin = std::min(denied.find_first_not_of('*'), denied.size());
    return name_space.ends_with(denied.substr(begin));
  });
}

// `what` is the plural of what the key is of.
Status CheckNamespace(std::string_view key, std::string_view what) {
  const std::string_view name_space = NamespaceOf(key);
  if (name_space.empty()) {
    return InvalidArgument("\"{}\": {} need a namespace: vendor.io/{}", Printable(key, 80), what,
                           Printable(key, 63));
  }
  if (IsReserved(name_space, NamespaceUse::kOther)) {
    return InvalidArgument(
        "\"{}\": {} below kubernetes.io belong to Kubernetes: use {} or your own namespace",
        Printable(key, 80), what, kFeatureNamespace);
  }
  return OkStatus();
}

}  // namespace

Status CheckLabel(const Filters& filters, std::string_view key, std::string_view value) {
  RETURN_IF_ERROR(CheckKey(key));
  const std::string_view name_space = NamespaceOf(key);
  const bool is_extra =
      std::ranges::find(filters.extra_namespaces, name_space) != filters.extra_namespaces.end();
  if (!is_extra && IsReserved(name_space, NamespaceUse::kLabel)) {
    return InvalidArgument(
        "\"{}\": labels of {} belong to Kubernetes: use {} or your own namespace, or allow it as "
        "an extra namespace",
        Printable(key, 80), Printable(name_space, 80), kFeatureNamespace);
  }
  if (!is_extra && IsDenied(filters, name_space)) {
    return PermissionDenied("\"{}\": labels of {} are denied by the configuration",
                            Printable(key, 80), Printable(name_space, 80));
  }
  if (const Status status = CheckLabelValue(value); !status.ok()) {
    return Annotate(status, "\"{}\"", Printable(key, 80));
  }
  for (const Pattern& pattern : filters.label_allow) {
    if (!pattern.Matches(BaseOf(key))) {
      return PermissionDenied("\"{}\": does not match the configured allow list \"{}\"",
                              Printable(key, 80), Printable(pattern.text(), 60));
    }
  }
  return OkStatus();
}

Status CheckAnnotation(std::string_view key, std::string_view value) {
  RETURN_IF_ERROR(CheckKey(key));
  RETURN_IF_ERROR(CheckNamespace(key, "annotations"));
  if (value.size() > kMaxAnnotationBytes) {
    return InvalidArgument("\"{}\": the annotation's value has {} bytes, limit {}",
                           Printable(key, 80), value.size(), kMaxAnnotationBytes);
  }
  return OkStatus();
}

Status CheckExtendedResource(std::string_view name, std::string_view quantity) {
  RETURN_IF_ERROR(CheckKey(name));
  RETURN_IF_ERROR(CheckNamespace(name, "extended resources"));
  return Annotate(CheckWholeQuantity(quantity), "\"{}\"", Printable(name, 80));
}

Status CheckTaint(const Taint& taint) {
  RETURN_IF_ERROR(CheckKey(taint.key));
  RETURN_IF_ERROR(CheckNamespace(taint.key, "taints"));
  RETURN_IF_ERROR(Annotate(CheckLabelValue(taint.value), "\"{}\"", Printable(taint.key, 80)));
  return Annotate(CheckTaintEffect(taint.effect), "\"{}\"", Printable(taint.key, 80));
}

}  // namespace kgpu::labels
