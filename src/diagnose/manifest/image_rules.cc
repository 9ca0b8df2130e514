// Images that were removed from registries, that are no longer updated, or that install a driver.
#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>

#include "src/diagnose/manifest/containers.h"
#include "src/diagnose/manifest/rules.h"
#include "src/platform/base/strings.h"

namespace kgpu::manifest {
namespace {

constexpr std::string_view kCuda = "nvidia/cuda";
constexpr std::string_view kVectorAdd = "cuda-vector-add";
constexpr std::string_view kFrozen = "k8s.gcr.io";
constexpr std::string_view kItsSuccessor = "registry.k8s.io";
constexpr std::string_view kPlugin = "nvidia/k8s-device-plugin";

struct ImageName {
  std::string_view registry;    // empty: Docker Hub
  std::string_view repository;  // "nvidia/cuda"
  std::string_view tag;         // empty: not given
  bool has_digest = false;
};

// Source: the reference format of docker.io/distribution: a first part with a dot, a colon or
// "localhost" is a registry.
ImageName ParseImageName(std::string_view text) {
  ImageName name;
  if (const size_t at = text.find('@'); at != std::string_view::npos) {
    name.has_digest = true;
    text = text.substr(0, at);
  }
  const size_t slash = text.find('/');
  const std::string_view first = text.substr(0, slash);
  if (slash != std::string_view::npos &&
      (first.find_first_of(".:") != std::string_view::npos || first == "localhost")) {
    name.registry = first;
    text = text.substr(slash + 1);
  }
  const size_t colon = text.find(':');
  name.repository = text.substr(0, colon);
  name.tag = colon == std::string_view::npos ? "" : text.substr(colon + 1);
  const bool is_hub = name.registry == "docker.io" || name.registry == "index.docker.io" ||
                      name.registry == "registry-1.docker.io";
  name.registry = is_hub ? std::string_view() : name.registry;
  return name;
}

// NVIDIA took the images of CUDA 10 and older from Docker Hub, and all whose tag does not name a
// distribution, "latest" first. Source: the support policy of NVIDIA's CUDA images.
std::optional<std::string> WhyCudaIsGone(const ImageName& name) {
  constexpr unsigned kOldestMajor = 11;
  constexpr std::array<std::string_view, 9> kDistributions = {
      "ubuntu", "ubi", "rockylinux", "centos", "opensuse", "oraclelinux", "amzn", "cm", "azl"};
  if (name.tag.empty() || name.tag == "latest") {
    return "there is no tag latest";
  }
  const auto major = ParseUint(name.tag.substr(0, name.tag.find_first_not_of("0123456789")));
  if (!major) {
    return std::nullopt;
  }
  if (*major < kOldestMajor) {
    return "images of CUDA 10 and older were removed";
  }
  const bool has_distribution =
      std::ranges::any_of(Split(name.tag, '-'), [&kDistributions](std::string_view part) {
        return std::ranges::any_of(
            kDistributions, [part](std::string_view word) { return part.starts_with(word); });
      });
  return has_distribution ? std::nullopt
                          : std::optional<std::string>("tags without a distribution were removed");
}

// "1.0.0-beta4" and "1.11" are older than "v0.6.0": NVIDIA began to count again.
bool IsOldPlugin(std::string_view tag) {
  tag.remove_prefix(tag.starts_with('v') ? 1 : 0);
  constexpr std::array<std::string_view, 5> kOfKubernetes = {"1.8", "1.9", "1.10", "1.11", "1.12"};
  return tag.starts_with("1.0.0-beta") ||
         std::ranges::find(kOfKubernetes, tag) != kOfKubernetes.end();
}

struct DriverImage {
  std::string_view repository;  // the end of it
  std::string_view whose;
  std::string_view folder;  // where it puts the driver's files on the node
};

// Source: the manifests nvidia-driver-installer of
// GoogleCloudPlatform/container-engine-accelerators, and NVIDIA's driver container.
constexpr std::array<DriverImage, 5> kDriverImages = {{
    {"/cos-nvidia-installer", "GKE's", "/home/kubernetes/bin/nvidia"},
    {"/gke-nvidia-installer", "GKE's", "/home/kubernetes/bin/nvidia"},
    {"/ubuntu-nvidia-driver-installer", "GKE's", "/home/kubernetes/bin/nvidia"},
    {"/cos-gpu-installer", "GKE's", "/home/kubernetes/bin/nvidia"},
    {"/nvidia/driver", "NVIDIA's", "/run/nvidia/driver"},
}};

// Whatever its tag or digest: the question is who installs the driver, not which one.
bool NoteDriverImage(const ImageName& name, Match& match) {
  const std::string repository = fmt::format("/{}", name.repository);
  const auto* const image = std::ranges::find_if(kDriverImages, [&](const DriverImage& known) {
    return repository.ends_with(known.repository);
  });
  if (image == kDriverImages.end()) {
    return false;
  }
  match.finding.id = "driver-installer";
  match.finding.severity = Severity::kInfo;
  match.finding.message = fmt::format(
      "{} installer puts NVIDIA's driver into {} of each node; a node needs one installer",
      image->whose, image->folder);
  match.advice = fmt::format(
      "keep it and set agent.driverRoot={} for kgpu, or replace it by "
      "deploy/driver/kgpu-driver.yaml (docs/reference/driver.md)",
      image->folder);
  return true;
}

void CheckImage(const Container& container, Matches& matches) {
  const std::string_view text = TextOf(container.value, "image");
  const ImageName name = ParseImageName(text);
  Match match;
  match.path = container.path.Key("image");
  match.value = Printable(text, 200);
  if (NoteDriverImage(name, match)) {
    matches.push_back(std::move(match));
    return;
  }
  if (name.has_digest) {
    return;
  }
  if (name.registry.empty() && name.repository == kCuda) {
    const std::optional<std::string> why = WhyCudaIsGone(name);
    if (!why) {
      return;
    }
    match.finding.id = "image-gone";
    match.finding.message = fmt::format("Docker Hub does not have this image: {}", *why);
    match.advice = "name a full tag that is still published: nvidia/cuda:12.4.1-base-ubuntu22.04";
  } else if (name.repository.ends_with(kPlugin) && IsOldPlugin(name.tag)) {
    match.finding.id = "image-outdated";
    match.finding.severity = Severity::kWarning;
    match.finding.message =
        "this device plugin is from 2020 or earlier: newer releases are numbered from v0.6.0";
    match.advice =
        "apply deploy/manifests/kgpu.yaml instead, or use a current "
        "nvcr.io/nvidia/k8s-device-plugin:v0.17.1";
  } else if (name.registry == kFrozen) {
    match.finding.id = "image-outdated";
    match.finding.severity = Severity::kWarning;
    match.finding.message =
        "the registry k8s.gcr.io is frozen since April 2023: it gets no new images, and may be "
        "turned off";
    match.advice = fmt::format("name the image in {}: {}/{}{}{}", kItsSuccessor, kItsSuccessor,
                               name.repository, name.tag.empty() ? "" : ":", name.tag);
    if (name.repository == kVectorAdd) {
      match.finding.message +=
          "; this image was built with CUDA 8, which knows no GPU from Volta on";
      match.advice = "use nvcr.io/nvidia/k8s/cuda-sample:vectoradd-cuda12.5.0, or kgpu validate";
    }
  } else {
    return;
  }
  matches.push_back(std::move(match));
}

}  // namespace

void CheckImages(const PodSpec& pod, Matches& matches) {
  for (const Container& container : ContainersOf(pod)) {
    CheckImage(container, matches);
  }
}

}  // namespace kgpu::manifest
