#include "src/cluster/controller/class_writer.h"

#include <fmt/format.h>

#include <boost/json.hpp>

#include <algorithm>
#include <chrono>
#include <utility>

#include "src/kube/api/json.h"
#include "src/kube/api/resource.h"
#include "src/kube/api/writes.h"
#include "src/node/config/node_config.h"
#include "src/node/dra/offer.h"
#include "src/platform/base/ascii.h"
#include "src/platform/base/log.h"
#include "src/platform/base/strings.h"

namespace kgpu::controller {
namespace {

namespace json = boost::json;
using std::chrono::seconds;

constexpr kube::Resource kSlices{"resource.k8s.io", "v1", "resourceslices"};
constexpr kube::Resource kClasses{"resource.k8s.io", "v1", "deviceclasses"};
// Nodes of a cluster start together.
constexpr seconds kCoalesceSlices{2};
constexpr seconds kAfterError{60};
// A name of a class is a DNS subdomain.
constexpr size_t kMaxName = 253;

constexpr std::string_view kAllMig = "mig.nvidia.com";
constexpr std::string_view kMig = "mig";

std::string_view TextOf(const json::value& device, std::string_view attribute) {
  return kube::TextField(device, {"attributes", attribute, "string"});
}

// Keeps the pools and types of a slice's devices, once each.
void TrimSlice(json::value& slice) {
  std::set<ClassDevice> found;
  const json::value* devices = kube::FindField(slice, {"spec", "devices"});
  if (devices != nullptr && devices->is_array()) {
    for (const json::value& device : devices->get_array()) {
      found.insert({.pool = std::string(TextOf(device, "kgpu.dev/pool")),
                    .type = std::string(TextOf(device, "type"))});
    }
  }
  json::array kept;
  for (const ClassDevice& device : found) {
    kept.push_back({{"pool", device.pool}, {"type", device.type}});
  }
  slice = {{"metadata", slice.at("metadata")}, {"devices", std::move(kept)}};
}

// A selector that reads an attribute which a device lacks is an error for all devices; those of
// NVIDIA's own driver have none of kgpu's.
std::string PoolSelector(std::string_view pool) {
  return fmt::format(R"(device.driver == "{}" && "pool" in device.attributes["kgpu.dev"] && )"
                     R"(device.attributes["kgpu.dev"].pool == "{}")",
                     dra::kDriverName, pool);
}

std::string TypeSelector(std::string_view type) {
  return fmt::format(R"(device.driver == "{0}" && device.attributes["{0}"].type == "{1}")",
                     dra::kDriverName, type);
}

json::object ClassOf(std::string_view name, std::string_view selector, std::string_view resource) {
  json::object spec = {{"selectors", json::array{{{"cel", {{"expression", selector}}}}}}};
  if (!resource.empty()) {
    spec["extendedResourceName"] = resource;
  }
  return {{"apiVersion", "resource.k8s.io/v1"},
          {"kind", "DeviceClass"},
          {"metadata",
           {{"name", name}, {"labels", {{"app.kubernetes.io/managed-by", "kgpu-controller"}}}}},
          {"spec", std::move(spec)}};
}

}  // namespace

std::string ClassNameOf(std::string_view pool) {
  const size_t slash = pool.find('/');
  std::string name =
      ToLower(slash == std::string_view::npos
                  ? pool
                  : fmt::format("{}.{}", pool.substr(slash + 1), pool.substr(0, slash)));
  std::ranges::replace_if(
      name, [](char c) { return !IsAlphanumeric(c) && c != '.' && c != '-'; }, '-');
  return name.substr(0, kMaxName);
}

std::map<std::string, json::object> ClassesOf(const std::set<ClassDevice>& devices) {
  std::map<std::string, json::object> classes;
  for (const ClassDevice& device : devices) {
    if (!device.pool.empty()) {
      const std::string name = ClassNameOf(device.pool);
      classes.try_emplace(name, ClassOf(name, PoolSelector(device.pool), device.pool));
    }
    // NVIDIA's name for all GPUs is that of the default pool: that one has them.
    if (device.type == kMig) {
      classes.try_emplace(std::string(kAllMig), ClassOf(kAllMig, TypeSelector(kMig), ""));
    } else {
      const std::string all = ClassNameOf(config::kDefaultResource);
      const bool has_default =
          std::ranges::find(devices, config::kDefaultResource, &ClassDevice::pool) != devices.end();
      if (!has_default) {
        classes.try_emplace(all, ClassOf(all, TypeSelector("gpu"), ""));
      }
    }
  }
  return classes;
}

ClassWriter::ClassWriter(EventLoop& loop, kube::Client& client, Random& random)
    : loop_(loop), client_(client) {
  kube::ReflectorOptions options{.trim = TrimSlice};
  options.selection = {.path = kSlices.Collection(),
                       .field_selector = fmt::format("spec.driver={}", dra::kDriverName)};
  slices_ = std::make_unique<kube::Reflector>(
      loop_, client_, random, std::move(options),
      // Clusters before 1.34 do not have the API: then there is nothing to make.
      kube::ReflectorHandlers{.on_changed = [this](const kube::ObjectPtr&) { WriteSoon(); },
                              .on_synced = [this] { WriteSoon(); }});
}

ClassWriter::~ClassWriter() = default;

void ClassWriter::WriteSoon() {
  if (!timer_.is_armed() && call_ == nullptr) {
    timer_.Arm(kCoalesceSlices, [this] { Write(); });
  }
}

void ClassWriter::Write() {
  std::set<ClassDevice> devices;
  for (const auto& [name, slice] : slices_->objects()) {
    for (const json::value& device : slice->at("devices").as_array()) {
      devices.insert({.pool = std::string(kube::TextField(device, {"pool"})),
                      .type = std::string(kube::TextField(device, {"type"}))});
    }
  }
  for (const auto& [name, object] : ClassesOf(devices)) {
    std::string text = json::serialize(object);
    if (applied_[name] == text) {
      continue;
    }
    StatusOr<kube::ApiRequest> request =
        kube::ApplyRequest(kClasses.Object("", name), object, false);
    if (!request.ok()) {
      OnWritten(name, request.status());
      continue;
    }
    call_ = client_.Send(*std::move(request),
                         [this, name, text = std::move(text)](const StatusOr<json::value>& answer) {
                           call_.reset();
                           if (answer.ok() || answer.status().code() == StatusCode::kAborted) {
                             applied_[name] = text;  // or somebody else's, which stays
                           }
                           OnWritten(name, answer.status());
                         });
    return;
  }
}

void ClassWriter::OnWritten(const std::string& name, const Status& status) {
  if (status.ok()) {
    ++written_;
    KGPU_LOG(kInfo, "device class written", {"class", name});
    return Write();
  }
  KGPU_LOG(kWarning, "device class not written", {"class", name}, {"reason", Message(status)});
  if (status.code() == StatusCode::kAborted) {
    return Write();
  }
  timer_.Arm(kAfterError, [this] { Write(); });
}

}  // namespace kgpu::controller
