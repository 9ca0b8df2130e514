#include "testing/kubelet/dra_state.h"

#include <boost/json.hpp>

#include <cstdint>
#include <utility>

#include "src/platform/base/status_macros.h"
#include "src/platform/doc/doc.h"
#include "testing/kubelet/json_fields.h"

namespace kgpu::kubelet {
namespace {

namespace json = boost::json;

constexpr const char* kStateVersion = "checkpoint.dra.kubelet.k8s.io/v1";

// CRC-32 as in IEEE 802.3.
uint32_t Crc32(std::string_view text) {
  uint32_t sum = ~uint32_t{0};
  for (const char c : text) {
    sum ^= static_cast<uint8_t>(c);
    for (int bit = 0; bit < 8; ++bit) {
      sum = (sum >> 1) ^ ((sum & 1) != 0 ? 0xEDB88320U : 0U);
    }
  }
  return ~sum;
}

json::value DeviceJson(const PreparedDevice& device) {
  json::object object{{"PoolName", device.pool},
                      {"DeviceName", device.device},
                      {"RequestNames", json::value_from(device.requests)},
                      {"CDIDeviceIDs", json::value_from(device.cdi_ids)}};
  if (device.share_id) {
    object.emplace("ShareID", *device.share_id);
  }
  return object;
}

json::value ClaimJson(const ClaimState& claim) {
  json::object pods;
  for (const std::string& uid : claim.pods) {
    pods.emplace(uid, json::object());
  }
  json::object drivers;
  for (const auto& [driver, devices] : claim.drivers) {
    json::array list;
    for (const PreparedDevice& device : devices) {
      list.push_back(DeviceJson(device));
    }
    drivers.emplace(driver, json::object{{"Devices", std::move(list)}});
  }
  return json::object{{"ClaimUID", claim.key.uid},
                      {"ClaimName", claim.key.name},
                      {"Namespace", claim.key.name_space},
                      {"PodUIDs", std::move(pods)},
                      {"DriverState", std::move(drivers)}};
}

Status ReadPrepared(const JsonFields& fields, PreparedDevice& device) {
  RETURN_IF_ERROR(fields.Require("PoolName", device.pool));
  RETURN_IF_ERROR(fields.Require("DeviceName", device.device));
  RETURN_IF_ERROR(fields.Read("RequestNames", device.requests));
  RETURN_IF_ERROR(fields.Read("CDIDeviceIDs", device.cdi_ids));
  return fields.Read("ShareID", device.share_id);
}

Status ReadClaim(const JsonFields& fields, ClaimState& claim) {
  RETURN_IF_ERROR(fields.Require("ClaimUID", claim.key.uid));
  RETURN_IF_ERROR(fields.Require("ClaimName", claim.key.name));
  RETURN_IF_ERROR(fields.Require("Namespace", claim.key.name_space));
  ASSIGN_OR_RETURN(const JsonFields pods, fields.Field("PodUIDs"));
  RETURN_IF_ERROR(pods.ForEachField([&claim](const std::string& uid, const JsonFields&) {
    claim.pods.insert(uid);
    return OkStatus();
  }));
  ASSIGN_OR_RETURN(const JsonFields drivers, fields.Field("DriverState"));
  return drivers.ForEachField(
      [&claim](const std::string& driver, const JsonFields& state) -> Status {
        ASSIGN_OR_RETURN(const JsonFields devices, state.Field("Devices"));
        std::vector<PreparedDevice>& list = claim.drivers[driver];
        return devices.ForEachItem(
            [&list](const JsonFields& item) { return ReadPrepared(item, list.emplace_back()); });
      });
}

}  // namespace

std::string PrintDraState(const std::vector<ClaimState>& claims) {
  json::array list;
  for (const ClaimState& claim : claims) {
    list.push_back(ClaimJson(claim));
  }
  std::string data = doc::PrintLine(json::object{{"kind", "DRACheckpoint"},
                                                 {"apiVersion", kStateVersion},
                                                 {"ClaimInfoStateList", std::move(list)}});
  const uint32_t sum = Crc32(data);
  return doc::PrintLine(json::object{{"Data", std::move(data)}, {"Checksum", sum}});
}

StatusOr<std::vector<ClaimState>> ParseDraState(std::string_view text, const std::string& file) {
  ASSIGN_OR_RETURN(const json::value tree,
                   doc::Parse(text, doc::Format::kJson, file, {.bytes = kDraStateLimit}));
  const JsonFields top(tree, file);
  std::string data;
  int64_t sum = 0;
  RETURN_IF_ERROR(top.Require("Data", data));
  RETURN_IF_ERROR(top.Require("Checksum", sum));
  if (sum != int64_t{Crc32(data)}) {
    return InvalidArgument("{}: the checksum is not {}: the file is damaged; remove it",
                           top.PathOf("Checksum"), Crc32(data));
  }
  ASSIGN_OR_RETURN(const json::value inner,
                   doc::Parse(data, doc::Format::kJson, file, {.bytes = kDraStateLimit}));
  ASSIGN_OR_RETURN(const JsonFields list,
                   JsonFields(inner, top.PathOf("Data")).Field("ClaimInfoStateList"));
  std::vector<ClaimState> claims;
  RETURN_IF_ERROR(list.ForEachItem(
      [&claims](const JsonFields& item) { return ReadClaim(item, claims.emplace_back()); }));
  return claims;
}

}  // namespace kgpu::kubelet
