#include "src/container/shim/request.h"

#include <algorithm>
#include <array>
#include <utility>

#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"

namespace kgpu::shim {
namespace {

constexpr std::string_view kMountFolder = "/var/run/nvidia-container-devices/";
constexpr std::string_view kAnnotationPrefix = "cdi.k8s.io/";
// The name that Docker looks for and writes into specs: getNVIDIADeviceDrivers in moby's daemon.
constexpr std::string_view kAskedHookName = "nvidia-container-runtime-hook";
constexpr std::string_view kVisibleDevices = "NVIDIA_VISIBLE_DEVICES";

struct ClassVariable {
  std::string_view variable;
  std::string_view device_class;
};
constexpr std::array<ClassVariable, 3> kClassVariables = {{
    {"NVIDIA_GDS", "gds"},
    {"NVIDIA_MOFED", "mofed"},
    {"NVIDIA_GDRCOPY", "gdrcopy"},
}};
constexpr std::string_view kImexChannels = "NVIDIA_IMEX_CHANNELS";

}  // namespace

std::string AskedBy(const Asks& asks, Source source) {
  switch (source) {
    case Source::kAnnotations:
      return fmt::format("{}", fmt::join(asks.annotations, ","));
    case Source::kMounts: {
      std::vector<std::string_view> names;
      for (const oci::MountView& mount : asks.mounts) {
        names.push_back(mount.destination.substr(kMountFolder.size()));
      }
      return fmt::format("{}", fmt::join(names, ","));
    }
    case Source::kDockerGpus:
    case Source::kEnvironment:
      return std::string(asks.environment.value_or(""));
  }
  return "";
}

namespace {

// Empty when the source's word is taken.
std::string WhyNot(Source source, const Config& config) {
  switch (source) {
    case Source::kAnnotations:
      return config.accept_annotations
                 ? ""
                 : fmt::format(
                       "annotations are not trusted, because some engines copy them from images: "
                       "set \"acceptAnnotations\": true in {}",
                       kConfigPath);
    case Source::kMounts:
      return config.accept_mounts
                 ? ""
                 : fmt::format("mounts are not trusted: set \"acceptMounts\": true in {}",
                               kConfigPath);
    case Source::kDockerGpus:
      return "";
    case Source::kEnvironment:
      return config.accept_env ? ""
                               : fmt::format(
                                     "environment variables are not trusted, because images can "
                                     "set them: request GPUs with docker run --gpus or CDI, or set "
                                     "\"acceptEnv\": true in {}",
                                     kConfigPath);
  }
  return "";
}

// "0", "cdi/<vendor>/<class>/<device>", "imex/<channel>" below the folder of requests.
Status ReadMount(const oci::MountView& mount, std::string& names, Request& request) {
  std::string_view name = mount.destination.substr(kMountFolder.size());
  while (name.ends_with('/')) {
    name.remove_suffix(1);
  }
  for (const std::string_view part : Split(name, '/')) {
    if (part.empty() || part == "." || part == "..") {
      return InvalidArgument("mounts[{}]: {} names no device: its path must be normalized",
                             mount.index, Printable(mount.destination, 120));
    }
  }
  if (mount.source != "/dev/null") {
    return InvalidArgument(
        "mounts[{}]: {}: a device is requested with a mount of /dev/null, not {}", mount.index,
        Printable(mount.destination, 120), Printable(mount.source, 120));
  }
  if (name.starts_with("imex/")) {
    ASSIGN_OR_RETURN(std::vector<std::string> channels, ParseImexChannels(name.substr(5)));
    std::ranges::move(channels, std::back_inserter(request.imex_channels));
    if (request.imex_channels.size() > kMostNames) {
      return InvalidArgument("more than {} IMEX channels requested", kMostNames);
    }
    return OkStatus();
  }
  std::string text(name);
  if (name.starts_with("cdi/")) {
    text.erase(0, 4);
    // <vendor>/<class>/<device> is <vendor>/<class>=<device>.
    const size_t slash = text.find('/', text.find('/') + 1);
    if (text.find('=') == std::string::npos && slash != std::string::npos) {
      text[slash] = '=';
    }
    RETURN_IF_ERROR(Annotate(ParseCdiName(text).status(), "mounts[{}]", mount.index));
  }
  if (text.find(',') != std::string::npos) {
    return InvalidArgument("mounts[{}]: {} must name one device", mount.index,
                           Printable(mount.destination, 120));
  }
  names += names.empty() ? "" : ",";
  names += text;
  return OkStatus();
}

StatusOr<Request> RequestOfMounts(const Asks& asks) {
  Request request;
  if (asks.mounts.size() > kMostNames) {
    return InvalidArgument("{} devices requested, limit {}", asks.mounts.size(), kMostNames);
  }
  std::string names;
  for (const oci::MountView& mount : asks.mounts) {
    RETURN_IF_ERROR(ReadMount(mount, names, request));
  }
  ASSIGN_OR_RETURN(request.devices, ParseVisibleDevices(names));
  return request;
}

StatusOr<Request> RequestOfAnnotations(const Asks& asks) {
  Request request;
  for (const std::string_view value : asks.annotations) {
    ASSIGN_OR_RETURN(std::vector<CdiName> names, ParseCdiNames(value));
    std::ranges::move(names, std::back_inserter(request.devices.cdi));
    if (request.devices.cdi.size() > kMostNames) {
      return InvalidArgument("more than {} devices requested", kMostNames);
    }
  }
  request.devices.kind =
      request.devices.cdi.empty() ? DeviceList::Kind::kNothing : DeviceList::Kind::kDevices;
  return request;
}

// Devices beside the GPUs: words that no flag of Docker's writes, so that they may be an image's.
Status ReadExtras(const std::vector<std::string_view>& env, Request& request) {
  StatusOr<std::vector<std::string>> channels =
      ParseImexChannels(oci::FindEnv(env, kImexChannels).value_or(""));
  if (!channels.ok()) {
    return Annotate(channels.status(), "{}", kImexChannels);
  }
  request.imex_channels = *std::move(channels);
  for (const auto& [variable, device_class] : kClassVariables) {
    if (oci::FindEnv(env, variable) == "enabled") {
      request.classes.emplace_back(device_class);
    }
  }
  return OkStatus();
}

// The names of such words that are there and ask for something.
std::vector<std::string_view> ExtrasIn(const std::vector<std::string_view>& env) {
  std::vector<std::string_view> names;
  if (!Trim(oci::FindEnv(env, kImexChannels).value_or("")).empty()) {
    names.push_back(kImexChannels);
  }
  for (const ClassVariable& one : kClassVariables) {
    if (oci::FindEnv(env, one.variable) == "enabled") {
      names.push_back(one.variable);
    }
  }
  return names;
}

StatusOr<Request> RequestOfEnvironment(const Asks& asks, const std::vector<std::string_view>& env,
                                       bool is_env_trusted) {
  Request request;
  StatusOr<DeviceList> devices = ParseVisibleDevices(asks.environment.value_or(""));
  if (!devices.ok()) {
    return Annotate(devices.status(), "{}", kVisibleDevices);
  }
  request.devices = *std::move(devices);
  if (is_env_trusted) {
    RETURN_IF_ERROR(ReadExtras(env, request));
  } else if (const std::vector<std::string_view> names = ExtrasIn(env); !names.empty()) {
    request.notes.push_back(
        fmt::format("{} ignored, because images can set such variables: use CDI names, e.g. docker "
                    "run --gpus '\"device=0,kgpu.dev/gds=all\"', or set \"acceptEnv\": true in {}",
                    fmt::join(names, ", "), kConfigPath));
  }
  return request;
}

// Whether the variable asks for anything. One that cannot be read does: somebody must know.
bool AsksForSomething(std::string_view value) {
  const StatusOr<DeviceList> list = ParseVisibleDevices(value);
  return !list.ok() || list->kind != DeviceList::Kind::kNothing;
}

}  // namespace

std::string_view NameOf(Source source) {
  constexpr std::array<std::string_view, 4> kNames = {"annotations", "mounts", "docker-gpus",
                                                      "environment"};
  return kNames.at(static_cast<size_t>(source));
}

bool MayAsk(std::string_view spec_text) {
  return spec_text.find(kVisibleDevices) != std::string_view::npos ||
         spec_text.find("nvidia-container-") != std::string_view::npos ||
         spec_text.find("cdi.k8s.io") != std::string_view::npos;
}

StatusOr<Asks> FindAsks(const oci::Spec& spec) {
  Asks asks;
  ASSIGN_OR_RETURN(const std::vector<oci::AnnotationView> annotations, spec.Annotations());
  for (const oci::AnnotationView& annotation : annotations) {
    if (annotation.key.starts_with(kAnnotationPrefix) && !Trim(annotation.value).empty()) {
      asks.annotations.push_back(annotation.value);
    }
  }
  ASSIGN_OR_RETURN(const std::vector<oci::MountView> mounts, spec.Mounts());
  std::ranges::copy_if(mounts, std::back_inserter(asks.mounts), IsRequestMount);
  ASSIGN_OR_RETURN(const std::vector<std::string_view> env, spec.Env());
  if (const auto value = oci::FindEnv(env, kVisibleDevices); value && AsksForSomething(*value)) {
    asks.environment = value;
  }
  ASSIGN_OR_RETURN(const std::vector<std::string_view> hooks, spec.HookPaths());
  asks.has_hook = std::ranges::any_of(hooks, IsGpuHook);
  return asks;
}

Decision Decide(const Asks& asks, const Config& config) {
  std::vector<Source> sources;
  if (!asks.annotations.empty()) {
    sources.push_back(Source::kAnnotations);
  }
  if (!asks.mounts.empty()) {
    sources.push_back(Source::kMounts);
  }
  if (asks.environment) {
    sources.push_back(asks.has_hook ? Source::kDockerGpus : Source::kEnvironment);
  }
  Decision decision;
  for (const Source source : sources) {
    std::string reason = WhyNot(source, config);
    if (reason.empty()) {
      decision.granted = source;
      break;
    }
    decision.refusals.push_back({source, AskedBy(asks, source), std::move(reason)});
  }
  return decision;
}

StatusOr<Request> ReadRequest(const Asks& asks, Source source,
                              const std::vector<std::string_view>& env, const Config& config) {
  switch (source) {
    case Source::kAnnotations:
      return RequestOfAnnotations(asks);
    case Source::kMounts:
      return RequestOfMounts(asks);
    case Source::kDockerGpus:
    case Source::kEnvironment:
      return RequestOfEnvironment(asks, env, config.accept_env);
  }
  return Internal("a source without a reader");
}

StatusOr<inject::CapabilitySet> WantedCapabilities(const std::vector<std::string_view>& env,
                                                   inject::CapabilitySet fallback) {
  const std::string_view text = Trim(oci::FindEnv(env, "NVIDIA_DRIVER_CAPABILITIES").value_or(""));
  if (text.empty()) {
    return fallback;
  }
  StatusOr<inject::CapabilitySet> set = inject::ParseCapabilities(text);
  return set.ok() ? set : Annotate(set.status(), "NVIDIA_DRIVER_CAPABILITIES");
}

bool IsRequestMount(const oci::MountView& mount) {
  return mount.destination.size() > kMountFolder.size() &&
         mount.destination.starts_with(kMountFolder);
}

bool IsGpuHook(std::string_view path) {
  return path.substr(path.rfind('/') + 1) == kAskedHookName;
}

}  // namespace kgpu::shim
