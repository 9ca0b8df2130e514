#include "src/container/engine/engine.h"

#include <algorithm>
#include <array>

#include "src/platform/base/ascii.h"
#include "src/platform/base/strings.h"

namespace kgpu::engine {
namespace {

// Removes and returns the number at the start of `text`. Versions have no number of ten digits.
std::optional<unsigned> TakeNumber(std::string_view& text) {
  size_t length = 0;
  while (length < text.size() && IsDigit(text[length])) {
    ++length;
  }
  if (length == 0 || length > 9) {
    return std::nullopt;
  }
  const auto number = ParseUint(text.substr(0, length));
  text.remove_prefix(length);
  return number ? std::optional(static_cast<unsigned>(*number)) : std::nullopt;
}

std::optional<unsigned> TakeDotAndNumber(std::string_view& text) {
  if (text.size() < 2 || text[0] != '.' || !IsDigit(text[1])) {
    return std::nullopt;
  }
  text.remove_prefix(1);
  return TakeNumber(text);
}

}  // namespace

std::string_view ToString(Kind kind) {
  static constexpr std::array<std::string_view, 4> kWords = {"docker", "containerd", "crio",
                                                             "podman"};
  return kWords.at(static_cast<size_t>(kind));
}

StatusOr<Kind> ParseKind(std::string_view text) {
  for (const Kind kind : kAllKinds) {
    if (text == ToString(kind)) {
      return kind;
    }
  }
  if (text == "cri-o") {
    return Kind::kCrio;
  }
  if (!DistributionOf(text).empty()) {
    return Kind::kContainerd;
  }
  return InvalidArgument(
      "engine \"{}\": must be docker, containerd, crio, podman, k3s, rke2, k0s or microk8s",
      Printable(text, 40));
}

std::string_view DistributionOf(std::string_view text) {
  static constexpr std::array<std::string_view, 4> kDistributions = {"k3s", "rke2", "k0s",
                                                                     "microk8s"};
  const auto* const found = std::ranges::find(kDistributions, text);
  return found == kDistributions.end() ? "" : *found;
}

std::optional<Version> FindVersion(std::string_view text) {
  bool was_digit_or_dot = false;
  while (!text.empty()) {
    if (IsDigit(text.front()) && !was_digit_or_dot) {
      std::string_view rest = text;
      const auto major = TakeNumber(rest);
      const auto minor = TakeDotAndNumber(rest);
      if (major && minor) {
        return Version{*major, *minor, TakeDotAndNumber(rest).value_or(0)};
      }
    }
    was_digit_or_dot = IsDigit(text.front()) || text.front() == '.';
    text.remove_prefix(1);
  }
  return std::nullopt;
}

std::string ToString(const Version& version) {
  return fmt::format("{}.{}.{}", version.major, version.minor, version.patch);
}

bool IsForPods(Kind kind) {
  return kind == Kind::kContainerd || kind == Kind::kCrio;
}

CdiSupport CdiSupportOf(Kind kind, const std::optional<Version>& version) {
  if (!version) {
    return CdiSupport::kUnknown;
  }
  switch (kind) {
    case Kind::kDocker:
      return *version >= Version{28, 2}   ? CdiSupport::kDefault
             : *version >= Version{25, 0} ? CdiSupport::kOptIn
                                          : CdiSupport::kAbsent;
    case Kind::kContainerd:
      return *version >= Version{2, 0}   ? CdiSupport::kDefault
             : *version >= Version{1, 7} ? CdiSupport::kOptIn
                                         : CdiSupport::kAbsent;
    case Kind::kCrio:
      return *version >= Version{1, 23} ? CdiSupport::kAlways : CdiSupport::kAbsent;
    case Kind::kPodman:
      return *version >= Version{4, 1} ? CdiSupport::kAlways : CdiSupport::kAbsent;
  }
  return CdiSupport::kUnknown;
}

std::string_view ToString(CdiSupport support) {
  static constexpr std::array<std::string_view, 5> kWords = {"unknown", "no", "opt-in",
                                                             "by default", "yes"};
  return kWords.at(static_cast<size_t>(support));
}

std::string Engine::Name() const {
  return distribution.empty() ? std::string(ToString(kind))
                              : fmt::format("{} ({})", ToString(kind), distribution);
}

std::string Engine::Id() const {
  return distribution.empty() ? std::string(ToString(kind))
                              : fmt::format("{}-{}", ToString(kind), distribution);
}

}  // namespace kgpu::engine
