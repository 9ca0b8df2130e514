// DevicesJson of devices_view.h.
#include <boost/json.hpp>

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/node/report/devices_view.h"
#include "src/platform/doc/json_texts.h"

namespace kgpu::report {
namespace {

namespace json = boost::json;

json::value OrNull(const std::optional<unsigned>& number) {
  return number ? json::value(*number) : json::value(nullptr);
}

json::value OrNull(const std::optional<Bytes>& bytes) {
  return bytes ? json::value(bytes->count) : json::value(nullptr);
}

json::value OrNull(const std::optional<bool>& flag) {
  return flag ? json::value(*flag) : json::value(nullptr);
}

std::string_view NameOf(device::NvLinkPeer peer) {
  static constexpr std::array<std::string_view, 4> kNames = {"gpu", "switch", "other", "unknown"};
  return kNames.at(static_cast<size_t>(peer));
}

std::string_view NameOf(device::PciePath path) {
  static constexpr std::array<std::string_view, 7> kNames = {
      "same-board", "single-switch", "multiple-switches", "host-bridge", "same-numa",
      "cross-numa", "unknown"};
  return kNames.at(static_cast<size_t>(path));
}

json::object Json(const device::Health& health) {
  return {{"healthy", health.is_healthy}, {"reason", health.reason}, {"message", health.message}};
}

json::object Json(const device::MigDevice& mig) {
  return {{"uuid", mig.uuid.str()},
          {"index", mig.index},
          {"profile", mig.profile},
          {"gpuInstance", mig.gpu_instance},
          {"computeInstance", mig.compute_instance},
          {"gpuInstanceSlices", mig.gpu_instance_slices},
          {"computeInstanceSlices", mig.compute_instance_slices},
          {"multiprocessors", mig.multiprocessors},
          {"engines",
           {{"copy", mig.engines.copy},
            {"decoder", mig.engines.decoder},
            {"encoder", mig.engines.encoder},
            {"jpeg", mig.engines.jpeg},
            {"ofa", mig.engines.ofa}}},
          {"memoryBytes", OrNull(mig.memory)},
          {"health", Json(mig.health)}};
}

json::object Json(const device::NvLink& link) {
  return {{"link", link.link},
          {"active", link.is_active},
          {"version", link.version},
          {"peer", doc::View(NameOf(link.peer))},
          {"remote", link.remote ? json::value(link.remote->str()) : json::value(nullptr)}};
}

json::object Json(const device::PeerPath& peer) {
  return {{"index", peer.peer_index},
          {"path", doc::View(NameOf(peer.path))},
          {"nvlinks", peer.nvlinks}};
}

// `json_of` is the item's own conversion.
template <typename Item>
json::array List(const std::vector<Item>& items, json::object (*json_of)(const Item&)) {
  json::array list;
  for (const Item& item : items) {
    list.push_back(json_of(item));
  }
  return list;
}

json::value MigModeOf(const device::Gpu& gpu) {
  if (!gpu.mig_mode) {
    return nullptr;
  }
  return {{"enabled", gpu.mig_mode->is_enabled},
          {"pendingEnabled", gpu.mig_mode->is_pending_enabled}};
}

json::value FabricOf(const device::Gpu& gpu) {
  if (!gpu.fabric) {
    return nullptr;
  }
  return {{"clusterUuid", gpu.fabric->cluster_uuid}, {"cliqueId", gpu.fabric->clique_id}};
}

json::value ComputeOf(const device::Gpu& gpu) {
  if (!gpu.compute) {
    return nullptr;
  }
  return json::value(fmt::format("{}.{}", gpu.compute->major, gpu.compute->minor));
}

json::object Json(const device::Gpu& gpu) {
  return {{"index", gpu.index},
          {"uuid", gpu.uuid.str()},
          {"model", gpu.model},
          {"name", gpu.name},
          {"minor", gpu.minor},
          {"pci", gpu.pci.str()},
          {"pciDeviceId", fmt::format("0x{:04x}", gpu.pci_device_id)},
          {"architecture", gpu.architecture},
          {"brand", gpu.brand},
          {"serial", gpu.serial},
          {"vbios", gpu.vbios},
          {"memoryBytes", OrNull(gpu.memory)},
          {"computeCapability", ComputeOf(gpu)},
          {"eccEnabled", OrNull(gpu.is_ecc_enabled)},
          {"numaNode", OrNull(gpu.numa_node)},
          {"mig", MigModeOf(gpu)},
          {"migDevices", List(gpu.mig_devices, &Json)},
          {"fabric", FabricOf(gpu)},
          {"nvlinks", List(gpu.nvlinks, &Json)},
          {"peers", List(gpu.peers, &Json)},
          {"health", Json(gpu.health)}};
}

json::object Json(const device::UnmanagedGpu& gpu) {
  return {{"pci", gpu.pci.str()},
          {"pciDeviceId", fmt::format("0x{:04x}", gpu.pci_device_id)},
          {"class", gpu.pci_class},
          {"kernelDriver", gpu.kernel_driver},
          {"reason", gpu.reason}};
}

json::object Json(const device::Driver& driver) {
  const bool knows_cuda = driver.cuda_major && driver.cuda_minor;
  return {{"state", doc::View(device::ToString(driver.state))},
          {"reason", driver.reason},
          {"version", driver.version},
          {"moduleVersion", driver.module_version},
          {"nvmlVersion", driver.nvml_version},
          {"cudaVersion",
           knows_cuda ? json::value(fmt::format("{}.{}", *driver.cuda_major, *driver.cuda_minor))
                      : json::value(nullptr)},
          {"library", driver.library_path}};
}

}  // namespace

json::value DevicesJson(const device::Snapshot& snapshot, const Holders& holders) {
  json::array gpus;
  for (const device::Gpu& gpu : snapshot.gpus) {
    json::object object = Json(gpu);
    if (const auto holder = holders.find(gpu.uuid.str()); holder != holders.end()) {
      object["lentTo"] = holder->second;
    }
    gpus.push_back(std::move(object));
  }
  return {{"version", snapshot.version},
          {"driver", Json(snapshot.driver)},
          {"gpus", std::move(gpus)},
          {"unmanaged", List(snapshot.unmanaged, &Json)}};
}

}  // namespace kgpu::report
